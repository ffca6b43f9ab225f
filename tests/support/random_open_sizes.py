"""Random te graphs over two open sizes, under random schedules, compiled once and run at several sizes against numpy.

What a primitive refuses, or cannot do for all sizes, leaves the schedule as it was.
"""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from fenced_pages import Pages
from numpy.typing import NDArray
from random_graphs import Dice
from random_primitives import draw

import whence
from whence import te
from whence.dialects.sizes import UndecidedSize
from whence.kernels import lower
from whence.kernels.open_functions import OpenFunction
from whence.support.context import PassContext
from whence.support.errors import ScheduleError
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]
SIZES = ((0, 0), (0, 5), (1, 1), (7, 3), (8, 16), (16, 1), (5, 33), (40, 17))
"""Of rows and columns: nothing, one, beside and at the lanes of vectors, odd, larger."""


class _Value(NamedTuple):
    tensor: Any
    array: Callable[[list[Array]], Array]
    """Of the inputs."""


class _Graph:
    """Four inputs and up to four stages of random operations on them; the last one is the result."""

    def __init__(self, dice: Dice):
        rows, columns = te.size_var("rows"), te.size_var("columns")
        self.dice = dice
        self.extents = {"r": rows, "c": columns}
        self.values: dict[str, list[_Value]] = {kind: [] for kind in ("rc", "cr", "r", "c")}
        for place, (kind, values) in enumerate(self.values.items()):
            tensor = te.placeholder(self._shape(kind), name=f"in_{kind}")
            values.append(_Value(tensor, lambda arrays, place=place: arrays[place]))
        self.inputs = [values[0].tensor for values in self.values.values()]
        self.result = self._stage(0)
        for number in range(1, dice.randint(1, 4)):
            self.result = self._stage(number)

    def _shape(self, kind: str) -> tuple[Any, ...]:
        return tuple(self.extents[letter] for letter in kind)

    def _stage(self, number: int) -> _Value:
        kind = self.dice.choice(list(self.values))
        matrix = [self._pair, self._across, self._turned, self._summed, self._product]
        make = self.dice.choice([self._pair, *(matrix if len(kind) == 2 else [self._backwards, self._window])])
        kind, value = make(kind, self.dice.choice(self.values[kind]), f"t{number}")
        if kind in self.values:
            self.values[kind].append(value)
        return value

    def _pair(self, kind: str, x: _Value, name: str) -> tuple[str, _Value]:
        y = self.dice.choice(self.values[kind])
        made = te.compute(self._shape(kind), lambda *i: x.tensor(*i) * y.tensor(*i) - x.tensor(*i) * 0.5, name)
        return kind, _Value(made, lambda a: x.array(a) * y.array(a) - x.array(a) * np.float32(0.5))

    def _across(self, kind: str, x: _Value, name: str) -> tuple[str, _Value]:
        y = self.dice.choice(self.values[kind[1]])
        made = te.compute(self._shape(kind), lambda i, j: x.tensor(i, j) + y.tensor(j), name)
        return kind, _Value(made, lambda a: x.array(a) + y.array(a))

    def _turned(self, kind: str, x: _Value, name: str) -> tuple[str, _Value]:
        made = te.compute(self._shape(kind[::-1]), lambda i, j: x.tensor(j, i) + 1.0, name)
        return kind[::-1], _Value(made, lambda a: x.array(a).T + 1)

    def _summed(self, kind: str, x: _Value, name: str) -> tuple[str, _Value]:
        k = te.reduce_axis((0, self.extents[kind[1]]), f"k_{name}")
        made = te.compute(self._shape(kind[0]), lambda i: te.sum(x.tensor(i, k), axis=k), name)
        return kind[0], _Value(made, lambda a: x.array(a).sum(1))

    def _product(self, kind: str, x: _Value, name: str) -> tuple[str, _Value]:
        y = self.dice.choice(self.values[kind[::-1]])
        k = te.reduce_axis((0, self.extents[kind[1]]), f"k_{name}")
        made = te.compute(self._shape(kind[0] * 2), lambda i, j: te.sum(x.tensor(i, k) * y.tensor(k, j), axis=k), name)
        return kind[0] * 2, _Value(made, lambda a: x.array(a) @ y.array(a))

    def _backwards(self, kind: str, x: _Value, name: str) -> tuple[str, _Value]:
        (extent,) = self._shape(kind)
        made = te.compute((extent,), lambda i: x.tensor(extent - 1 - i), name)
        return kind, _Value(made, lambda a: x.array(a)[::-1])

    def _window(self, kind: str, x: _Value, name: str) -> tuple[str, _Value]:
        (extent,) = self._shape(kind)

        def element(i: Any) -> Any:
            beside = x.tensor(i - 1) + x.tensor(i + 1)
            return te.if_then_else(te.all(i >= 1, i < extent - 1), beside, x.tensor(i))

        def array(inputs: list[Array]) -> Array:
            found = x.array(inputs).copy()
            if len(found) > 2:
                found[1:-1] = x.array(inputs)[:-2] + x.array(inputs)[2:]
            return found

        return kind, _Value(te.compute((extent,), element, name), array)


def _scheduled(dice: Dice, schedule: Schedule) -> Schedule:
    for _ in range(dice.randint(0, 6)):
        before = schedule.snapshot()
        _, apply = draw(dice, schedule)
        try:
            apply()
            lower(schedule, simple_mode=True)
        except (ScheduleError, UndecidedSize):
            schedule = before
    return schedule


def check(seed: int, level: int = 3, pages: Pages | None = None) -> bool:
    """One case at an opt level; False where a size decides the code.

    pages: where all buffers lie. Raises AssertionError where a result is not numpy's.
    """
    dice = Dice(seed)
    graph = _Graph(dice)
    with warnings.catch_warnings(), PassContext(opt_level=level):
        # TVM warns, too, of what these two change besides.
        warnings.filterwarnings("ignore", "create_group|bind")
        schedule = _scheduled(dice, te.create_schedule([graph.result.tensor], inputs=graph.inputs))
        function = whence.build_schedule(schedule, threads=2)
    assert isinstance(function, OpenFunction)
    for rows, columns in SIZES:
        rng = np.random.default_rng(100 * rows + columns)
        shapes = (rows, columns), (columns, rows), (rows,), (columns,)
        arrays = [rng.standard_normal(shape).astype("float32") for shape in shapes]
        expected = graph.result.array(arrays)
        tolerance = 2e-5 * max(1.0, float(np.abs(expected).max(initial=1.0)))
        what = f"{rows} x {columns}\n{schedule.func}\n{schedule.sequence}"
        if pages is None:
            found = function(*arrays)
        else:
            with pages.everywhere():
                found = function(*map(pages.copy, arrays))
            pages.check()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=tolerance, err_msg=what)
    return function.symbolic is not None
