"""Splits whose factor, or number of parts, is a variable of the program: a size that a call decides."""
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from fenced_pages import Pages

import whence
from whence import te
from whence.dialects.schedule import SplitOp
from whence.support.errors import ScheduleError
from whence.te.schedule.schedule import Schedule

_RANDOM = np.random.default_rng(41)
N, M, L, F = (te.var(name) for name in "nmlf")
_SIZES = ((1, 1, 1), (5, 7, 3), (8, 16, 4), (17, 9, 13))
_FACTORS = (0, 1, 2, 3, 4, 8, 20)


def _rows(s: Schedule, c: Any, d: Any) -> None:
    outer, _ = s[d].split(d.op.axis[0], factor=F)
    s[c].compute_at(s[d], outer)
    s[d].parallel(outer)


def _columns(s: Schedule, c: Any, d: Any) -> None:
    outer, inner = s[d].split(d.op.axis[1], factor=F)
    s[d].reorder(outer, d.op.axis[0], inner)
    s[c].compute_at(s[d], outer)
    s[d].vectorize(inner)


def _fused(s: Schedule, c: Any, d: Any) -> None:
    outer, _ = s[d].split(s[d].fuse(*d.op.axis), factor=F)
    s[c].compute_at(s[d], outer)


def _tiles(s: Schedule, c: Any, d: Any) -> None:
    _, outer, _, _ = s[d].tile(d.op.axis[0], d.op.axis[1], F, F + 1)
    s[c].compute_at(s[d], outer)


def _parts(s: Schedule, c: Any, d: Any) -> None:
    outer, inner = s[d].split(d.op.axis[1], nparts=F)
    s[c].compute_at(s[d], outer)
    s[d].vectorize(s[d].split(inner, 4)[1])


def _again(s: Schedule, c: Any, d: Any) -> None:
    outer, inner = s[d].split(d.op.axis[1], F)
    _, middle = s[d].split(outer, F)
    s[d].split(inner, 2)
    s[c].compute_at(s[d], middle)


def _rounded_up(s: Schedule, c: Any, d: Any) -> None:
    outer, _ = s[d].split(d.op.axis[1], factor=F, tail="round_up")
    s[c].compute_at(s[d], outer)


def _terms(s: Schedule, c: Any, d: Any) -> None:
    outer, inner = s[c].split(c.op.reduce_axis[0], factor=F)
    s[c].reorder(outer, *c.op.axis, inner)


def _factored(s: Schedule, c: Any, d: Any) -> None:
    s.rfactor(c, s[c].split(c.op.reduce_axis[0], factor=F)[1])


def _cached(s: Schedule, c: Any, d: Any) -> None:
    cache = s.cache_write(c, "local")
    outer, _ = s[c].split(c.op.axis[1], F)
    s[cache].compute_at(s[c], outer)
    s[c].compute_at(s[d], d.op.axis[0])


@pytest.mark.parametrize(
    "place", [_rows, _columns, _fused, _tiles, _parts, _again, _rounded_up, _terms, _factored, _cached]
)
@pytest.mark.parametrize("is_open", [True, False])
def test_products_between_fences(place: Callable[[Schedule, Any, Any], None], is_open: bool) -> None:
    n, m, depth = (N, M, L) if is_open else _SIZES[-1]
    a, b = te.placeholder((n, depth), name="a"), te.placeholder((depth, m), name="b")
    k = te.reduce_axis((0, depth), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    d = te.compute((n, m), lambda i, j: c[i, j] * 2.0, name="d")
    s = te.create_schedule(d.op)
    place(s, c, d)
    function = whence.build(s, [F, a, b, d])
    for sizes, factor in product(_SIZES if is_open else _SIZES[-1:], _FACTORS):
        pages = Pages("end")
        x, y = (pages.copy(_RANDOM.random(shape, np.float32)) for shape in ((sizes[0], sizes[2]), (sizes[2], sizes[1])))
        out = pages.empty((sizes[0], sizes[1]), np.float32)
        function(factor, x, y, out)
        np.testing.assert_allclose(out, x @ y * 2, rtol=1e-4, atol=1e-5, err_msg=f"{sizes}, {factor}")
        pages.check()


def _doubled() -> tuple[Any, Any]:
    a = te.placeholder((N,), name="a")
    return a, te.compute((N,), lambda i: a[i] * 2.0, name="b")


def test_a_size_is_recorded_by_name_and_given_later() -> None:
    a, b = _doubled()
    s = te.create_schedule(b)
    s[b].split(b.op.axis[0], factor=F + 2)
    (split,) = (op for op in s.sequence.block.ops if isinstance(op, SplitOp))
    assert 'factor "f + 2"' in str(split)
    assert "for i.inner in s1 + 2" in str(s)
    assert str(s.snapshot()) == str(s)
    assert "split" not in str(s.snapshot(0))
    function: Any = whence.build_schedule(s)
    np.testing.assert_array_equal(function.specialized(n=5, f=1)(np.ones(5, np.float32)), np.full(5, 2))
    with pytest.raises(ScheduleError, match="expected a value for the variable 'f'"):
        function(np.ones(5, np.float32))
    known = te.create_schedule(b, sizes={"n": 7, "f": 2})
    known[b].split(b.op.axis[0], factor=F)
    assert "for i.outer in 4\n    for i.inner in 2" in str(known)
    assert known.open is None
    assert a.shape[0] is N


def test_what_is_no_size_is_refused_and_changes_nothing() -> None:
    _, b = _doubled()
    s = te.create_schedule(b)
    before = str(s.sequence), s.func.size_names
    wrong: list[Any] = [te.var("x", "float32"), N + b.op.axis[0], 1.5, True, "n", te.exp(te.var("y", "float32"))]
    for factor in wrong:
        with pytest.raises(ScheduleError, match="expected an int or a size of variables as the factor"):
            s[b].split(b.op.axis[0], factor)
    with pytest.raises(ScheduleError, match="expected the tail"):
        s[b].split(b.op.axis[0], F, tail="nothing")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ScheduleError, match="positive factor"):
        s[b].split(b.op.axis[0], te.const(0))
    assert (str(s.sequence), s.func.size_names) == before
