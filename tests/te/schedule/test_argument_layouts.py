"""Layouts of placeholders and results: the arrays of a call have the layout's shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import whence
from whence import te
from whence.kernels import build_schedule, lower
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.support.errors import ScheduleError
from whence.te.schedule.schedule import Schedule
from whence.te.schedule.stage import Stage

RNG = np.random.default_rng(23)


def copied(extents: tuple[int, ...] = (24,)) -> tuple[Schedule, te.Tensor, te.Tensor]:
    a = te.placeholder(extents, "float64", name="a")

    def tripled(*point: Any) -> Any:
        return a[point] * 3.0

    b = te.compute(extents, tripled, name="b")
    return te.create_schedule(b), a, b


@pytest.mark.parametrize("result", [False, True])
@pytest.mark.parametrize("argument", [False, True])
def test_a_call_passes_and_gets_what_is_laid_out(
    replayed: Callable[[Schedule], None], argument: bool, result: bool
) -> None:
    s, a, b = copied()

    def boxes(i: Any) -> list[Any]:
        return [i // 12, i // 4 % 3, i % 4]

    if argument:
        assert s[a].transform_layout(boxes) == []
    if result:
        assert [axis.extent for axis in s[b].transform_layout(boxes)] == [2, 3, 4]
    replayed(s)
    values = RNG.random(24)
    box = values.reshape(2, 3, 4)
    wanted = 3 * (box if result else values)
    np.testing.assert_array_equal(build_schedule(s)(box if argument else values), wanted)
    out = np.zeros_like(wanted)
    whence.build(s, [a, b])(box if argument else values, out)
    np.testing.assert_array_equal(out, wanted)


def product() -> tuple[Schedule, te.Tensor, te.Tensor, te.Tensor]:
    x, y = te.placeholder((8, 6), "float64", name="x"), te.placeholder((6, 12), "float64", name="y")
    k = te.reduce_axis((0, 6), name="k")
    z = te.compute((8, 12), lambda i, j: te.sum(x[i, k] * y[k, j], axis=k), name="z")
    return te.create_schedule(z), x, y, z


def columns_first(*outer: Any, j: Any) -> list[Any]:
    """The last axis, a parameter by name, in tiles before the others."""
    return [j // 4, j % 4, *outer]


def test_a_product_of_packed_matrices_is_packed(replayed: Callable[[Schedule], None]) -> None:
    s, x, y, z = product()
    s[x].transform_layout(lambda i, k: [k, i])
    s[y].transform_layout(cast(Any, columns_first))
    outer, row, lane = s[z].transform_layout(lambda i, j: [j // 4, i, j % 4])
    top, rest = s[z].split(row, factor=2)
    s[z].reorder(outer, rest, top, lane)
    s[z].vectorize(lane)
    s[z].parallel(outer)
    replayed(s)
    left, right = RNG.random((8, 6)), RNG.random((6, 12))
    packed = right.reshape(6, 3, 4).transpose(1, 2, 0).copy()
    np.testing.assert_allclose(
        build_schedule(s, threads=2)(left.T.copy(), packed), (left @ right).reshape(8, 3, 4).transpose(1, 0, 2)
    )


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("read", [False, True])
def test_caches_keep_the_order_of_the_axes(read: bool, write: bool) -> None:
    s, x, _, z = product()
    if read:
        s.cache_read(x, "global", [z])
    if write:
        s.cache_write(z, "local")
    s[x].transform_layout(lambda i, k: [i // 2, k, i % 2])
    s[z].transform_layout(lambda i, j: [j, i])
    left, right = RNG.random((8, 6)), RNG.random((6, 12))
    found = build_schedule(s)(left.reshape(4, 2, 6).transpose(0, 2, 1).copy(), right)
    np.testing.assert_allclose(found, (left @ right).T)


def test_a_layout_comes_before_a_cache_and_a_factored_reduction() -> None:
    s, x, _, z = product()
    s[x].transform_layout(lambda i, k: [k, i])
    s[z].transform_layout(lambda i, j: [j, i])
    s.cache_read(x, "local", [z])
    s.rfactor(z, s[z].split(s[z].op.reduce_axis[0], factor=2)[1])
    left, right = RNG.random((8, 6)), RNG.random((6, 12))
    np.testing.assert_allclose(build_schedule(s)(left.T.copy(), right), (left @ right).T)


def test_a_second_layout_is_one_of_the_first() -> None:
    s, a, b = copied((4, 6))
    for tensor in (a, b):
        s[tensor].transform_layout(lambda i, j: [i, j // 2, j % 2])
        s[tensor].transform_layout(lambda i, k, lane: [k, lane, i])
    values = RNG.random((4, 6))
    moved = values.reshape(4, 3, 2).transpose(1, 2, 0).copy()
    np.testing.assert_array_equal(build_schedule(s)(moved), 3 * moved)


def test_axis_separators_change_no_values() -> None:
    s, a, b = copied((4, 6))
    s[a].transform_layout(lambda i, j: [j, te.AXIS_SEPARATOR, i])
    s[b].set_axis_separators([1])
    assert s[a].storage.separators == (1,)
    values = RNG.random((6, 4))
    np.testing.assert_array_equal(build_schedule(s)(values), 3 * values.T)


def test_the_loops_have_the_extents_of_the_layout() -> None:
    s, a, b = copied((4, 6))
    s[a].transform_layout(lambda i, j: [j, i])
    s[b].transform_layout(lambda i, j: [i * 6 + j])
    text = str(lower(s, [a, b]))
    assert "buffer<6x4xf64>" in text
    assert "buffer<24xf64>" in text


def swapped(*, i: Any, j: Any) -> list[Any]:
    return [j, i]


UNFIT: dict[str, tuple[Callable[[Stage], object], str]] = {
    "past the end": (lambda s: s.transform_layout(lambda i: [i // 5, i % 5]), "expected an element at each place"),
    "one digit": (lambda s: s.transform_layout(lambda i: [i // 48, i % 48]), "expected an element at each place"),
    "gap": (lambda s: s.transform_layout(lambda i: [i + 1]), "expected an element at each place"),
    "axes": (lambda s: s.transform_layout(lambda i, j: [j, i]), "missing 1 required positional argument"),
    "names": (lambda s: s.transform_layout(cast(Any, swapped)), "missing 1 required keyword-only argument"),
    "twice": (lambda s: s.transform_layout(lambda i: [i // 2]), "expected a place of its own for each element"),
    "separator": (lambda s: s.set_axis_separators([2]), "expected increasing axis separators from 0 to 1"),
}


@pytest.mark.parametrize("name", ["a", "b"])
@pytest.mark.parametrize("case", UNFIT)
def test_unfit_layouts_are_refused(case: str, name: str) -> None:
    s, _, _ = copied()
    apply, wanted = UNFIT[case]
    before = str(s.sequence)
    with pytest.raises(ScheduleError, match=wanted):
        apply(s[name])
    assert str(s.sequence) == before


def test_an_argument_of_open_size_keeps_its_order() -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="b")
    s = te.create_schedule(b)
    for tensor in (a, b):
        with pytest.raises(ScheduleError, match="expected known extents of an argument or a result"):
            s[tensor].transform_layout(lambda i: [i // 4, i % 4])


def test_a_tensor_that_is_taken_whole_keeps_its_order() -> None:
    a = te.placeholder((4, 6), name="a")
    c = te.extern((4, 6), [a], lambda i, o: te.call_packed("tests.untouched", i[0], o[0]), name="c")
    s = te.create_schedule(c.op)
    with pytest.raises(ScheduleError, match="expected a tensor that is read by element"):
        s[a].transform_layout(lambda i, j: [j, i])
    with pytest.raises(ScheduleError, match="Expect a ComputeOp"):
        s[c].transform_layout(lambda i, j: [j, i])


@pytest.mark.parametrize("name", ["a", "b"])
def test_kernels_of_models_keep_the_order_of_their_callers(name: str) -> None:
    s, _, _ = copied((4, 6))
    s[name].transform_layout(lambda i, j: [j, i])
    with pytest.raises(ScheduleError, match="expected an argument or a result in the order of its axes"):
        lower_schedule(s)
