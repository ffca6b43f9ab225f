"""Primitives that fail change and record nothing, whatever they are given; numpy's integers are ints."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from io import StringIO
from typing import Any

import numpy as np
import pytest
from xdsl.printer import Printer

from whence import te
from whence.support.errors import ScheduleError
from whence.te.schedule.schedule import Schedule


class Case:
    """`h[i, j] = a[i, j] + 1; c[i, j] = sum over k of h[i, k] * h[j, k]; d[i, j] = c[i, j] * 2`, nothing done."""

    def __init__(self) -> None:
        self.a = te.placeholder((8, 8), name="A")
        k = te.reduce_axis((0, 8), name="k")
        self.h = te.compute((8, 8), lambda i, j: self.a[i, j] + 1.0, name="H")
        self.c = te.compute((8, 8), lambda i, j: te.sum(self.h[i, k] * self.h[j, k], axis=k), name="C")
        self.d = te.compute((8, 8), lambda i, j: self.c[i, j] * 2.0, name="D")
        self.s = te.create_schedule(self.d)
        self.stage = self.s[self.c]
        self.i, self.j = self.stage.axes


def bad_values() -> dict[str, Any]:
    other = Case()
    return {
        "none": None,
        "float": 2.5,
        "numpy float": np.float32(2),
        "text": "x",
        "list": [1],
        "dict": {},
        "bool": True,
        "negative": -5,
        "zero": 0,
        "axis of another schedule": other.i,
        "axis of another operation": other.c.op.axis[0],
        "reduction of another operation": other.c.op.reduce_axis[0],
        "stage of another schedule": other.stage,
        "tensor of another schedule": other.d,
        "object": object(),
    }


BAD = bad_values()
STAGE: dict[str, Callable[[Case, Any], object]] = {
    "split": lambda t, x: t.stage.split(x, 2),
    "split factor": lambda t, x: t.stage.split(t.i, x),
    "split nparts": lambda t, x: t.stage.split(t.i, nparts=x),
    "fuse": lambda t, x: t.stage.fuse(t.i, x),
    "reorder": lambda t, x: t.stage.reorder(t.j, x),
    "tile": lambda t, x: t.stage.tile(t.i, x, 2, 2),
    "tile factor": lambda t, x: t.stage.tile(t.i, t.j, 2, x),
    "vectorize": lambda t, x: t.stage.vectorize(x),
    "unroll": lambda t, x: t.stage.unroll(x),
    "parallel": lambda t, x: t.stage.parallel(x),
    "bind": lambda t, x: t.stage.bind(x, te.thread_axis("threadIdx.x")),
    "bind thread": lambda t, x: t.stage.bind(t.i, x),
    "env_threads": lambda t, x: t.stage.env_threads(x),
    "tensorize": lambda t, x: t.stage.tensorize(t.i, x),
    "pragma": lambda t, x: t.stage.pragma(x, "key", 1),
    "pragma key": lambda t, x: t.stage.pragma(t.i, f"not a name {x}", 1),
    "pragma import": lambda t, x: t.stage.pragma(t.i, "import_llvm", f"define {x}"),
    "prefetch": lambda t, x: t.stage.prefetch(t.h, x, 1),
    "prefetch tensor": lambda t, x: t.stage.prefetch(x, t.i, 1),
    "compute_at": lambda t, x: t.s[t.h].compute_at(t.stage, x),
    "compute_at stage": lambda t, x: t.s[t.h].compute_at(x, t.i),
    "set_scope": lambda t, x: t.stage.set_scope(x),
    "storage_align": lambda t, x: t.stage.storage_align(x, 4, 1),
    "storage_align factor": lambda t, x: t.stage.storage_align(t.i, x, 0),
    "set_store_predicate": lambda t, x: t.stage.set_store_predicate(x),
    "set_axis_separators": lambda t, x: t.stage.set_axis_separators([x, -1]),
    "transform_layout": lambda t, x: t.stage.transform_layout(x),
    "cache_read scope": lambda t, x: t.s.cache_read(t.h, x, [t.c]),
    "cache_write scope": lambda t, x: t.s.cache_write(t.c, x),
    "rfactor": lambda t, x: t.s.rfactor(t.c, x),
    "rfactor axis": lambda t, x: t.s.rfactor(t.c, t.c.op.reduce_axis[0], x if x != 0 else 9),
}
"""What is refused with the name of the stage."""
SCHEDULE: dict[str, Callable[[Case, Any], object]] = {
    "key": lambda t, x: t.s[x],
    "cache_read": lambda t, x: t.s.cache_read(x, "local", [t.c]),
    "cache_read readers": lambda t, x: t.s.cache_read(t.h, "local", x),
    "cache_write": lambda t, x: t.s.cache_write(x, "local"),
    "rfactor": lambda t, x: t.s.rfactor(x, t.c.op.reduce_axis[0]),
    "create_group": lambda t, x: t.s.create_group(x, t.h),
    "create_group inputs": lambda t, x: t.s.create_group(t.c, x),
}
"""What is refused where there is no stage to name."""
RIGHT = {("prefetch tensor", "tensor of another schedule")}
"""What is no mistake: a tensor is known by its name."""


def state(s: Schedule) -> tuple[str, str, int, str]:
    # In the generic form every op of a stage is spelled.
    generic = StringIO()
    Printer(generic, print_generic_format=True, print_debuginfo=True).print_op(s.func)
    return str(s), str(s.sequence), len(s.primitives), generic.getvalue()


@cache
def fresh() -> tuple[str, str, int, str]:
    """The state of a case to which nothing was done; that of each is the same."""
    return state(Case().s)


@pytest.mark.parametrize(
    ("primitive", "value"),
    [(primitive, value) for primitive in STAGE for value in BAD if (primitive, value) not in RIGHT],
)
def test_a_failed_primitive_leaves_no_trace(primitive: str, value: str) -> None:
    t = Case()
    with pytest.raises(ScheduleError, match=r"stage '[CH]'"):
        STAGE[primitive](t, BAD[value])
    assert state(t.s) == fresh()


@pytest.mark.parametrize("value", [value for value in BAD if value != "tensor of another schedule"])
@pytest.mark.parametrize("primitive", SCHEDULE)
def test_a_failed_primitive_of_the_schedule_leaves_no_trace(primitive: str, value: str) -> None:
    t = Case()
    with pytest.raises(ScheduleError):
        SCHEDULE[primitive](t, BAD[value])
    assert state(t.s) == fresh()


def test_numpy_integers_are_ints() -> None:
    def run(number: Callable[[int], Any]) -> str:
        t = Case()
        outer, _ = t.stage.split(t.i, number(4))
        t.stage.split(t.j, nparts=number(2))
        t.stage.pragma(outer, "key", number(3))
        t.stage.prefetch(t.h, outer, number(1))
        t.s[t.h].storage_align(t.h.op.axis[0], number(8), number(1))
        t.s[t.h].set_axis_separators([number(1)])
        i, j = t.s[t.d].axes
        t.s[t.d].tile(i, j, number(2), number(4))
        t.s[t.d].bind(t.s[t.d].leaf[0], te.thread_axis((0, number(4)), "threadIdx.x"))
        t.s.rfactor(t.c, t.c.op.reduce_axis[0], number(1))
        return str(t.s.sequence)

    assert run(np.int64) == run(np.uint8) == run(int)
