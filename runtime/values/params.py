"""Params files: named tensors in TVM's byte format, little endian.

u64 0xF7E58D4F05049CB7, u64 checksum, u64 n, n names (u64 length, UTF-8), u64 n, n tensors
tensor: u64 0xDD5E40F096B4A13F, u64 0, i32 device type, i32 device id, i32 rank, u8 code, u8 bits, u16 lanes,
        i64 extents, i64 bytes, the elements in C order

The checksum is the first 8 bytes of the sha256 of all else in the file. TVM writes 0 instead, which means that there
is none, and ignores the field when it reads.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import IO, NoReturn, cast

import ml_dtypes
import numpy as np

from ...support.doors import door
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ...support.files import replacing
from .dlpack import BFLOAT, BOOL, FLOAT, INT, SMALL, UINT, dtype_of
from .ndarray import NDArray, view
from .tensors import Tensor
from .values import expected_array

_LIST_MAGIC = 0xF7E58D4F05049CB7
_TENSOR_MAGIC = 0xDD5E40F096B4A13F
_CPU = (1, 0)
_TENSOR = struct.Struct("<QQiiiBBH")
_U64 = struct.Struct("<Q")
_CHUNK = 1 << 24
"""Elements of a strided array that are copied at a time."""
_BLOCK = 1 << 24
"""Bytes that are hashed at a time."""

_SMALL_CODES = {name: code for code, name in SMALL.items()}
_KINDS = {"i": INT, "u": UINT, "f": FLOAT}


def write_params(params: Mapping[str, Array], stream: IO[bytes]) -> None:
    """Write `params` in the order of their names; no array is copied as a whole.

    Raises FrontendError for a dtype that the format lacks.
    """
    stream.write(_U64.pack(_LIST_MAGIC) + _checksum(_body(params)))
    for piece in _body(params):
        stream.write(piece)


def _checksum(pieces: Iterable[bytes | memoryview]) -> bytes:
    """Return the checksum of everything after it. It is never 0, which means no checksum."""
    digest = hashlib.sha256(_U64.pack(_LIST_MAGIC))
    for piece in pieces:
        digest.update(piece)
    checksum = digest.digest()[: _U64.size]
    return checksum if any(checksum) else b"\1" + checksum[1:]


def _body(params: Mapping[str, Array]) -> Iterator[bytes | memoryview]:
    """Yield the contents that come after the checksum, in pieces."""
    names = sorted(params)
    codes = [_code(name, params[name]) for name in names]
    yield _U64.pack(len(names))
    for name in names:
        text = name.encode()
        yield _U64.pack(len(text)) + text
    yield _U64.pack(len(names))
    for name, (code, bits) in zip(names, codes, strict=True):
        yield from _tensor(params[name], code, bits)


def _tensor(array: Array, code: int, bits: int) -> Iterator[bytes | memoryview]:
    yield _TENSOR.pack(_TENSOR_MAGIC, 0, *_CPU, array.ndim, code, bits, 1)
    yield struct.pack(f"<{array.ndim}qq", *array.shape, array.nbytes)
    for chunk in _chunks(array):
        yield chunk.reshape(-1).view(np.uint8).data


def tensor_bytes(array: Array, has_booleans: bool = False) -> bytes:
    """Return the bytes of one tensor in a params file.

    has_booleans: write booleans with the code of their own that TVM's newer releases have, not as integers of one bit.
    Raises FrontendError for a dtype that the format lacks.
    """
    code = (BOOL, 8) if has_booleans and array.dtype == np.bool_ else _code("a tensor", array)
    return b"".join(_tensor(array, *code))


def _code(name: str, array: Array) -> tuple[int, int]:
    dtype = array.dtype
    if dtype == np.bool_:
        return UINT, 1
    if dtype == ml_dtypes.bfloat16:
        return BFLOAT, 16
    if (small := _SMALL_CODES.get(dtype.name)) is not None:
        return small
    if dtype.kind not in _KINDS:
        raise FrontendError(f"params: expected numbers in '{name}', got {dtype.name}")
    return _KINDS[dtype.kind], dtype.itemsize * 8


def _chunks(array: Array) -> Iterator[Array]:
    """Yield the elements in C order and little endian, in contiguous pieces."""
    if array.size == 0:
        return
    if array.ndim > 1 and array.size > _CHUNK and not array.flags.c_contiguous:
        for part in array:
            yield from _chunks(cast(Array, part))
    elif array.ndim == 1 and array.size > _CHUNK and not array.flags.c_contiguous:
        for start in range(0, array.size, _CHUNK):
            yield np.ascontiguousarray(array[start : start + _CHUNK])
    else:
        yield np.ascontiguousarray(array)


@door()
def load_params(path: Path) -> dict[str, Array]:
    """Return the tensors of a params file, read-only and memory-mapped.

    A file with a checksum is read once as a whole, in pages that the system may evict.

    Raises FrontendError when the file cannot be read, is no params file, or is damaged.
    """
    try:
        with open(path, "rb") as file:
            empty = not file.seek(0, 2)
            data = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise FrontendError(f"{path}: expected a params file, got: {error.strerror}") from error
    return read_params(data, str(path))


@door()
def read_params(data: bytes | mmap.mmap, source: str = "<memory>") -> dict[str, Array]:
    """Return the tensors of the bytes of a params file; the arrays are views of `data`.

    Raises FrontendError, which calls the bytes `source`, when they are no params file.
    """
    return _Reader(data, source).params()


def read_tensor(data: bytes, source: str) -> Array:
    """Return the tensor that `tensor_bytes` made bytes of; raises FrontendError when they are no tensor."""
    return _Reader(data, source).tensor("a tensor")


def _countable(shape: tuple[int, ...]) -> bool:
    """Return whether numpy can have such an array; for an empty one, it counts bytes as if extents of 0 were 1."""
    return prod(extent or 1 for extent in shape) <= 1 << 59


class _Reader:
    def __init__(self, data: bytes | mmap.mmap, source: str):
        self.data = data
        self.source = source
        self.at = 0

    def fail(self, reason: str, format: str = "parameters file") -> NoReturn:
        raise FrontendError(f"{self.source}: Invalid {format} format: {reason}")

    def take(self, form: str) -> tuple[int, ...]:
        layout = struct.Struct(f"<{form}")
        self.need(layout.size)
        self.at += layout.size
        return layout.unpack_from(self.data, self.at - layout.size)

    def need(self, count: int) -> None:
        if count > len(self.data) - self.at:
            self.fail(f"expected {count} more bytes at {self.at}, got {len(self.data) - self.at}")

    def params(self) -> dict[str, Array]:
        magic, checksum, count = self.take("QQQ")
        if magic != _LIST_MAGIC:
            self.fail(f"expected it to begin with {_LIST_MAGIC:#x}, got {magic:#x}")
        names: list[str] = []
        for _ in range(count):
            (length,) = self.take("Q")
            self.need(length)
            self.at += length
            try:
                names.append(self.data[self.at - length : self.at].decode())
            except UnicodeDecodeError:
                self.fail(f"expected names in UTF-8, got {self.data[self.at - length : self.at]!r}")
        (tensors,) = self.take("Q")
        if tensors != count:
            self.fail(f"expected {count} tensors, as many as names, got {tensors}")
        if len(set(names)) != count:
            self.fail("expected distinct names, got one twice")
        arrays = {name: self.tensor(name) for name in names}
        if checksum:
            self.check(checksum)
        return arrays

    def check(self, expected: int) -> None:
        """Fail unless the file up to here has this checksum."""
        view = memoryview(self.data)[: self.at]
        starts = range(2 * _U64.size, self.at, _BLOCK)
        (actual,) = _U64.unpack(_checksum(view[start : start + _BLOCK] for start in starts))
        if actual != expected:
            self.fail(f"expected contents of checksum {expected:#018x}, got {actual:#018x}: the file is damaged")

    def tensor(self, name: str) -> Array:
        magic, _, _, _, rank, code, bits, lanes = self.take("QQiiiBBH")
        if magic != _TENSOR_MAGIC:
            self.fail(f"expected tensor '{name}' to begin with {_TENSOR_MAGIC:#x}, got {magic:#x}", "DLTensor file")
        dtype = self.dtype(name, code, bits, lanes)
        # The 8 bytes per extent bound the rank before anything of its size is allocated.
        if rank < 0:
            self.fail(f"expected a rank of at least 0 for '{name}', got {rank}", "DLTensor file")
        self.need(8 * rank)
        shape = self.take(f"{rank}q")
        (nbytes,) = self.take("q")
        if min(shape, default=0) < 0 or nbytes != prod(shape) * dtype.itemsize or rank > 64 or not _countable(shape):
            self.fail(f"expected the bytes of '{name}' to be those of {dtype.name}{list(shape)}, got {nbytes}")
        self.need(nbytes)
        start = self.at
        self.at += nbytes
        if not nbytes:
            return np.zeros(shape, dtype)
        return np.frombuffer(self.data, dtype, prod(shape), start).reshape(shape)

    def dtype(self, name: str, code: int, bits: int, lanes: int) -> np.dtype[np.generic]:
        # TVM's files have booleans as integers of one bit.
        dtype = dtype_of(BOOL, 8, lanes) if (code, bits) == (UINT, 1) else dtype_of(code, bits, lanes)
        if dtype is None:
            self.fail(f"'{name}' has type code {code} with {bits} bits and {lanes} lanes", "DLTensor file")
        return dtype


@door()
def save_param_dict(params: Mapping[str, object]) -> bytearray:
    """Return the bytes of a params file as TVM writes it, with 0 where `write_params` has a checksum."""
    arrays = {name: expected_array(f"param '{name}'", value) for name, value in params.items()}
    data = bytearray(_U64.pack(_LIST_MAGIC) + _U64.pack(0))
    for piece in _body(arrays):
        data += piece
    return data


@door()
def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, NDArray]:
    """Return copies of the tensors of the bytes of a params file; raises FrontendError when the bytes are none."""
    return named(read_params(bytes(param_bytes)))


def named(arrays: Mapping[str, Array]) -> dict[str, NDArray]:
    """Return the same memory in arrays with TVM's methods."""
    return {name: view(cast(Tensor, array)) for name, array in arrays.items()}


@door()
def save_param_dict_to_file(params: Mapping[str, object], path: str | Path) -> None:
    """Write the bytes of `save_param_dict`, all or none. Raises PipelineError when that fails."""
    with replacing(Path(path)) as stream:
        stream.write(save_param_dict(params))


@door()
def load_param_dict_from_file(path: str | Path) -> dict[str, NDArray]:
    """Return the tensors of a params file, memory-mapped; raises the errors of `load_params`."""
    return named(load_params(Path(path)))
