"""Hybrid scripts called with arrays: Python runs them, and what is built of them gives the same."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# ruff: noqa: F821

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import whence
from whence import te, tir
from whence.dialects.tir import IfOp
from whence.kernels import lower
from whence.support.errors import ScheduleError

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(9)


@te.hybrid.script
def _blur(a: Any, weights: Any) -> Any:
    out = output_tensor((a.shape[0] - 2,), a.dtype)
    sums = output_tensor((a.shape[0] - 2,), a.dtype)
    row = allocate((3,), a.dtype, "local")
    for i in range(a.shape[0] - 2):
        total = 0.0
        for d in const_range(3):
            row[d] = a[i + d] * weights[d]
        for d in unroll(3):
            total += row[d]
        sums[i] = total
        if likely(i % 2 == 0) and total > 0.0:
            out[i] = total
        else:
            out[i] = -total
    return out, sums


@te.hybrid.script
def _twice(a: Any, weights: Any) -> Any:
    first, sums = _blur(a, weights)
    out = output_tensor((a.shape[0] - 2,), a.dtype)
    for i in vectorize(a.shape[0] - 2):
        out[i] = first[i] + sums[i] * 2.0
    return out


def _built(script: Callable[..., Any], x: Array, *more: Any) -> Any:
    a = te.placeholder(x.shape, str(x.dtype), name="a")
    return whence.build(te.create_schedule(script(a, *more)), threads=2)(x)


def test_functions_of_numbers() -> None:
    x = (_RANDOM.standard_normal(12) * 2).astype("float32")
    by_python = _functions(x)
    assert isinstance(by_python, np.ndarray)
    np.testing.assert_allclose(by_python, _built(_functions, x), rtol=2e-5, atol=1e-6)
    assert by_python[3, 0] == pytest.approx(1 / (1 + math.exp(-x[3])), rel=1e-6)


@te.hybrid.script
def _functions(a: Any) -> Any:
    b = output_tensor((a.shape[0], 8), a.dtype)
    for i in parallel(a.shape[0]):
        b[i, 0] = sigmoid(a[i])
        b[i, 1] = te.tanh(a[i]) + erf(a[i])
        b[i, 2] = power(abs(a[i]), 1.5)
        b[i, 3] = max(a[i], round(a[i]))
        b[i, 4] = float32(int32(a[i] * 10.0)) if likely(a[i] > 0.0) else rsqrt(-a[i] + 1.0)
        b[i, 5] = min(a[i], a[ceil_div(i, 2)])
        b[i, 6] = popcount(int32(i))
        b[i, 7] = max_num_threads(True)
    return b


@pytest.mark.parametrize("script", [_blur, _twice])
def test_scripts_with_several_outputs_and_in_each_other(script: Any) -> None:
    x, weights = _RANDOM.standard_normal(15).astype("float32"), [0.25, 0.5, 0.25]
    by_python, built = script(x, weights), _built(script, x, weights)
    for found, wanted in zip(by_python, built, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    middle = x[:-2] * 0.25 + x[1:-1] * 0.5 + x[2:] * 0.25
    sums = by_python[1] if script is _blur else None
    if sums is not None:
        np.testing.assert_allclose(sums, middle, rtol=1e-5, atol=1e-6)


def test_tensors_beside_arrays() -> None:
    a = te.placeholder((4,), name="a")
    with pytest.raises(ScheduleError, match="expected tensors or arrays alone, got the tensor 'a' and an array as 'we"):
        _blur(a, np.zeros(3))


def test_names_stay_those_of_the_script() -> None:
    """Running a script puts no name into its module."""
    names = import_module("whence.te.hybrid.runtime").HYBRID_GLOBALS
    _blur(np.ones(5, "float32"), [1.0, 1.0, 1.0])
    assert not {"output_tensor", "allocate", "sigmoid"} & set(globals())
    assert {"output_tensor", "allocate", "sigmoid", "bind"} <= set(names)


def test_likely() -> None:
    """A condition that is likely is one of loop variables all the same, and is marked."""
    ib = tir.ir_builder.create()
    A, B = ib.pointer("float32", (8,), name="A"), ib.pointer("float32", (8,), name="B")
    with ib.for_range(0, 8) as i:
        with ib.if_scope(ib.likely(i < 5)):
            B[i] = A[i] * 2.0
        with ib.else_scope():
            B[i] = A[i]
    func = tir.PrimFunc([A.buffer, B.buffer], ib.get())
    x = _RANDOM.standard_normal(8).astype("float32")
    np.testing.assert_array_equal(whence.build(func)(x), np.where(np.arange(8) < 5, x * 2, x))
    s = te.create_schedule(_blur(te.placeholder((15,), name="a"), [1.0, 1.0, 1.0]))
    assert any(isinstance(op, IfOp) for op in lower(s, simple_mode=True).walk())
