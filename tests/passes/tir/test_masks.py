"""Loops whose lanes do not all do the same: right numbers for odd extents, and vector code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whence import te
from whence.kernels import Function, build_schedule
from whence.lowering.llvm_to_native.target import Target
from whence.te.language.tensor import Tensor

Array = NDArray[Any]
EXTENTS = (2, 3, 5, 7, 13, 17, 31, 33, 47, 100, 257)


def built(a: Tensor, b: Tensor, factor: int | None) -> Function:
    schedule = te.create_schedule(b.op)
    axis = b.op.axis[-1]
    if factor is not None:
        _, axis = schedule[b].split(axis, factor=factor)
    schedule[b].vectorize(axis)
    return build_schedule(schedule, threads=1)


def plain(n: int) -> tuple[Tensor, Tensor, Callable[[Array], Array]]:
    a = te.placeholder((3, n), "float32", "A")
    b = te.compute((3, n), lambda i, j: a[i, j] * a[i, j] - 2.0, "B")
    return a, b, lambda x: x * x - np.float32(2)


def padded(n: int) -> tuple[Tensor, Tensor, Callable[[Array], Array]]:
    a = te.placeholder((3, n), "float32", "A")
    b = te.compute((3, n), lambda i, j: te.if_then_else(te.all(j >= 1, j < n - 1), a[i, j - 1] - a[i, j + 1], 7.0), "B")

    def expected(x: Array) -> Array:
        result = np.full_like(x, 7)
        result[:, 1:-1] = x[:, :-2] - x[:, 2:]
        return result

    return a, b, expected


def strided(n: int) -> tuple[Tensor, Tensor, Callable[[Array], Array]]:
    """Every other element, backwards, and 0 before the first: a gather."""
    a = te.placeholder((3, 2 * n), "float32", "A")
    b = te.compute((3, n), lambda i, j: te.if_then_else(j >= 1, a[i, 2 * n - 2 * j], 0.0), "B")

    def expected(x: Array) -> Array:
        result = np.zeros((3, n), np.float32)
        result[:, 1:] = x[:, 2 * n - 2 * np.arange(1, n)]
        return result

    return a, b, expected


CASES = {"plain": plain, "padded": padded, "strided": strided}


@pytest.mark.parametrize("factor", [None, 8, 16])
@pytest.mark.parametrize("case", CASES)
def test_odd_extents(case: str, factor: int | None):
    for n in EXTENTS:
        a, b, expected = CASES[case](n)
        function = built(a, b, factor)
        x = np.random.default_rng(n).standard_normal((3, 2 * n if case == "strided" else n)).astype(np.float32)
        np.testing.assert_array_equal(function(x), expected(x), err_msg=f"{n}\n{function.tir}")
        assert "vector<" in function.tir
        assert "tir.if" not in function.tir


@pytest.mark.parametrize("dtype", ["float64", "int8", "int32", "bool"])
def test_other_types(dtype: str):
    n = 23
    a = te.placeholder((n,), dtype, "A")
    b = te.compute((n,), lambda i: a[i], "B")
    function = built(a, b, 16)
    x = np.random.default_rng(0).integers(0, 2, n).astype(dtype)
    np.testing.assert_array_equal(function(x), x)
    masks = Target.native().hardware.mask_registers or dtype in ("float64", "int32")
    assert ("tir.masked_store" in function.tir) == masks


def test_the_machine_code_is_masked_vectors():
    a, b, _ = plain(31)
    function = built(a, b, 16)
    tir, assembly = function.tir, function.assembly
    assert "tir.mask " in tir
    assert "tir.if" not in tir
    wide = re.compile(r"v(mulps|fmadd\w*ps|fmsub\w*ps|subps|addps)\s.*[xyz]mm|(mulps|subps)\s.*xmm")
    assert wide.search(assembly)
    assert "mulss" not in assembly


def test_division_is_scalar_where_lanes_do_not_run():
    n = 21
    a, d = te.placeholder((n,), "int32", "A"), te.placeholder((n,), "int32", "D")
    c = te.compute((n,), lambda i: te.truncdiv(a[i], d[i]), "C")
    schedule = te.create_schedule(c.op)
    _, inner = schedule[c].split(c.op.axis[0], factor=8)
    schedule[c].vectorize(inner)
    function = build_schedule(schedule, threads=1)
    x = np.arange(n, dtype=np.int32) * 10
    y = np.arange(1, n + 1, dtype=np.int32)
    np.testing.assert_array_equal(function(x, y), x // y)
    assert "arith.divsi" in function.tir
    assert "vector<8xi32>" in function.tir
    assert "tir.masked" not in function.tir
