"""Scans, externs and hybrid scripts as stages: what they look like, what can be done to them, and around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whence import te
from whence.explorer.schedule.diff import diff
from whence.explorer.schedule.tedd import viz_dataflow_graph, viz_itervar_relationship_graph, viz_schedule_tree
from whence.explorer.schedule.tedd_json import dump_json
from whence.kernels import build_schedule, lower
from whence.support.errors import ScheduleError
from whence.te.language.tensor import Tensor
from whence.te.schedule.group import ScanGroup
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]
STEPS, WIDTH = 9, 8
X = np.random.default_rng(11).standard_normal((STEPS, WIDTH)).astype("float32")


def twice(a: Array, out: Array) -> None:
    out[:] = a * 2


te.register_func("opaque_stages.twice", twice)


@te.hybrid.script
def plus_one(a: Any) -> Any:
    c = output_tensor((9, 8), "float32")  # pyright: ignore[reportUndefinedVariable, reportUnknownVariableType] # noqa: F821
    for i in range(9):
        for j in parallel(8):  # pyright: ignore[reportUndefinedVariable, reportUnknownVariableType] # noqa: F821
            c[i, j] = a[i, j] + 1.0
    return c  # pyright: ignore[reportUnknownVariableType]


def transposed(i: Any, j: Any) -> list[Any]:
    return [j, i]


def first_rows(i: te.Expr) -> te.Expr:
    return i < 3


class Chain:
    """x -> before -> scan of (part, update) -> extern -> hybrid -> after."""

    def __init__(self) -> None:
        self.x = te.placeholder((STEPS, WIDTH), name="x")
        self.before = te.compute((STEPS, WIDTH), lambda t, i: self.x[t, i] - 0.5, name="before")
        self.state = te.placeholder((STEPS, WIDTH), name="state")
        self.init = te.compute((1, WIDTH), lambda _, i: self.before[0, i], name="init")
        self.part = te.compute((STEPS, WIDTH), lambda t, i: self.state[t - 1, i] * 0.5, name="part")
        self.update = te.compute((STEPS, WIDTH), lambda t, i: self.part[t, i] + self.before[t, i], name="update")
        self.scan: Tensor = te.scan(self.init, self.update, self.state, inputs=[self.before], name="total")
        self.extern: Tensor = te.extern(
            (STEPS, WIDTH),
            [self.scan],
            lambda ins, outs: te.call_packed("opaque_stages.twice", ins[0], outs[0]),
            name="twice",
        )
        self.hybrid: Tensor = plus_one(self.extern)
        self.after = te.compute((STEPS, WIDTH), lambda i, j: self.hybrid[i, j] * 3.0, name="after")
        self.schedule = te.create_schedule(self.after)

    @property
    def expected(self) -> Array:
        data = X - np.float32(0.5)
        total = data.copy()
        for t in range(1, STEPS):
            total[t] = total[t - 1] * 0.5 + data[t]
        return (total * 2 + 1) * 3

    def check(self) -> None:
        """The values are right, and the text of the schedule says all."""
        s = self.schedule
        s.sequence.verify()
        copy = s.snapshot()
        assert str(copy.sequence) == str(s.sequence)
        assert str(copy) == str(s)
        assert str(lower(copy, simple_mode=True)) == str(lower(s, simple_mode=True))
        np.testing.assert_allclose(build_schedule(s, threads=1)(X), self.expected, rtol=1e-5)


@pytest.fixture
def chain() -> Chain:
    return Chain()


def test_every_operation_is_a_stage_in_depth_first_order(chain: Chain) -> None:
    s = chain.schedule
    labels = ["before", "init", "state", "part", "update", "total", "twice", "plus_one", "after"]
    assert [stage.label for stage in s.stages] == labels
    for tensor in (chain.scan, chain.state, chain.extern, chain.hybrid, chain.init):
        assert s[tensor] is s[tensor.op] is s[tensor.name]
        assert s[tensor] in s.stages
    assert s[chain.x].label == "x"
    assert s[chain.x] is s["x"]
    assert s[chain.x] not in s.stages
    chain.check()


def test_axes(chain: Chain) -> None:
    s = chain.schedule
    scan = s[chain.scan]
    assert [(axis.name, axis.extent, axis.sort) for axis in scan.leaf_iter_vars] == [
        ("total.idx", STEPS - 1, "ordered"),
        ("total.out0.i2", WIDTH, "opaque"),
    ]
    assert scan.op.scan_axis is scan.leaf[0]
    assert s[chain.extern].op.axis == s[chain.state].op.axis == s[chain.x].op.axis == []
    assert [(axis.name, axis.kind, axis.sort) for axis in s[chain.hybrid].op.axis] == [
        ("i", "serial", "data"),
        ("j", "parallel", "data"),
    ]


def test_what_runs_in_the_steps_is_a_group(chain: Chain) -> None:
    s = chain.schedule
    (group,) = s.groups
    assert isinstance(group, ScanGroup)
    assert [stage.label for stage in group.members] == ["part", "update"]
    assert [stage.attach_type for stage in s.stages] == [1, 1, 1, 1, 5, 1, 1, 1, 1]
    with pytest.raises(ScheduleError, match="Cannot specify compute_at for scan updates"):
        group.compute_at(s[chain.after], chain.after.op.axis[0])
    with pytest.raises(ScheduleError, match="Can only assign compute_at to stages within the same group"):
        s[chain.part].compute_at(s[chain.after], chain.after.op.axis[0])


SCHEDULES: dict[str, Callable[[Chain, Schedule], object]] = {
    "split": lambda c, s: s[c.scan].split(c.scan.op.axis[0], 4),
    "split unevenly": lambda c, s: s[c.scan].split(c.scan.op.axis[0], 3),
    "split into parts": lambda c, s: s[c.scan].split(c.scan.op.axis[0], nparts=3),
    "split and fuse": lambda c, s: s[c.scan].fuse(*s[c.scan].split(c.scan.op.axis[0], 2)),
    "unroll": lambda c, s: s[c.scan].unroll(s[c.scan].split(c.scan.op.axis[0], 2)[1]),
    "pragma": lambda c, s: s[c.scan].pragma(c.scan.op.axis[0], "steps", 3),
    "prefetch": lambda c, s: s[c.scan].prefetch(c.before, c.scan.op.axis[0], 1),
    "env_threads": lambda c, s: (
        s[c.scan].env_threads([thread := te.thread_axis("threadIdx.x")]),
        s[c.update].bind(c.update.op.axis[1], thread),
        s[c.part].bind(c.part.op.axis[1], thread),
    ),
    "inside": lambda c, s: s[c.part].compute_at(s[c.update], s[c.update].split(c.update.op.axis[1], 4)[0]),
    "inline": lambda c, s: s[c.part].compute_inline(),
    "vectorize": lambda c, s: s[c.update].vectorize(s[c.update].split(c.update.op.axis[1], 4)[1]),
    "before inside": lambda c, s: s[c.before].parallel(c.before.op.axis[0]),
    "cache the update": lambda c, s: s.cache_write(c.update, "local").compute_at(s[c.update], s[c.update].axes[1]),
    "cache of changed loops": lambda c, s: (
        s[c.update].split(c.update.op.axis[1], 3),
        s.cache_write(c.update, "local").compute_at(s[c.update], s[c.update].axes[1]),
    ),
    "threads of blocks": lambda c, s: (
        s[c.scan].env_threads([block := te.thread_axis("blockIdx.x")]),
        s[c.update].bind(s[c.update].split(c.update.op.axis[1], 4)[0], block),
    ),
    "cache for the update": lambda c, s: s.cache_read(c.before, "global", [c.update]),
    "cache for the scan": lambda c, s: s.cache_read(c.init, "global", [c.scan]),
    "cache for the extern": lambda c, s: s.cache_read(c.scan, "global", [c.extern]),
    "cache for the hybrid": lambda c, s: s.cache_read(c.extern, "global", [c.hybrid]),
    "cache of the hybrid": lambda c, s: s.cache_read(c.hybrid, "local", [c.after]).compute_at(
        s[c.after], c.after.op.axis[0]
    ),
    "after": lambda c, s: s[c.after].vectorize(s[c.after].tile(c.after.op.axis[0], c.after.op.axis[1], 3, 4)[3]),
}


@pytest.mark.parametrize("case", SCHEDULES)
def test_what_can_be_done(chain: Chain, replayed: Callable[[Schedule], None], case: str) -> None:
    SCHEDULES[case](chain, chain.schedule)
    assert chain.schedule.primitives
    chain.check()
    replayed(chain.schedule)


REFUSED: dict[str, tuple[Callable[[Chain, Schedule], object], str]] = {
    "update at": (
        lambda c, s: s[c.update].compute_at(s[c.after], c.after.op.axis[0]),
        "compute_at: Cannot specify compute_at for scan updates",
    ),
    "update inline": (lambda c, s: s[c.update].compute_inline(), "Cannot specify compute_at for scan updates"),
    "update root": (lambda c, s: s[c.update].compute_root(), "Cannot specify compute_at for scan updates"),
    "init inline": (lambda c, s: s[c.init].compute_inline(), "'init' is used as a whole by te.scan 'total'"),
    "scan inline": (lambda c, s: s[c.scan].compute_inline(), "compute_inline: Expect a ComputeOp, got a scan"),
    "extern inline": (lambda c, s: s[c.extern].compute_inline(), "Expect a ComputeOp, got an extern .stage 'twice'"),
    "hybrid at": (
        lambda c, s: s[c.hybrid].compute_at(s[c.after], c.after.op.axis[0]),
        "Expect a ComputeOp, got a hybrid script",
    ),
    "at a scan": (
        lambda c, s: s[c.before].compute_at(s[c.scan], c.scan.op.axis[0]),
        "Expect a ComputeOp to be computed in, got a scan 'total'",
    ),
    "reorder": (
        lambda c, s: s[c.scan].reorder(*reversed(s[c.scan].split(c.scan.op.axis[0], 2))),
        "reorder: Cannot reorder on Ordered axis total.idx.inner",
    ),
    "parallel": (lambda c, s: s[c.scan].parallel(c.scan.op.axis[0]), "Cannot parallel on Ordered axis total.idx"),
    "vectorize": (lambda c, s: s[c.scan].vectorize(c.scan.op.axis[0]), "Cannot vectorize on Ordered axis total.idx"),
    "bind": (
        lambda c, s: s[c.scan].bind(c.scan.op.axis[0], te.thread_axis("threadIdx.x")),
        "Cannot bind Ordered axis total.idx, only DataPar and CommReduce",
    ),
    "split opaque": (lambda c, s: s[c.scan].split(c.scan.op.axis[1], 2), "Cannot split on Opaque axis total.out0.i2"),
    "fuse opaque": (lambda c, s: s[c.scan].fuse(*c.scan.op.axis), "expected serial axes of one sort"),
    "split a loop": (lambda c, s: s[c.hybrid].split(s[c.hybrid].op.axis[1], 2), "Cannot split on Parallelized axis j"),
    "bind a loop": (
        lambda c, s: s[c.hybrid].bind(s[c.hybrid].op.axis[0], te.thread_axis(7, "threadIdx.x")),
        "bind: expected the extent 7, of threadIdx.x, got ",
    ),
    "prefetch in a loop": (
        lambda c, s: s[c.hybrid].prefetch(c.x, s[c.hybrid].op.axis[0], 1),
        "prefetch: Expect a ComputeOp, got a hybrid script",
    ),
    "singleton": (lambda c, s: s[c.extern].fuse(), "fuse: Expect a ComputeOp, got an extern"),
    "threads of an extern": (
        lambda c, s: s[c.extern].env_threads([te.thread_axis("threadIdx.x")]),
        "env_threads is only valid for composite ops such as ScanOp",
    ),
    "no threads": (lambda c, s: s[c.scan].env_threads([]), "env_threads: expected threads"),
    "cache_write": (lambda c, s: s.cache_write(c.extern, "local"), "cache_write: Expect a ComputeOp, got an extern"),
    "rfactor": (lambda c, s: s.rfactor(c.scan, c.scan.op.axis[0]), "rfactor: Expect a ComputeOp, got a scan"),
    "scope": (lambda c, s: s[c.hybrid].set_scope("local"), "set_scope: Expect a ComputeOp, got a hybrid script"),
    "double": (lambda c, s: s[c.scan].double_buffer(), "double_buffer: Expect a ComputeOp, got a scan"),
    "layout": (lambda c, s: s[c.extern].transform_layout(transposed), "Expect a ComputeOp, got an extern"),
    "predicate": (lambda c, s: s[c.extern].set_store_predicate(first_rows), "Expect a ComputeOp, got an extern"),
    "state": (lambda c, s: s[c.state].set_scope("local"), "Expect a ComputeOp, got the state of a scan"),
    "placeholder": (lambda c, s: s[c.x].set_scope("local"), "Expect a ComputeOp, got a placeholder .stage 'x'"),
    "cache of a state": (
        lambda c, s: s.cache_read(c.state, "global", [c.part]),
        "cache_read: expected a tensor that is computed, got state, of which a scan knows past rows",
    ),
    "no input": (lambda c, s: s.cache_read(c.x, "global", [c.extern]), "Cannot find x in the inputs of twice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done(chain: Chain, case: str) -> None:
    change, text = REFUSED[case]
    with pytest.raises(ScheduleError, match=text):
        change(chain, chain.schedule)
    chain.check()


def test_threads_are_set_once(chain: Chain) -> None:
    s = chain.schedule
    thread = te.thread_axis((0, WIDTH), "threadIdx.x", name="tx")
    s[chain.scan].env_threads([thread])
    assert [axis.name for axis in s[chain.scan].leaf_iter_vars] == ["tx", "total.idx", "total.out0.i2"]
    assert s.primitive_record == ["vanilla", "env_threads"]
    with pytest.raises(ScheduleError, match="Already set env_threads"):
        s[chain.scan].env_threads([thread])
    s[chain.update].bind(chain.update.op.axis[1], thread)
    chain.check()


def test_print(chain: Chain) -> None:
    s = chain.schedule
    s[chain.part].compute_inline()
    s[chain.scan].split(chain.scan.op.axis[0], 4)
    lines = [line.split("layers")[0].rstrip() for line in str(s).splitlines()]
    at = lines.index("stage update    (global)  @ total.idx")
    assert lines[at : at + 10] == [
        "stage update    (global)  @ total.idx",
        "  for i in 8",
        "    update[t, i] = part[t, i] + before[t, i]",
        "stage total     (global)",
        "  for total.idx.outer in 2",
        "    for total.idx.inner in 4  # computes update",
        "      total = scan(state from init next update)",
        "stage twice     (global)",
        "  twice = opaque_stages.twice(total, twice)",
        "stage plus_one  (global)",
    ]
    assert "stage state     (global)" in lines


def test_diff(chain: Chain) -> None:
    s = chain.schedule
    s[chain.scan].split(chain.scan.op.axis[0], 4)
    assert str(diff(s.snapshot(0), s)).splitlines() == [
        "stage total",
        "  - for total.idx in 8  # computes part, update",
        "  + for total.idx.outer in 2",
        "  + for total.idx.inner in 4  # computes part, update",
    ]


def test_tedd(chain: Chain) -> None:
    s = chain.schedule
    s[chain.scan].env_threads([te.thread_axis("threadIdx.x")])
    outer, _ = s[chain.scan].split(chain.scan.op.axis[0], 4)
    entries = dump_json(s)["stages"]
    names = ["x", "before", "init", "state", "part", "update", "total", "twice", "plus_one", "after"]
    assert [entry["name"] for entry in entries] == names
    scan = entries[6]
    assert scan["compute"] is None
    assert scan["attaching_to"] is None
    assert [(var["name"], var["index"], var["itervar_type"]) for var in scan["all_itervars"]] == [
        ("total.idx", -1, 3),
        ("total.out0.i2", 3, 4),
        ("threadIdx.x", 0, 1),
        ("total.idx.outer", 1, 3),
        ("total.idx.inner", 2, 3),
    ]
    assert scan["all_itervars"][0]["properties"]["range"] == "range(min=1, ext=8)"
    assert [var["itervar_type"] for var in entries[8]["all_itervars"]] == [0, 7]
    assert scan["input_tensors"] == [[2, 0], [5, 0]]
    assert [entry["input_tensors"] for entry in entries[7:9]] == [[[6, 0]], [[7, 0]]]
    tree = viz_schedule_tree(s, output_dot_string=True) or ""
    assert f"{outer.name}(kOrdered)" in tree.replace("<br/>", "")
    assert 'BGCOLOR="#ABB2B9"' in tree.split("Stage_6 [")[1].split("Stage_7")[0]
    assert "Stage_6 -> ROOT" in tree
    graph = viz_itervar_relationship_graph(s, output_dot_string=True) or ""
    assert "IterVar_6_0:itervar -> Split_Relation_6_0:Input" in graph
    assert "cluster_Stage_7" in graph
    flow = viz_dataflow_graph(s, output_dot_string=True) or ""
    for edge in ("Tensor_2_0 -> Stage_6:I_0", "Tensor_5_0 -> Stage_6:I_1", "Tensor_3_0 -> Stage_4:I_0"):
        assert edge in flow
