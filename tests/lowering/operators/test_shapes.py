"""What shapes are and become, compiled; dilations; and what is put where it belongs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import run
from operator_cases import Cases, Check, MakeNet, random
from xdsl.dialects.builtin import TensorType
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from whence.dialects.element_types import DTYPES, tensor_type
from whence.dialects.relay.bitpacking import BitpackOp
from whence.dialects.relay.dilation import DilateOp, Dilation2DOp
from whence.dialects.relay.operator import Operator, shape_of
from whence.dialects.relay.shapes import ContribReverseReshapeOp, NdarraySizeOp, ShapeOfOp
from whence.dialects.relay.sparse import (
    SegmentSumOp,
    SparseAddOp,
    SparseDenseOp,
    SparseReshapeOp,
    SparseToDenseOp,
    SparseTransposeOp,
)

CASES = Cases()
CASES.add(ShapeOfOp, "3x5x1x7")
CASES.add(ShapeOfOp, "4 bool", dtype="int64")
CASES.add(NdarraySizeOp, "3x5x7")
CASES.add(NdarraySizeOp, "scalar", dtype="float32")
CASES.add(ContribReverseReshapeOp, "10x5x4", newshape=(-1, 0))
CASES.add(ContribReverseReshapeOp, "2x3x4 int8", newshape=(-2, 2, 6))
CASES.add(DilateOp, "3x5x1", strides=(2, 3, 4))
CASES.add(DilateOp, "3x5 int8", strides=(1, 2), dilation_value=-3.0)
CASES.add(DilateOp, "7 float16", strides=(1,), dilation_value=1.5)
CASES.add(Dilation2DOp, "2x3x7x9", "3x2x3", padding=(1, 2, 0, 1))
CASES.add(Dilation2DOp, "1x8x9x3", "3x2x3", strides=(2, 1), dilations=(1, 3), data_layout="NHWC", kernel_layout="HWI")
CASES.add(Dilation2DOp, "1x2x5x6 int8", "2x3x3 int8", padding=(1,), out_dtype="int32")
CASES.add(Dilation2DOp, "1x2x5x6 float16", "2x3x3 float16")
IDS = np.array([2, 0, 2, -1, 3, 1, 2], np.int32)
for dtype in ("float32", "float16", "bfloat16", "int8"):
    CASES.add(SegmentSumOp, f"7x3x5 {dtype}", IDS, num_segments=3)
CASES.add(SegmentSumOp, "7", IDS.astype(np.int64), num_segments=5)
CASES.add(SegmentSumOp, "7x2 int64", IDS, num_segments=0)
for word, bits, dtype in (("uint8", 3, "int8"), ("uint16", 1, "uint8"), ("uint32", 2, "int32"), ("uint64", 8, "int64")):
    CASES.add(BitpackOp, f"3x64x2 {dtype}", bits=bits, pack_type=word)
CASES.add(BitpackOp, "2x3x16 uint8", bits=2, pack_axis=-1, bit_axis=0, pack_type="uint8")
POINTS = np.array([[0, 1], [2, 3], [0, 1], [3, 0], [1, -1], [1, 0]])
_ENDS, _COLUMNS = np.array([0, 2, 2, 5, 6], np.int32), np.array([1, 3, 0, 2, 3, 1], np.int32)
for dtype in ("float32", "float16", "int32"):
    CASES.add(SparseDenseOp, f"3x4 {dtype}", f"6 {dtype}", _COLUMNS, _ENDS)
    CASES.add(SparseAddOp, f"4x4 {dtype}", f"6 {dtype}", _COLUMNS, _ENDS)
    CASES.add(SparseTransposeOp, f"6 {dtype}", _COLUMNS, _ENDS)
CASES.add(SparseDenseOp, "3x4", "6", _COLUMNS, _ENDS.astype(np.int64), sparse_lhs=True)
for left in (False, True):
    CASES.add(SparseDenseOp, "3x12", "6x2x3", _COLUMNS, _ENDS, sparse_lhs=left)
CASES.add(SparseDenseOp, "3x4", "0", np.zeros(0, np.int32), np.zeros(3, np.int32))
CASES.add(SparseReshapeOp, POINTS, np.array([3, 4]), np.array([2, -1, 3]), constants=2)
CASES.add(SparseReshapeOp, POINTS.astype(np.int32), np.array([3, 4], np.int32), np.array([12], np.int32))
CASES.add(SparseToDenseOp, POINTS, "6", np.float32(0.5), constants=1, output_shape=(3, 4))
CASES.add(SparseToDenseOp, POINTS.astype(np.int32), "6 int8", "scalar int8", output_shape=(3, 4))
CASES.add(SparseToDenseOp, np.array([1, 4, 7]), "3 float16", None, output_shape=(6,))
CASES.add(SparseToDenseOp, np.array(3), "scalar", None, output_shape=(5,))


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


@pytest.mark.parametrize(
    ("old", "new", "shape"),
    [
        ((10, 5, 4), (-1, 0), (50, 4)),
        ((2, 3, 4), (0, -1), (3, 8)),
        ((2, 3, 4), (4, 0, 2), (4, 3, 2)),
        ((2, 3, 4), (0, -3), (2, 12)),
        ((2, 3, 4, 5), (-2, 10, 2), (2, 3, 10, 2)),
    ],
)
def test_reverse_reshape_is_read_from_the_end(old: tuple[int, ...], new: tuple[int, ...], shape: tuple[int, ...]):
    op = ContribReverseReshapeOp(create_ssa_value(TensorType(DTYPES["float32"], old)), newshape=new)
    assert shape_of(op.result) == shape


@pytest.mark.parametrize("new", [(-1, -1), (7, -1), (-4, 2), (0, 0, 0, 0), (5, 5)])
def test_reverse_reshape_refuses(new: tuple[int, ...]):
    with pytest.raises(VerifyException, match="newshape"):
        ContribReverseReshapeOp(create_ssa_value(TensorType(DTYPES["float32"], (2, 3, 4))), newshape=new)


def test_segment_sum_is_a_product_with_the_segments():
    """Independent of numpy's scatter: the sum over rows of a matrix of ones."""
    x = random((7, 4), "float32")
    found = SegmentSumOp(
        create_ssa_value(TensorType(DTYPES["float32"], x.shape)),
        create_ssa_value(TensorType(DTYPES["int32"], IDS.shape)),
        num_segments=3,
    )
    ones = (np.arange(3)[:, None] == IDS).astype(np.float32)
    np.testing.assert_allclose(SegmentSumOp.evaluate(found.signature, x, IDS), ones @ x, rtol=1e-5, atol=1e-6)


def test_dilation_is_the_greatest_sum_of_windows():
    """Independent of the strided views: numpy's sliding windows."""
    x, weight = random((2, 3, 8, 9)), random((3, 2, 3))
    values = [create_ssa_value(tensor_type(array)) for array in (x, weight)]
    op = Dilation2DOp(*values, strides=(2, 1), padding=(1, 0), dilations=(2, 1))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, :, ::2]
    expected = (windows + weight[:, None, None]).max((-2, -1))
    np.testing.assert_allclose(Dilation2DOp.evaluate(op.signature, x, weight), expected)


def _matrix(data: Any, blocks: tuple[int, int] = (1, 1)):
    """The matrix of four columns, or columns of blocks, that is in compressed rows."""
    height, width = blocks
    whole = np.zeros((4 * height, 4 * width), data.dtype)
    for row in range(4):
        for at in range(_ENDS[row], _ENDS[row + 1]):
            first = _COLUMNS[at] * width
            whole[row * height : (row + 1) * height, first : first + width] = data[at]
    return whole


def test_sparse_matrices_are_what_they_are_as_dense_ones():
    numbers, dense = np.arange(1, 7, dtype=np.float32), np.arange(16, dtype=np.float32).reshape(4, 4)
    matrix = _matrix(numbers)
    np.testing.assert_array_equal(run(SparseDenseOp, dense, numbers, _COLUMNS, _ENDS)[0], dense @ matrix.T)
    (left,) = run(SparseDenseOp, dense, numbers, _COLUMNS, _ENDS, sparse_lhs=True)
    np.testing.assert_array_equal(left, matrix @ dense.T)
    np.testing.assert_array_equal(run(SparseAddOp, dense, numbers, _COLUMNS, _ENDS)[0], dense + matrix)
    data, columns, ends = run(SparseTransposeOp, numbers, _COLUMNS, _ENDS)
    (back,) = run(SparseAddOp, np.zeros((4, 4), np.float32), data, columns, ends)
    np.testing.assert_array_equal(back, matrix.T)
    blocks, wide = np.arange(36, dtype=np.float32).reshape(6, 2, 3), np.arange(24, dtype=np.float32).reshape(2, 12)
    np.testing.assert_array_equal(
        run(SparseDenseOp, wide, blocks, _COLUMNS, _ENDS)[0], wide @ _matrix(blocks, (2, 3)).T
    )


def test_points_of_another_shape():
    points = np.argwhere(np.ones((2, 3, 4)))
    found, shape = run(SparseReshapeOp, points, np.array([2, 3, 4]), np.array([4, -1]))
    np.testing.assert_array_equal(found, np.argwhere(np.ones((4, 6))))
    np.testing.assert_array_equal(shape, [4, 6])


def test_the_first_number_has_the_highest_bit():
    numbers = np.array([[1, 2, 3, 0, 0, 0, 0, 1]], np.int32)
    (words,) = run(BitpackOp, numbers, bits=2, pack_type="uint8")
    np.testing.assert_array_equal(words, [[[0b10100001, 0b01100000]]])
