"""What operators compute of sizes is what they compute of the numbers that the sizes turn out to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block

from whence.dialects import sizes
from whence.dialects.element_types import DTYPES
from whence.dialects.relay import elementwise, logic, rearrange, reduce, size_arithmetic, transform
from whence.dialects.relay.evaluation import evaluate
from whence.dialects.relay.operator import Operator
from whence.dialects.sizes import quotients

Array = NDArray[Any]
N, M = sizes.symbol("n"), sizes.symbol("m")
VALUES = [{"n": n, "m": m} for n in (0, 1, 2, 3, 7, 12) for m in (0, 1, 2, 5, 13)]
OPEN = {
    "int64": [N, N - M, M + 1, -N, N * M - 7],
    "bool": [sizes.size_min(N, 1), 1 - sizes.size_min(M, 1), 1, 0, sizes.size_min(N, 1)],
    "float32": [N, N - M, quotients.quotient(N, 3), quotients.quotient(M - N, 2), 4],
}
"""Elements, by the dtype that they count as."""
BESIDE = {"int64": [3, 2, 4, 5, 7], "bool": [0, 1, 1, 0, 1], "float32": [2.0, 0.5, 4.0, 8.0, 1.5]}
"""The elements of a second operand."""
LACKING = {logic.WhereOp, elementwise.PowerOp, logic.BitwiseAndOp, logic.LeftShiftOp, logic.RightShiftOp}
"""Operators that take other operands."""


def computed(op: type[Operator], *operands: tuple[str, list[Any]], **attributes: Any) -> list[Array]:
    """The results of an operator of vectors, by their dtypes and elements, checked at all values."""
    args = Block(arg_types=[TensorType(DTYPES[dtype], [len(flat)]) for dtype, flat in operands]).args
    made = op(*args, **attributes)
    arrays = [size_arithmetic.objects(flat, (len(flat),)) for _, flat in operands]
    results = size_arithmetic.computed_sizes(made, arrays)
    assert results is not None, made.name
    for values in VALUES:
        numbers = [_numbers(array, dtype, values) for array, (dtype, _) in zip(arrays, operands, strict=True)]
        for result, wanted in zip(results, evaluate(made, numbers), strict=True):
            np.testing.assert_array_equal(_numbers(result, wanted.dtype.name, values), wanted, made.name)
    return list(results)


def _number(value: Any, values: Mapping[str, int]) -> float:
    if isinstance(value, quotients.Quotient):
        return float(np.float32(sizes.evaluate(value.dividend, values)) / np.float32(value.divisor))
    return sizes.evaluate(value, values) if isinstance(value, sizes.SizeExpr) else value


def _numbers(array: Array, dtype: str, values: Mapping[str, int]) -> Array:
    return np.asarray([_number(value, values) for value in array.reshape(-1).tolist()], dtype).reshape(array.shape)


def _dtype(op: type[Operator]) -> str:
    return "bool" if "logical" in op.name else "int64"


@pytest.mark.parametrize("op", [op for op in size_arithmetic.OF_SIZES if op not in LACKING], ids=lambda op: op.name)
def test_operators_of_each_element(op: type[Operator]):
    dtype, count = _dtype(op), len(op.operand_groups())
    computed(op, *[(dtype, OPEN[dtype]), (dtype, BESIDE[dtype])][:count])


@pytest.mark.parametrize("op", [op for op in size_arithmetic.OF_SIZES if "div" in op.name or "mod" in op.name])
def test_divisors_are_sizes(op: type[Operator]):
    computed(op, ("int64", OPEN["int64"]), ("int64", [M + 1, N + 2, 3, M + 1, N + 1]))
    computed(op, ("int64", OPEN["int64"]), ("int64", [-2, -M - 1, -3, -1, -7]))


@pytest.mark.parametrize("op", [op for op in size_arithmetic.OF_REALS if op not in LACKING], ids=lambda op: op.name)
def test_operators_of_floats(op: type[Operator]):
    """Of a sum or product that floats round nothing is known."""
    inexact = op in (elementwise.AddOp, elementwise.SubtractOp, elementwise.MultiplyOp)
    elements = [N, N - M, 1, quotients.quotient(M - N, 2), 4] if inexact else OPEN["float32"]
    beside = [2.0, 4.0, 4.0, 8.0, 2.0] if op is elementwise.DivideOp else BESIDE["float32"]
    beside = [quotients.real(value) for value in beside]
    computed(op, *[("float32", elements), ("float32", beside)][: len(op.operand_groups())])


@pytest.mark.parametrize("op", size_arithmetic.FOLDS, ids=lambda op: op.name)
def test_reductions(op: type[Operator]):
    dtype = "bool" if op in (reduce.AllOp, reduce.AnyOp) else "int64"
    computed(op, (dtype, OPEN[dtype]))
    computed(op, (dtype, OPEN[dtype]), axis=[0], keepdims=True)


def test_operators_of_other_operands():
    computed(logic.WhereOp, ("bool", OPEN["bool"]), ("int64", BESIDE["int64"]), ("int64", OPEN["int64"]))
    computed(elementwise.PowerOp, ("int64", OPEN["int64"]), ("int64", [0, 1, 2, 3, 2]))
    computed(logic.BitwiseAndOp, ("int64", OPEN["int64"]), ("int64", [1, 3, 7, 15, 31]))
    computed(logic.LeftShiftOp, ("int64", OPEN["int64"]), ("int64", [0, 1, 2, 3, 4]))
    computed(logic.RightShiftOp, ("int64", OPEN["int64"]), ("int64", [0, 1, 2, 3, 4]))
    computed(elementwise.ClipOp, ("int64", OPEN["int64"]), a_min=-2.0, a_max=5.0)


@pytest.mark.parametrize("to", ["bool", "int32", "int64", "float32"])
@pytest.mark.parametrize("dtype", OPEN)
def test_casts(dtype: str, to: str):
    computed(elementwise.CastOp, (dtype, OPEN[dtype]), dtype=to)


def test_moves():
    elements = OPEN["int64"]
    computed(transform.ReshapeOp, ("int64", elements[:4]), newshape=[2, 2])
    computed(transform.ExpandDimsOp, ("int64", elements), axis=0)
    computed(transform.BroadcastToOp, ("int64", elements), shape=[2, 5])
    computed(transform.StridedSliceOp, ("int64", elements), begin=[-1], end=[-6], strides=[-2])
    computed(transform.TakeOp, ("int64", elements), ("int64", [3, 0, 4, 1, 2]), axis=0)
    computed(rearrange.ReverseOp, ("int64", elements), axis=[0])
    computed(rearrange.TileOp, ("int64", elements), reps=[2])
    computed(transform.ConcatenateOp, ("int64", elements), ("int64", BESIDE["int64"]), axis=0)
    computed(rearrange.StackOp, ("int64", elements), ("int64", BESIDE["int64"]), axis=1)
    computed(rearrange.SplitOp, ("int64", elements), indices_or_sections=[2], axis=0)


def test_what_is_not_exact_is_left_to_floats():
    thirds = quotients.quotient(N, 3)
    assert quotients.times(thirds, 3) is None
    assert quotients.plus(thirds, thirds) is None
    assert quotients.times(N, M) is None
    assert quotients.real(0.7) is None
    assert quotients.real(float("nan")) is None
