"""Reducers whose identity is an expression: of variables, of data axes, of elements."""
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whence
from whence import te
from whence.te.schedule.schedule import Schedule

_RANDOM = np.random.default_rng(43)
N, M, V = te.var("n"), te.var("m"), te.var("v", "float32")


def _plain(s: Schedule, c: Any, k: Any) -> None:
    del s, c, k


def _split(s: Schedule, c: Any, k: Any) -> None:
    outer, inner = s[c].split(k, 4)
    s[c].reorder(outer, c.op.axis[0], inner)


def _factored(s: Schedule, c: Any, k: Any) -> None:
    s.rfactor(c, s[c].split(k, 4)[1])


def _factored_outside(s: Schedule, c: Any, k: Any) -> None:
    s.rfactor(c, s[c].split(k, 4)[0])


def _factored_whole(s: Schedule, c: Any, k: Any) -> None:
    s.rfactor(c, k)


def _fused(s: Schedule, c: Any, k: Any) -> None:
    s[c].fuse(*s[c].split(k, 5))
    s[c].split(c.op.axis[0], 2)


def _cached(s: Schedule, c: Any, k: Any) -> None:
    del k
    s.cache_write(c, "local")


PLACES = [_plain, _split, _factored, _factored_outside, _factored_whole, _fused, _cached]
Place = Callable[[Schedule, Any, Any], None]


def _check(
    place: Place, reducer: Any, wanted: Callable[[Any, Any], Any], where: bool = False, sized: bool = True
) -> None:
    x, y = _RANDOM.standard_normal((5, 13)).astype("float32"), _RANDOM.standard_normal(5).astype("float32")
    rows, columns = (N, M) if sized else (5, 13)
    a, b = te.placeholder((rows, columns), name="a"), te.placeholder((rows,), name="b")
    k = te.reduce_axis((0, columns), "k")
    condition = {"where": k % 3 != 1} if where else {}
    c = te.compute((rows,), lambda i: reducer(i, b)(a[i, k], axis=k, **condition), name="c")
    s = te.create_schedule(c.op)
    place(s, c, k)
    out = np.zeros(5, np.float32)
    function = whence.build(s, [V, a, b, c]) if sized else whence.build(s, [a, b, c])
    function(*((0.75,) if sized else ()), x, y, out)
    terms = np.delete(x, np.arange(1, 13, 3), axis=1) if where else x
    np.testing.assert_allclose(out, wanted(terms, y), rtol=1e-6)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("where", [False, True])
def test_identities_of_elements_and_axes(place: Place, where: bool) -> None:
    def of_element(i: Any, b: Any) -> Any:
        return te.comm_reducer(te.max, lambda t: b[i].astype(t), name="most")

    def of_axis(i: Any, b: Any) -> Any:
        del b
        return te.comm_reducer(te.max, lambda t: te.exp(i.astype(t)) - 5.0, name="most")

    starts = np.exp(np.arange(5, dtype=np.float32)) - 5
    _check(place, of_element, lambda x, y: np.maximum(x.max(axis=1), y), where, sized=False)
    _check(place, of_axis, lambda x, y: np.maximum(x.max(axis=1), starts), where, sized=False)


@pytest.mark.parametrize("place", PLACES)
def test_identities_and_combiners_of_variables(place: Place) -> None:
    def of_number(i: Any, b: Any) -> Any:
        del i, b
        return te.comm_reducer(te.max, lambda t: V.astype(t), name="most")

    def of_size(i: Any, b: Any) -> Any:
        del i, b
        return te.comm_reducer(
            lambda x, y: te.min(te.max(x, y), N.astype("float32") / 4),
            lambda t: M.astype(t) / 10 + V.astype(t) * 0,
            name="clipped",
        )

    _check(place, of_number, lambda x, y: np.maximum(x.max(axis=1), 0.75))
    _check(place, of_size, lambda x, y: np.minimum(np.maximum(x.max(axis=1), 1.3), 1.25))


@pytest.mark.parametrize("place", PLACES)
def test_a_condition_of_a_reducer_of_ones_own(place: Place) -> None:
    most = te.comm_reducer(te.max, te.min_value, name="most")
    _check(place, lambda i, b: most, lambda x, y: x.max(axis=1), where=True, sized=False)


@pytest.mark.parametrize("place", PLACES)
def test_identities_of_several_values(place: Place) -> None:
    x, y = _RANDOM.standard_normal((5, 13)).astype("float32"), _RANDOM.standard_normal(5).astype("float32") + 1
    a, b = te.placeholder((5, 13), name="a"), te.placeholder((5,), name="b")
    k = te.reduce_axis((0, 13), "k")

    def combine(p: Any, q: Any) -> Any:
        first = te.any(p[1] > q[1], te.all(p[1] == q[1], p[0] <= q[0]))
        return te.select(first, p[0], q[0]), te.max(p[1], q[1])

    def reduced(i: Any) -> Any:
        return te.comm_reducer(combine, lambda t, u: (i * 0 + 1000, b[i]), name="argmax")((k, a[i, k]), axis=k)

    where, most = te.compute((5,), reduced, name="c")
    s = te.create_schedule(where.op)
    place(s, where, k)
    found, top = np.zeros(5, np.int32), np.zeros(5, np.float32)
    whence.build(s, [a, b, where, most])(x, y, found, top)
    np.testing.assert_array_equal(found, np.where(x.max(axis=1) >= y, x.argmax(axis=1), 1000))
    np.testing.assert_array_equal(top, np.maximum(x.max(axis=1), y))
