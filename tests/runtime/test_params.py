"""Params files: the bytes that the format prescribes, and what becomes of damaged ones."""

from __future__ import annotations

import hashlib
import io
import struct
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from whence.runtime.values.params import (
    load_param_dict,
    load_param_dict_from_file,
    load_params,
    read_params,
    save_param_dict,
    save_param_dict_to_file,
    write_params,
)
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, PipelineError

X = {"x": np.array([1.0, 2.0], np.float32)}


def written(params: dict[str, Array]) -> bytes:
    stream = io.BytesIO()
    write_params(params, stream)
    return stream.getvalue()


def test_the_bytes_are_those_of_the_format():
    head = struct.pack("<QQQ1sQ", 0xF7E58D4F05049CB7, 1, 1, b"x", 1)
    tensor = struct.pack("<QQiiiBBHqq2f", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, 2, 8, 1.0, 2.0)
    checksum = hashlib.sha256(head + tensor).digest()[:8]
    file = head[:8] + checksum + head[8:] + tensor
    assert len(file) == 97
    assert written(dict(X)) == file


def test_files_without_a_checksum_are_read():
    """As TVM writes them."""
    data = bytearray(written(dict(X)))
    struct.pack_into("<Q", data, 8, 0)
    np.testing.assert_array_equal(read_params(bytes(data))["x"], X["x"])


def test_a_checksum_is_never_that_of_files_without_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "whence.runtime.values.params.hashlib.sha256", Mock(return_value=Mock(digest=Mock(return_value=bytes(32))))
    )
    data = written(dict(X))
    assert data[8:16] != bytes(8)
    np.testing.assert_array_equal(read_params(data)["x"], X["x"])


def test_every_changed_bit_is_seen():
    whole = written(dict(X))
    for at in range(8 * len(whole)):
        data = bytearray(whole)
        data[at // 8] ^= 1 << at % 8
        with pytest.raises(FrontendError, match=r"Invalid (parameters|DLTensor) file format"):
            read_params(bytes(data))


def test_a_changed_weight_is_told(tmp_path: Path):
    path = tmp_path / "p.params"
    path.write_bytes(changed(93, "<B", 1))
    with pytest.raises(
        FrontendError, match=r"p.params: .*expected contents of checksum 0x[0-9a-f]{16}, got 0x.*damaged"
    ):
        load_params(path)


def test_an_empty_file_is_told(tmp_path: Path):
    (tmp_path / "p.params").write_bytes(b"")
    with pytest.raises(FrontendError, match="Invalid parameters file format: expected 24 more bytes"):
        load_params(tmp_path / "p.params")


def test_names_are_sorted():
    arrays: dict[str, Array] = {name: np.zeros(1, np.int8) for name in "cab"}
    assert list(read_params(written(arrays))) == ["a", "b", "c"]


ARRAYS: list[npt.NDArray[Any]] = [
    np.arange(6, dtype=np.int64).reshape(2, 3),
    np.array(7, np.uint8),
    np.zeros((0, 3), np.float64),
    np.array([True, False]),
    np.array([1.5, -2], np.float16),
    np.array([1.5, -2], ml_dtypes.bfloat16),
    np.broadcast_to(np.array(3, np.float32), (4, 5)),
    np.arange(12, dtype=np.int16).reshape(3, 4).T,
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays_come_back(array: npt.NDArray[Any], tmp_path: Path):
    path = tmp_path / "p.params"
    path.write_bytes(written({"before": np.ones(3, np.int8), "name": array}))
    back = load_params(path)["name"]
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(back, array)


def test_large_strided_arrays_are_written_in_pieces(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("whence.runtime.values.params._CHUNK", 5)
    for array in (np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1), np.arange(24)[::2]):
        np.testing.assert_array_equal(read_params(written({"a": array}))["a"], array)


def test_both_spellings_of_bool_are_read():
    new = bytearray(written({"b": np.array([True, False, True])}))
    at = new.index(struct.pack("<BBH", 1, 1, 1))
    old = bytes(new)
    new[at : at + 4] = struct.pack("<BBH", 6, 8, 1)
    struct.pack_into("<Q", new, 8, 0)
    for data in (old, bytes(new)):
        back = read_params(data)["b"]
        assert back.dtype == np.bool_
        assert back.tolist() == [True, False, True]


def test_loaded_arrays_are_read_only(tmp_path: Path):
    path = tmp_path / "p.params"
    path.write_bytes(written(dict(X)))
    assert not load_params(path)["x"].flags.writeable


@pytest.mark.parametrize("size", range(97))
def test_truncated_files_are_refused(size: int, tmp_path: Path):
    path = tmp_path / "p.params"
    path.write_bytes(written(dict(X))[:size])
    with pytest.raises(FrontendError, match="Invalid parameters file format"):
        load_params(path)


def changed(offset: int, form: str, *values: int) -> bytes:
    data = bytearray(written(dict(X)))
    struct.pack_into(form, data, offset, *values)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (changed(0, "<Q", 1), "Invalid parameters file format: expected it to begin"),
        (changed(16, "<Q", 1 << 60), "Invalid parameters file format"),
        (changed(24, "<Q", 1 << 60), "Invalid parameters file format: expected 1152921504606846976 more bytes"),
        (changed(32, "<B", 255), "Invalid parameters file format: expected names in UTF-8"),
        (changed(33, "<Q", 2), "Invalid parameters file format: expected 1 tensors"),
        (changed(41, "<Q", 1), "Invalid DLTensor file format: expected tensor 'x' to begin"),
        (changed(65, "<i", -1), "Invalid DLTensor file format: expected a rank of at least 0"),
        (changed(65, "<i", 1 << 30), "Invalid parameters file format: expected 8589934592 more bytes"),
        (changed(69, "<BBH", 3, 64, 1), "Invalid DLTensor file format: 'x' has type code 3"),
        (changed(69, "<BBH", 2, 32, 4), "Invalid DLTensor file format: 'x' has type code 2 with 32 bits and 4 lanes"),
        (changed(73, "<q", -2), "Invalid parameters file format: expected the bytes of 'x'"),
        (changed(73, "<q", 1 << 60), "Invalid parameters file format: expected the bytes of 'x'"),
        (changed(81, "<q", 4), "Invalid parameters file format: expected the bytes of 'x'"),
    ],
)
def test_damaged_files_are_refused(data: bytes, text: str):
    with pytest.raises(FrontendError) as caught:
        read_params(data)
    assert text in str(caught.value)


@pytest.mark.parametrize("shape", [(1 << 32, 1 << 32, 0), (0, (1 << 63) - 1)])
def test_empty_tensors_that_no_array_can_have_are_refused(shape: tuple[int, ...]):
    data = written({"x": np.zeros((0,) * len(shape), np.float32)})
    at = len(data) - 8 * (len(shape) + 1)
    bad = data[:8] + bytes(8) + data[16:at] + struct.pack(f"<{len(shape)}q", *shape) + data[-8:]
    with pytest.raises(FrontendError, match="expected the bytes of 'x' to be those of"):
        read_params(bad)


def test_missing_files_are_told(tmp_path: Path):
    with pytest.raises(FrontendError, match="expected a params file, got: No such file"):
        load_params(tmp_path / "none.params")


def test_dtypes_that_the_format_lacks_are_refused():
    with pytest.raises(FrontendError, match="expected numbers in 'c', got complex64"):
        written({"c": np.zeros(1, np.complex64)})


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.5, -2], ml_dtypes.bfloat16),
        np.array(3.0, np.float64),
        np.zeros((0, 4), np.int8),
        np.array([True, False]),
        np.arange(6, dtype=np.uint16).reshape(2, 3).T,
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
def test_dicts_come_back(array: npt.NDArray[Any], tmp_path: Path):
    data = save_param_dict({"b": array, "a": [1, 2]})
    assert struct.unpack_from("<Q", data, 8) == (0,)
    for found in (load_param_dict(data), load_param_dict(bytes(data))):
        assert list(found) == ["a", "b"]
        assert found["b"].dtype == array.dtype
        np.testing.assert_array_equal(found["b"], array)
    save_param_dict_to_file({"b": array}, tmp_path / "p.params")
    found = load_param_dict_from_file(tmp_path / "p.params")["b"]
    assert found.shape == array.shape
    assert not array.size or not found.flags.writeable


def test_any_damage_of_tvms_bytes_is_told_or_is_in_an_element():
    """They have no checksum: names, and the elements that stand at the end, may be others."""
    whole = save_param_dict({"x": np.arange(12, dtype=np.float32).reshape(3, 4), "y": np.ones(2, np.int8)})
    told = 0
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= 1 << at % 8
        try:
            found = load_param_dict(data)
        except FrontendError:
            told += 1
        else:
            assert [sum(array.size for array in found.values()), len(found)] == [14, 2]
    elements, names, unread = 12 * 4 + 2, 2, 4 + 4 + 8
    assert told >= len(whole) - elements - names - 2 * unread - 8
    with pytest.raises(PipelineError, match="cannot be written"):
        save_param_dict_to_file({}, "/nowhere/p.params")
