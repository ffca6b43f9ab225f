"""The schedule primitives: what they make, what they record, what they refuse, and replaying the record."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from whence.dialects import schedule as ops
from whence.lowering.kernel.printing import printed
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.support.errors import ScheduleError
from whence.te.schedule.schedule import Schedule, replay
from whence.te.schedule.stage import Stage

CHAIN = """
te.func @chain(%a: tensor<12x16xf32>) -> (tensor<12x16xf32>) {
  %b = te.compute "b" (%i in 12, %j in 16) : tensor<12x16xf32> {
    %0 = te.read %a[%i, %j] : tensor<12x16xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  } loc("negate"("net":3:0))
  %c = te.compute "c" (%i in 12) sum(%k in 16) : tensor<12xf32> {
    %0 = te.read %b[%i, %k] : tensor<12x16xf32>
    te.yield %0 : f32
  } loc("total"("net":4:0))
  %d = te.compute "d" (%i in 12, %j in 16) : tensor<12x16xf32> {
    %0 = te.read %b[%i, %j] : tensor<12x16xf32>
    %1 = te.read %c[%i] : tensor<12xf32>
    %2 = arith.divf %0, %1 : f32
    te.yield %2 : f32
  } loc("divide"("net":5:0))
  te.return %d : tensor<12x16xf32>
}"""


@pytest.fixture
def s(scheduled: Callable[[str], Schedule]) -> Schedule:
    """`d = -a / sum(-a)` over rows, in stages b, c and d."""
    return scheduled(CHAIN)


def loops(stage: Stage) -> str:
    return ", ".join(map(str, stage.leaf))


def parsed(text: str) -> ops.SequenceOp:
    context = Context()
    for dialect in (Builtin, ops.Schedule):
        context.load_dialect(dialect)
    sequence = Parser(context, text).parse_module().body.block.first_op
    assert isinstance(sequence, ops.SequenceOp)
    sequence.verify()
    return sequence


def test_a_stage_starts_with_its_axes(s: Schedule):
    assert [stage.label for stage in s.stages] == ["b", "c", "d"]
    assert loops(s["c"]) == "i in 12, k in 16"
    assert [axis.reduce for axis in s["c"].leaf] == [False, True]
    assert s.primitive_record == ["vanilla"]
    assert s["c"].compute is s.func.computes[1]
    assert s[s["c"].compute.result] is s["c"]


def test_split_by_factor_and_by_parts(s: Schedule):
    i, j = s["d"].axes
    outer, inner = s["d"].split(j, 5)
    assert loops(s["d"]) == "i in 12, j.outer in 4, j.inner in 5"
    s["d"].split(i, nparts=4)
    assert loops(s["d"]) == "i.outer in 4, i.inner in 3, j.outer in 4, j.inner in 5"
    s["d"].split(inner, 2)
    assert [axis.name for axis in s["d"].leaf[-2:]] == ["j.inner.outer", "j.inner.inner"]
    assert outer in s["d"].leaf


def test_a_factor_beyond_the_extent_is_the_extent(s: Schedule):
    s["d"].split(s["d"].axes[0], 100)
    assert loops(s["d"]).startswith("i.outer in 1, i.inner in 12")


def test_fuse_reorder_and_marks(s: Schedule):
    stage = s["d"]
    fused = stage.fuse(*stage.axes)
    outer, inner = stage.split(fused, 16)
    stage.reorder(inner, outer)
    stage.unroll(inner)
    stage.parallel(outer)
    assert loops(stage) == "i.j.fused.inner in 16 # unrolled, i.j.fused.outer in 12 # parallel"


def test_reorder_permutes_the_places_that_it_is_given(s: Schedule):
    stage = s["d"]
    i_outer, i_inner = stage.split(stage.axes[0], 4)
    stage.reorder(stage.axes[1], i_outer)
    assert stage.leaf == [stage.axes[1], i_inner, i_outer]


def test_the_gemm_of_the_tutorial(gemm: Schedule):
    wanted = "vanilla split split reorder split reorder vectorize parallel"
    assert gemm.primitive_record == wanted.split()
    assert len(gemm.schedule_record) == len(gemm.primitive_record)


def test_snapshots_are_the_schedule_after_each_primitive(gemm: Schedule):
    seen = [loops(snapshot["C"]) for snapshot in gemm.schedule_record]
    assert seen[0] == "m in 1024, n in 1024, k in 1024"
    assert seen[1] == "m.outer in 32, m.inner in 32, n in 1024, k in 1024"
    assert seen[2] == "m.outer in 32, m.inner in 32, n.outer in 32, n.inner in 32, k in 1024"
    assert seen[3] == "m.outer in 32, n.outer in 32, m.inner in 32, n.inner in 32, k in 1024"
    assert seen[-1] == loops(gemm["C"])
    assert "n.inner in 32 # vectorized" in seen[-2]
    assert "parallel" not in seen[-2]


def test_a_snapshot_stands_for_itself(gemm: Schedule):
    before = printed(gemm.sequence)
    snapshot = gemm.snapshot(2)
    snapshot["C"].unroll(snapshot["C"].leaf[0])
    assert printed(gemm.sequence) == before
    assert len(snapshot.primitives) == 3


def busy(s: Schedule) -> Schedule:
    """Every primitive once."""
    cache = s.cache_write(s["c"], "local")
    s["b"].compute_inline()
    s["b"].compute_root()
    s["b"].set_scope("local")
    i, j = s["d"].axes
    i_outer, _ = s["d"].split(i, 4)
    j_outer, j_inner = s["d"].split(j, 8)
    s["d"].reorder(j_outer, i_outer)
    i_outer = s["d"].fuse(*s["d"].leaf[:2])
    s["d"].vectorize(j_inner)
    s["d"].parallel(i_outer)
    s["c"].compute_at(s["d"], i_outer)
    cache.compute_at(s["c"], s["c"].axes[0])
    cache.unroll(cache.split(cache.reduce_axes[0], 4)[1])
    return s


def test_replaying_the_text_gives_the_same_loops(s: Schedule):
    text = printed(busy(s).sequence)
    again = replay(s.snapshot(0).func, parsed(text))
    assert printed(again.sequence) == text
    assert again.primitive_record == s.primitive_record
    assert printed(lower_schedule(again)) == printed(lower_schedule(s))


def test_the_record_is_located_at_the_stages(s: Schedule):
    s["d"].split(s["d"].axes[0], 4)
    assert {str(op.location) for op in s.sequence.block.ops} == {str(s["d"].compute.location)}
    assert 'loc("divide"("net":5:0))' in str(s["d"].compute.location)


def test_cache_write_makes_a_stage_before_and_a_copy(s: Schedule):
    cache = s.cache_write(s["c"], "local")
    assert [stage.label for stage in s.stages] == ["b", "c.local", "c", "d"]
    assert (loops(cache), cache.scope) == ("i in 12, k in 16", "local")
    assert (loops(s["c"]), s["c"].scope) == ("i in 12", "global")
    assert s["c"].compute.location == cache.compute.location
    assert s["c"].compute.reducer is None
    s.func.verify()
    assert s.primitive_record[-1] == "set_scope"


REFUSED: dict[str, tuple[Callable[[Schedule], object], str]] = {
    "factor and nparts": (
        lambda s: s["d"].split(s["d"].axes[0], 4, nparts=2),
        r"split: expected either factor or nparts, got factor=4, nparts=2 \(stage 'd', layer 'divide', net node 5\)",
    ),
    "neither": (lambda s: s["d"].split(s["d"].axes[0]), "split: expected either factor or nparts"),
    "factor 0": (lambda s: s["d"].split(s["d"].axes[0], 0), "split: expected a positive factor, got 0"),
    "a foreign axis": (lambda s: s["d"].split(s["c"].axes[0], 2), "axis i is not part of the schedule of this stage"),
    "not neighbours": (
        lambda s: s["d"].fuse(s["d"].axes[0], s["d"].axes[0]),
        "fuse: Can only fuse iterations that are consecutive between each other",
    ),
    "twice": (
        lambda s: s["d"].reorder(s["d"].axes[0], s["d"].axes[0]),
        "reorder: Same axis can not appear more than once",
    ),
    "vectorize a sum": (
        lambda s: s["c"].vectorize(s["c"].reduce_axes[0]),
        "vectorize: Cannot vectorize on CommReduce axis k",
    ),
    "share a sum": (lambda s: s["c"].parallel(s["c"].reduce_axes[0]), "parallel: Cannot parallel on CommReduce axis k"),
    "no loop of the host": (
        lambda s: s["b"].compute_at(s["d"], s["c"].axes[0]),
        "compute_at: Cannot find the axis i in parent's leaf_iter_vars",
    ),
    "attach an output": (
        lambda s: s["d"].compute_at(s["b"], s["b"].axes[0]),
        "compute_at: an output of the function stays at the root",
    ),
    "attach to itself": (
        lambda s: s["b"].compute_at(s["b"], s["b"].axes[0]),
        "compute_at: Find loop in compute_at attach group",
    ),
    "inline a sum": (lambda s: s["c"].compute_inline(), "compute_inline: a reduction cannot be inlined"),
    "inline an output": (lambda s: s["d"].compute_inline(), "compute_inline: an output of the function"),
    "unknown scope": (lambda s: s["b"].set_scope("texture"), "set_scope: expected a scope among .*, got 'texture'"),
    "a local output": (lambda s: s["d"].set_scope("local"), "set_scope: an output of the function is global"),
    "cache in nowhere": (lambda s: s.cache_write(s["b"], "warp"), "cache_write: expected a scope among .*, got 'warp'"),
    "unknown stage": (lambda s: s["e"], "Cannot find the operation e in schedule of chain"),
    "tile one axis": (
        lambda s: s["d"].tile(s["d"].axes[0], s["d"].axes[0], 2, 2),
        "tile: expected two axes, got i twice",
    ),
    "tile by 0": (
        lambda s: s["d"].tile(s["d"].axes[0], s["d"].axes[1], 2, 0),
        "split: expected a positive factor, got 0",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_no_trace(s: Schedule, case: str):
    act, text = REFUSED[case]
    before, leaves = len(s.primitives), [loops(stage) for stage in s.stages]
    with pytest.raises(ScheduleError, match=text):
        act(s)
    assert (len(s.primitives), [loops(stage) for stage in s.stages]) == (before, leaves)
    assert s.primitive_record == ["vanilla"]


def test_a_fuse_that_fails_at_the_third_axis_leaves_no_trace(s: Schedule):
    stage = s["d"]
    stage.split(stage.axes[1], 4)
    stage.vectorize(stage.leaf[2])
    before, text = loops(stage), printed(s.sequence)
    with pytest.raises(ScheduleError, match="fuse: expected serial axes of one sort"):
        stage.fuse(*stage.leaf)
    assert (loops(stage), printed(s.sequence)) == (before, text)


def test_loops_that_were_changed_cannot_be_split_again(s: Schedule):
    stage = s["d"]
    i, j = stage.axes
    stage.split(i, 4)
    with pytest.raises(ScheduleError, match="Operate on iter var i that has already been split or fused"):
        stage.split(i, 2)
    stage.vectorize(j)
    with pytest.raises(ScheduleError, match="split: Cannot split on Vectorized axis j"):
        stage.split(j, 2)


def test_stages_in_one_another_are_refused(s: Schedule):
    s["b"].compute_at(s["c"], s["c"].axes[0])
    with pytest.raises(ScheduleError, match="compute_at: Find loop in compute_at attach group"):
        s["c"].compute_at(s["b"], s["b"].axes[0])


def test_cache_write_wants_no_stage_inside(s: Schedule):
    s["b"].compute_at(s["c"], s["c"].axes[0])
    with pytest.raises(ScheduleError, match=r"cache_write: expected no stage inside 'c', got b"):
        s.cache_write("c", "local")


def test_two_stages_of_one_label_are_refused(scheduled: Callable[[str], Schedule]):
    with pytest.raises(VerifyException, match=r'expected a label of its own, .* got "c" again'):
        scheduled(CHAIN.replace('te.compute "b"', 'te.compute "c"'))


def test_a_sequence_for_other_axes_is_refused(s: Schedule, gemm: Schedule):
    s["d"].split(s["d"].axes[0], 4)
    sequence = parsed(printed(s.sequence).replace('"d"', '"C"'))
    with pytest.raises(ScheduleError, match="axes: expected 3 axes of stage 'C', got 2"):
        replay(gemm.snapshot(0).func, sequence)
