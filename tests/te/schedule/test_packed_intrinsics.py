"""Tensor intrinsics that call Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whence import te
from whence.kernels import build_schedule
from whence.support.errors import FrontendError, ScheduleError
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]
RNG = np.random.default_rng(8)
A, B = (RNG.standard_normal(shape).astype("float32") for shape in ((16, 32), (32, 4)))
SHAPES: list[tuple[int, ...]] = []


def body(a: Array, b: Array, c: Array) -> None:
    SHAPES.append(a.shape)
    c[:] = a @ b


def reset(c: Array) -> None:
    c[:] = 0


def update(a: Array, b: Array, c: Array) -> None:
    assert not a.flags.writeable
    c += a @ b


def fails(a: Array, b: Array, c: Array) -> None:
    raise ValueError("no tile")


for function in (body, reset, update, fails):
    te.register_func(f"packed_intrinsics.{function.__name__}", function)


def gemv(terms: int, name: str = "body") -> te.TensorIntrin:
    a, b = te.placeholder((8, terms), name="a"), te.placeholder((terms,), name="b")
    k = te.reduce_axis((0, terms), name="k")
    c = te.compute((8,), lambda i: te.sum(a[i, k] * b[k], axis=k), name="c")

    def called(ins: list[Any], outs: list[Any]) -> Any:
        return (
            te.call_packed(f"packed_intrinsics.{name}", *ins, outs[0]),
            te.call_packed("packed_intrinsics.reset", outs[0]),
            te.call_packed("packed_intrinsics.update", *ins, outs[0]),
        )

    return te.decl_tensor_intrin(c, called, name="gemv")


def product(terms: int, *, name: str = "body", parallel: bool = False) -> Schedule:
    a, b = te.placeholder(A.shape, name="A"), te.placeholder(B.shape, name="B")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((16, 4), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.extern((16, 4), [c], lambda ins, outs: te.call_packed("packed_intrinsics.last", ins[0], outs[0]), name="c")
    s = te.create_schedule(d, [a, b])
    i, j = s[c].op.axis
    outer, inner = s[c].split(i, 8)
    tile = s[c].op.reduce_axis[0]
    apart: list[Any] = []
    if terms < 32:
        around, tile = s[c].split(tile, terms)
        apart = [around]
    s[c].reorder(outer, j, *apart, inner, tile)
    s[c].tensorize(inner, gemv(terms, name))
    if parallel:
        s[c].parallel(outer)
    return s


def last(c: Array, d: Array) -> None:
    d[:] = c - 1


te.register_func("packed_intrinsics.last", last)


@pytest.mark.parametrize(("terms", "parallel"), [(32, False), (32, True), (8, False), (8, True)])
def test_tiles_are_arrays(terms: int, parallel: bool) -> None:
    SHAPES.clear()
    s = product(terms, parallel=parallel)
    np.testing.assert_allclose(build_schedule(s, threads=2)(A, B), A @ B - 1, rtol=1e-4, atol=1e-5)
    assert SHAPES == [(8, 32)] * (8 if terms == 32 else 0)


def test_what_a_function_raises_is_said() -> None:
    with pytest.raises(FrontendError, match=r"packed function 'packed_intrinsics.fails' to succeed, got ValueError"):
        build_schedule(product(32, name="fails"), threads=1)(A, B)


def test_a_function_that_is_not_registered() -> None:
    with pytest.raises(ScheduleError, match=r"packed_intrinsics\.unknown"):
        build_schedule(product(32, name="unknown"), threads=1)
