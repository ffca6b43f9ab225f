"""Buffers -> numpy arrays: element types, halves of bytes, and sparse tensors made dense."""

from __future__ import annotations

from math import prod
from typing import Any, cast

import ml_dtypes
import numpy as np

from ...dialects.relay.numerics import AnyArray
from ...support.errors import FrontendError
from ..importing.inputs import no_element_type
from ..importing.limits import excess, expectation
from .model import Flat, ModelFile, TensorInfo

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(dtype)
    for name, dtype in (
        *(("FLOAT32", np.float32), ("FLOAT16", np.float16), ("FLOAT64", np.float64)),
        *(("INT8", np.int8), ("INT16", np.int16), ("INT32", np.int32), ("INT64", np.int64)),
        *(("UINT8", np.uint8), ("UINT16", np.uint16), ("UINT32", np.uint32), ("UINT64", np.uint64)),
        *(("BOOL", np.bool_), ("BFLOAT16", ml_dtypes.bfloat16), ("INT4", np.int8)),
    )
}
"""Element type -> what holds it; INT4 is held by whole bytes."""
_PACKED = "INT4"


def dtype_of(info: TensorInfo) -> np.dtype[Any]:
    """Raises FrontendError for types that no relay tensor has (strings, complex numbers, resources)."""
    if info.type not in DTYPES:
        raise no_element_type(f"tensor '{info.name}'", DTYPES, info.type)
    return DTYPES[info.type]


def needed_bytes(info: TensorInfo) -> int:
    """Return the number of bytes in the buffer of a dense tensor of a known type."""
    count = prod(info.shape)
    return (count + 1) // 2 if info.type == _PACKED else count * DTYPES[info.type].itemsize


def constant(model: ModelFile, info: TensorInfo) -> AnyArray | None:
    """The values of a tensor that has them in the file; None of one that operators make."""
    what = f"{model.file}: tensor '{info.name}'"
    raw = model.raw(info.buffer)
    if raw is None:
        return None
    dtype = dtype_of(info)
    if too_big := excess(info.shape, dtype.itemsize):
        raise FrontendError(f"{what}: expected {expectation()}, got {too_big}")
    if info.sparsity is not None:
        return _dense(raw, info, dtype, what)
    needed = needed_bytes(info)
    if len(raw) < needed:
        raise FrontendError(f"{what}: expected a buffer of {needed} bytes, got {len(raw)}")
    if info.type == _PACKED:
        return _nibbles(raw, prod(info.shape)).reshape(info.shape)
    # Kernels read aligned elements, and buffers of a file need not be.
    return np.frombuffer(raw[:needed].tobytes(), dtype).reshape(info.shape)


def _nibbles(raw: AnyArray, count: int) -> AnyArray:
    """Signed halves of bytes, the lower one first."""
    halves = np.empty(2 * len(raw), np.int8)
    halves[0::2] = (raw << 4).view(np.int8) >> 4
    halves[1::2] = raw.view(np.int8) >> 4
    return halves[:count]


def _dense(raw: AnyArray, info: TensorInfo, dtype: np.dtype[Any], what: str) -> AnyArray:
    """A sparse tensor with its zeros: levels of dimensions, each dense or compressed, in an order of their own.

    Beyond the rank of the tensor, levels are blocks of some of its axes.
    """
    sparsity: Flat = info.sparsity
    rank = len(info.shape)
    order = [int(sparsity.TraversalOrder(k)) for k in range(sparsity.TraversalOrderLength())]
    blocks = [int(sparsity.BlockMap(k)) for k in range(sparsity.BlockMapLength())]
    levels = [sparsity.DimMetadata(k) for k in range(sparsity.DimMetadataLength())]
    if len(order) != rank + len(blocks) or sorted(order) != list(range(len(order))) or len(levels) != len(order):
        raise FrontendError(f"{what}: expected a level for each of {rank} axes and {len(blocks)} blocks, got {order}")
    if any(not 0 <= axis < rank for axis in blocks):
        raise FrontendError(f"{what}: expected blocks of axes below {rank}, got {blocks}")
    places = np.zeros((1, len(order)), np.int64)
    """For each entry so far its index along every level."""
    segment = cast(AnyArray, np.zeros(1, np.int64))
    for level, flat in zip(order, levels, strict=True):
        if flat.Format() == 0:
            extent = int(flat.DenseSize())
            if extent < 1 or extent * len(places) > max(prod(info.shape), 1):
                raise FrontendError(f"{what}: expected sparse levels no larger than the tensor, got {extent} entries")
            counts, inside = np.full(len(places), extent), np.tile(np.arange(extent), len(places))
            segment = cast(AnyArray, np.repeat(segment * extent, extent) + inside)
        else:
            starts, indices = _vector(flat, "ArraySegments", what), _vector(flat, "ArrayIndices", what)
            if len(starts) <= segment.max(initial=-1) + 1:
                raise FrontendError(f"{what}: expected {segment.max() + 2} segments, got {len(starts)}")
            begin, end = starts[segment], starts[segment + 1]
            if (begin < 0).any() or (end < begin).any() or (end > len(indices)).any():
                raise FrontendError(f"{what}: expected segments inside {len(indices)} indices, got others")
            counts = end - begin
            if counts.sum() > prod(info.shape):
                raise FrontendError(f"{what}: expected sparse levels no larger than the tensor, got {counts.sum()}")
            before = np.cumsum(counts) - counts
            segment = cast(AnyArray, np.repeat(begin - before, counts) + np.arange(counts.sum()))
            inside = indices[segment]
        places = np.repeat(places, counts, axis=0)
        places[:, level] = inside
    extents = {rank + k: int(levels[order.index(rank + k)].DenseSize()) for k in range(len(blocks))}
    point = places[:, :rank].copy()
    for k, axis in enumerate(blocks):
        point[:, axis] = point[:, axis] * extents[rank + k] + places[:, rank + k]
    if (point < 0).any() or (point >= np.asarray(info.shape)).any():
        raise FrontendError(f"{what}: expected indices inside {list(info.shape)}, got others")
    values = _nibbles(raw, len(point)) if info.type == _PACKED else raw[: len(raw) // dtype.itemsize * dtype.itemsize]
    if info.type != _PACKED:
        values = np.frombuffer(values.tobytes(), dtype)
    if len(values) < len(point):
        raise FrontendError(f"{what}: expected {len(point)} values, got {len(values)}")
    dense = np.zeros(info.shape, dtype)
    dense[tuple(point.T)] = values[: len(point)]
    return dense


_WIDTHS = {1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"}


def _vector(flat: Flat, name: str, what: str) -> AnyArray:
    """A vector of a level, of whichever width."""
    from .model import tflite

    kind, table = getattr(flat, f"{name}Type")(), getattr(flat, name)()
    if kind not in _WIDTHS or table is None:
        raise FrontendError(f"{what}: expected a compressed level with {name}, got none")
    vector: Flat = getattr(tflite, _WIDTHS[kind])()
    vector.Init(table.Bytes, table.Pos)
    found = vector.ValuesAsNumpy()
    return np.zeros(0, np.int64) if isinstance(found, int) else found.astype(np.int64)
