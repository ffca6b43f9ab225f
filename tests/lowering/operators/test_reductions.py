"""Reductions beyond sum and max, compiled: products, logic, places of extremes, variance."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import FLOATS, Cases, Check, MakeNet, random

import whence
from whence import relay
from whence.dialects.relay.collapse import CollapseSumLikeOp, CollapseSumToOp
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.reduce import AllOp, AnyOp, ArgMaxOp, ArgMinOp, MaxOp, MinOp, ProdOp, VarianceOp

CASES = Cases()

for dtype in (*FLOATS[1:], "int8", "int64", "uint16", "uint32"):
    CASES.add(ProdOp, random((3, 5, 2), dtype) if dtype not in FLOATS else random((3, 5, 2), dtype) / 2, axis=[1])
CASES.add(ProdOp, "3x5", keepdims=True)
CASES.add(ProdOp, "17x3", axis=[-1], exclude=True)
for op in (AllOp, AnyOp):
    CASES.add(op, "5x7x3 bool", axis=[0])
    CASES.add(op, "2x64 bool", axis=[1], keepdims=True)
    CASES.add(op, np.array([[True, True], [False, False]]), axis=[1])
    CASES.add(op, "4 bool")
for op in (MaxOp, MinOp):
    CASES.add(op, "5x7 bool", axis=[1])
    CASES.add(op, "5x7", axis=[0])
for op in (ArgMaxOp, ArgMinOp):
    for dtype in ("float32", "float16", "int8", "int64", "uint32") if op is ArgMaxOp else ("bfloat16", "int8", "uint8"):
        # Small numbers, so that several are equal.
        few = (random((4, 9, 3), dtype).astype(np.float64) % 3).astype(random((1,), dtype).dtype)
        CASES.add(op, few, axis=[1], select_last_index=dtype == "int8")
    CASES.add(op, "5x6x32", axis=[2], keepdims=True, select_last_index=True)
    CASES.add(op, "4x5 bool", axis=[1])
    CASES.add(op, np.array([1, np.nan, 2, np.inf], np.float32))
    CASES.add(op, np.array([-np.inf, -np.inf], np.float32))
CASES.add(ArgMaxOp, "3x4x5", axis=[0, 2], keepdims=True)
CASES.add(ArgMinOp, "3x4x5", axis=[1], exclude=True, select_last_index=True)
CASES.add(ArgMinOp, "3x1x5", axis=[1])
for dtype in FLOATS:
    x = random((3, 20, 2), dtype)
    CASES.add(VarianceOp, x, x.astype(np.float64).mean(1, keepdims=True).astype(x.dtype), axis=[1])
CASES.add(VarianceOp, "3x5", "1x1", unbiased=True, keepdims=True)
for dtype in ("float32", "float16", "int32"):
    CASES.add(CollapseSumToOp, f"4x3x5 {dtype}", shape=[3, 1])
CASES.add(CollapseSumToOp, "2x3", shape=[])
CASES.add(CollapseSumToOp, "2x3", shape=[2, 3])
CASES.add(CollapseSumLikeOp, "4x3x5", "1x5")


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


@pytest.mark.parametrize("kind", [ArgMaxOp, ArgMinOp])
@pytest.mark.parametrize("axis", [0, 1])
def test_of_equal_elements_the_first_or_the_last(kind: type[ArgMaxOp | ArgMinOp], axis: int):
    """In vectors, their ends, and rows of nothing but equal ones."""
    x = np.random.default_rng(0).integers(0, 3, (37, 41)).astype(np.float32)
    x[5], x[:, 7] = 1, 1
    find = np.argmax if kind is ArgMaxOp else np.argmin
    for last in (False, True):
        expected = x.shape[axis] - 1 - find(np.flip(x, axis), axis) if last else find(x, axis)
        name = "argmax" if kind is ArgMaxOp else "argmin"
        value = relay.var("x", shape=x.shape)
        call = getattr(relay, name)(value, axis=axis, select_last_index=last)
        executable = whence.compile(relay.IRModule.from_expr(relay.Function([value], call)), threads=1)
        np.testing.assert_array_equal(executable(x), expected)
