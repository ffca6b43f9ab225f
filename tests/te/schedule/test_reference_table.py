"""Every primitive: the loops it leaves, what the record calls it, and what it refuses, as TVM has it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import cast

import pytest

from whence import te
from whence.support.errors import ScheduleError
from whence.te.language.tensor import Tensor
from whence.te.schedule.group import Group
from whence.te.schedule.itervar import ThreadAxis
from whence.te.schedule.schedule import Schedule
from whence.te.schedule.stage import Stage
from whence.te.schedule.tensor_intrin import TensorIntrin


class Case:
    """`C[i, j] += A[i, k] * H[k, j]` of `H = 2 B`, and `D = C + 1`."""

    def __init__(self) -> None:
        self.a, self.b = te.placeholder((16, 12), name="A"), te.placeholder((12, 8), name="B")
        self.k = te.reduce_axis((0, 12), name="k")
        self.h = te.compute((12, 8), lambda p, q: self.b[p, q] * 2.0, name="H")
        self.c = te.compute((16, 8), lambda i, j: te.sum(self.a[i, self.k] * self.h[self.k, j], axis=self.k), name="C")
        self.d = te.compute((16, 8), lambda i, j: self.c[i, j] + 1.0, name="D")
        self.s: Schedule = te.create_schedule(self.d)

    def stage(self, tensor: Tensor) -> Stage:
        return self.s[tensor]

    @property
    def names(self) -> list[str]:
        return [axis.name for axis in self.s[self.c].leaf_iter_vars]


def transposed(i: te.Expr, j: te.Expr) -> list[te.Expr]:
    return [j, i]


def vadd() -> TensorIntrin:
    x = te.placeholder((8,), name="x")
    plus = te.compute((8,), lambda i: x[i] + 1.0, name="plus")
    return te.decl_tensor_intrin(plus, lambda ins, _: te.compute((8,), lambda i: ins[0][i] + 1.0), name="plus")


ROW, COLUMN = 0, 1
ROWS: dict[str, tuple[Callable[[Case], object], str, str]] = {
    "split factor": (lambda t: t.s[t.c].split(t.c.op.axis[ROW], 4), "i.outer i.inner j k", "split"),
    "split nparts": (lambda t: t.s[t.c].split(t.k, nparts=4), "i j k.outer k.inner", "split_by_nparts"),
    "fuse": (lambda t: t.s[t.c].fuse(t.c.op.axis[ROW], t.c.op.axis[COLUMN]), "i.j.fused k", "fuse fuse"),
    "fuse swaps": (lambda t: t.s[t.c].fuse(t.c.op.axis[COLUMN], t.c.op.axis[ROW]), "i.j.fused k", "fuse fuse"),
    "fuse of none": (lambda t: t.s[t.c].fuse(), "singleton i j k", "fuse"),
    "reorder": (lambda t: t.s[t.c].reorder(t.k, t.c.op.axis[ROW]), "k j i", "reorder"),
    "tile": (
        lambda t: t.s[t.c].tile(t.c.op.axis[ROW], t.c.op.axis[COLUMN], 4, 2),
        "i.outer j.outer i.inner j.inner k",
        "split split reorder",
    ),
    "vectorize": (lambda t: t.s[t.c].vectorize(t.c.op.axis[COLUMN]), "i j k", "vectorize"),
    "unroll": (lambda t: t.s[t.c].unroll(t.k), "i j k", "unroll"),
    "parallel": (lambda t: t.s[t.c].parallel(t.c.op.axis[ROW]), "i j k", "parallel"),
    "tensorize": (lambda t: t.s[t.d].tensorize(t.d.op.axis[COLUMN], vadd()), "i j k", "tensorize"),
    "bind": (lambda t: t.s[t.c].bind(t.c.op.axis[ROW], te.thread_axis("threadIdx.x")), "i j k", "bind"),
    "compute_at": (lambda t: t.s[t.h].compute_at(t.s[t.c], t.c.op.axis[ROW]), "i j k", "compute_at"),
    "compute_inline": (lambda t: t.s[t.h].compute_inline(), "i j k", "compute_inline"),
    "compute_root": (lambda t: t.s[t.h].compute_root(), "i j k", "compute_root"),
    "set_scope": (lambda t: t.s[t.c].set_scope("local"), "i j k", "set_scope"),
    "set_store_predicate": (
        lambda t: t.s[t.c].set_store_predicate(t.c.op.axis[ROW] < 16),
        "i j k",
        "set_store_predicate",
    ),
    "prefetch": (lambda t: t.s[t.c].prefetch(t.a, t.c.op.axis[ROW], 1), "i j k", "prefetch"),
    "storage_align": (lambda t: t.s[t.c].storage_align(t.c.op.axis[ROW], 16, 1), "i j k", "storage_align"),
    "storage_align of no loop": (
        lambda t: (t.s[t.c].split(t.c.op.axis[ROW], 4), t.s[t.c].storage_align(t.c.op.axis[ROW], 16, 1)),
        "i.outer i.inner j k",
        "split storage_align",
    ),
    "transform_layout": (lambda t: t.s[t.c].transform_layout(transposed), "axis0 axis1 k", "transform_layout"),
    "set_axis_separators": (lambda t: t.s[t.c].set_axis_separators([1]), "i j k", "set_axis_separators"),
    "double_buffer": (lambda t: t.s[t.c].double_buffer(), "i j k", "double_buffer"),
    "rolling_buffer": (lambda t: t.s[t.c].rolling_buffer(), "i j k", "rolling_buffer"),
    "pragma": (lambda t: t.s[t.c].pragma(t.c.op.axis[ROW], "auto_unroll_max_step", 16), "i j k", "pragma"),
    "pragma unroll": (lambda t: t.s[t.c].pragma(t.k, "unroll"), "i j k", "unroll"),
    "pragma vectorize": (lambda t: t.s[t.c].pragma(t.c.op.axis[COLUMN], "vectorize"), "i j k", "vectorize"),
    "cache_read": (lambda t: t.s.cache_read(t.h, "local", [t.c]), "i j k", "set_scope"),
    "cache_write": (lambda t: t.s.cache_write(t.c, "local"), "i j", "set_scope"),
    "rfactor": (lambda t: t.s.rfactor(t.c, t.k), "i j k.v", ""),
    "create_group": (lambda t: t.s.create_group(t.c, t.h), "i j k", ""),
    "normalize": (lambda t: t.s.normalize(), "i j k", ""),
    "copy": (lambda t: t.s.copy(), "i j k", ""),
}


@pytest.mark.parametrize("row", ROWS)
def test_loops_and_records(row: str) -> None:
    t = Case()
    change, loops, records = ROWS[row]
    change(t)
    assert t.names == loops.split()
    assert t.s.primitive_record == ["vanilla", *records.split()]
    assert len(t.s.schedule_record) == len(t.s.primitive_record)
    assert str(t.s.copy()) == str(t.s)


def test_a_new_schedule_has_one_record() -> None:
    t = Case()
    assert (t.s.primitive_record, len(t.s.schedule_record)) == (["vanilla"], 1)


def test_stages_that_are_made() -> None:
    t = Case()
    assert t.s.cache_read(t.a, "local", [t.c]).label == "A.local"
    assert t.s.cache_read(t.a, "local", [t.s["A.local"]]).label == "A.d.local"
    assert t.s.cache_write(t.h, "global").label == "H.global"
    assert t.s.rfactor(t.c, t.s[t.c].split(t.k, 4)[0]).label == "C.rf"
    assert t.s[t.c].label == "C.repl"
    labels = [stage.label for stage in t.s.stages]
    assert labels == ["A.d.local", "A.local", "H.global", "H", "C.rf", "C.repl", "D"]
    assert t.s.primitive_record == ["vanilla", "set_scope", "set_scope", "set_scope", "split"]


def test_fuse_records_one_per_axis() -> None:
    t = Case()
    parts = [*t.s[t.c].split(t.c.op.axis[ROW], 4), t.c.op.axis[COLUMN]]
    assert t.s[t.c].fuse(*parts).name == "i.outer.i.inner.fused.j.fused"
    assert t.s.primitive_record == ["vanilla", "split", "fuse", "fuse", "fuse"]


def _twice(t: Case) -> None:
    t.s.create_group(t.c, t.h, include_inputs=True)
    t.s.create_group(t.d, t.h)


def _across(t: Case) -> None:
    t.s.create_group(t.c, t.h, include_inputs=True)
    t.s[t.h].compute_at(t.s[t.d], t.d.op.axis[ROW])


def _split_again(t: Case) -> None:
    t.s[t.c].split(t.c.op.axis[ROW], 4)
    t.s[t.c].split(t.c.op.axis[ROW], 4)


ERRORS: dict[str, tuple[Callable[[Case], object], str]] = {
    "split both": (lambda t: t.s[t.c].split(t.k, 4, nparts=4), "expected either factor or nparts"),
    "split neither": (lambda t: t.s[t.c].split(t.k), "expected either factor or nparts"),
    "split again": (_split_again, "Operate on iter var i that has already been split"),
    "split foreign": (lambda t: t.s[t.c].split(t.s[t.d].axes[ROW], 2), "i is not part of the schedule"),
    "fuse apart": (lambda t: t.s[t.c].fuse(t.c.op.axis[ROW], t.k), "Can only fuse iterations that are consecutive"),
    "reorder twice": (lambda t: t.s[t.c].reorder(t.k, t.k), "Same axis can not appear more than once"),
    "vectorize": (lambda t: t.s[t.c].vectorize(t.k), "Cannot vectorize on CommReduce"),
    "bind": (
        lambda t: t.s[t.c].bind(t.k, cast(ThreadAxis, t.k)),
        "Cannot rebase by .*, only thread axis is allowed so far",
    ),
    "env_threads": (
        lambda t: t.s[t.c].env_threads([te.thread_axis("threadIdx.x")]),
        "env_threads is only valid for composite ops such as ScanOp",
    ),
    "compute_at": (
        lambda t: (t.s[t.c].split(t.k, 4), t.s[t.h].compute_at(t.s[t.c], t.k)),
        "Cannot find the axis k in parent's leaf_iter_vars",
    ),
    "compute_at itself": (
        lambda t: (
            t.s[t.h].compute_at(t.s[t.c], t.c.op.axis[ROW]),
            t.s[t.c].compute_at(t.s[t.h], t.h.op.axis[ROW]),
        ),
        "Find loop in compute_at attach group",
    ),
    "group": (_across, "Can only assign compute_at to stages within the same group"),
    "groups": (_twice, "Trying to group region that intersect with an already existed group"),
    "double_buffer": (lambda t: t.s[t.d].double_buffer(), "Cannot apply double buffer on output"),
    "rolling_buffer": (lambda t: t.s[t.d].rolling_buffer(), "Cannot apply rolling buffer on output"),
    "cache_read": (lambda t: t.s.cache_read(t.a, "local", [t.d]), "Cannot find A in the inputs of D"),
    "rfactor": (lambda t: t.s.rfactor(t.c, t.c.op.axis[ROW]), "Can only factor CommReduce axis"),
    "key": (lambda t: t.s["none"], "Cannot find the operation none in schedule"),
}


@pytest.mark.parametrize("row", ERRORS)
def test_errors(row: str) -> None:
    t = Case()
    change, text = ERRORS[row]
    with pytest.raises(ScheduleError, match=text):
        change(t)
    assert str(t.s.copy()) == str(t.s)


def test_a_second_bind_and_a_crossing_group_warn() -> None:
    t = Case()
    thread = te.thread_axis("threadIdx.x")
    t.s[t.c].bind(t.c.op.axis[ROW], thread)
    with pytest.warns(UserWarning, match="i was bound to threadIdx.x"):
        t.s[t.c].bind(t.c.op.axis[ROW], te.thread_axis("threadIdx.y"))
    t.s[t.h].compute_at(t.s[t.c], t.c.op.axis[ROW])
    with pytest.warns(UserWarning, match="computed inside a loop across the group's border"):
        t.s.create_group(t.h, t.h.op.input_tensors)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        t.s.normalize()
    assert t.s.primitive_record == ["vanilla", "bind", "bind", "compute_at", "compute_root"]


def test_where_stages_are_computed() -> None:
    t = Case()
    stage = t.s[t.h]
    assert (stage.attach_type, stage.attach_stage, stage.attach_ivar) == (1, None, None)
    stage.compute_at(t.s[t.c], t.c.op.axis[ROW])
    assert (stage.attach_type, stage.attach_stage, stage.attach_ivar) == (4, t.s[t.c], t.s[t.c].axes[ROW])
    stage.compute_inline()
    assert (stage.attach_type, stage.is_output, t.s[t.d].is_output) == (2, False, True)


def test_every_primitive_shows_before_and_after() -> None:
    on_stage = (
        "split fuse reorder tile vectorize unroll parallel bind env_threads tensorize tensor_compute pragma prefetch "
        "compute_at compute_inline compute_root set_scope storage_align double_buffer rolling_buffer "
        "set_store_predicate transform_layout set_axis_separators"
    )
    on_schedule = "cache_read cache_write rfactor create_group normalize"
    found = [(Stage, on_stage), (Schedule, on_schedule), (Group, "compute_at compute_root")]
    for owner, names in found:
        for name in names.split():
            before, arrow, after = (getattr(owner, name).__doc__ or "").partition("` -> ")
            assert arrow, (owner.__name__, name)
            assert "`" in before, name
            assert after
