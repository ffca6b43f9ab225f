"""What differs between two schedules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whence.explorer.schedule.diff import AttributeChange, diff
from whence.te.schedule.schedule import Schedule

Golden = Callable[[str, str], None]


def _signs(a: Schedule, b: Schedule) -> list[str]:
    """The lines of the only stage that differs."""
    (stage,) = diff(a, b).stages
    return [str(change) for change in (*stage.attributes, *stage.loops)]


def test_equal_schedules(gemm: Schedule) -> None:
    found = diff(gemm, gemm.snapshot(7))
    assert not found
    assert found.stages == ()
    assert str(found) == "no difference"


def test_steps_of_gemm(gemm: Schedule, golden: Golden) -> None:
    record = gemm.schedule_record
    steps = [
        f"# {name}\n{diff(before, after)}\n"
        for name, before, after in zip(gemm.primitive_record[1:], record, record[1:], strict=False)
    ]
    golden("gemm_steps.txt", "".join(steps))


def test_a_reorder_moves_one_loop(gemm: Schedule) -> None:
    before, after = gemm.snapshot(2), gemm.snapshot(3)
    lines = _signs(before, after)
    assert sorted(line[0] for line in lines) == [" ", " ", " ", " ", "+", "-"]
    assert "- for n.outer in 32" in lines
    assert "+ for n.outer in 32" in lines


def test_place_scope_and_compute(softmax: Schedule) -> None:
    softmax["exp"].compute_inline()
    cache = softmax.cache_write(softmax["norm"], "local")
    found = diff(softmax.snapshot(0), softmax)
    assert [(stage.label, stage.change) for stage in found.stages] == [
        ("exp", "changed"),
        ("norm.local", "added"),
        ("norm", "changed"),
    ]
    exp, added, norm = found.stages
    assert exp.attributes == (AttributeChange("place", "root", "inlined"),)
    assert {change.sign for change in exp.loops} == {"-"}
    assert AttributeChange("scope", None, "local") in added.attributes
    assert "+ compute: norm[i, j] = norm.local[i, j]" in str(norm)
    assert norm.loops == ()
    (removed,) = [stage for stage in diff(softmax, softmax.snapshot(0)).stages if stage.label == cache.label]
    assert removed.change == "removed"
    assert {change.sign for change in removed.loops} == {"-"}


def test_an_attached_stage_has_the_loops_of_its_place(softmax: Schedule) -> None:
    softmax["expsum"].compute_at(softmax["norm"], softmax["norm"].axes[0])
    assert _signs(softmax.snapshot(0), softmax) == [
        "- place: root\n+ place: @ norm.i",
        "- for i in 8",
        "+ for i in 1",
        "  for k in 100",
    ]


TWINS = """
te.func @twins(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  %a = te.compute "a" (%m in 4, %n in 4) : tensor<4x4xf32> {
    %0 = te.read %x[%m, %n] : tensor<4x4xf32>
    te.yield %0 : f32
  }
  %y = te.compute "y" (%i in 4, %j in 4) : tensor<4x4xf32> {
    %0 = te.read %a[%i, %j] : tensor<4x4xf32>
    te.yield %0 : f32
  }
  te.return %y : tensor<4x4xf32>
}"""


@pytest.fixture
def twins(scheduled: Callable[[str], Schedule]) -> Callable[[], Schedule]:
    """Schedules with a stage `y` whose two axes are both called i."""

    def make() -> Schedule:
        schedule = scheduled(TWINS)
        for axis in schedule["y"].axes:
            axis.name = "i"
        return schedule

    return make


def test_two_axes_of_one_name(twins: Callable[[], Schedule]) -> None:
    first, second = twins(), twins()
    first["y"].unroll(first["y"].axes[0])
    second["y"].unroll(second["y"].axes[1])
    assert _signs(first, second) == ["+ for i in 4", "  for i in 4  # unrolled", "- for i in 4"]


def test_two_places_of_one_name(twins: Callable[[], Schedule]) -> None:
    first, second = twins(), twins()
    first["a"].compute_at(first["y"], first["y"].axes[0])
    second["a"].compute_at(second["y"], second["y"].axes[1])
    assert _signs(first, second)[0] == "- place: @ y.i#0\n+ place: @ y.i#1"


def test_steps_of_every_kernel_differ(kernels: list[Schedule]) -> None:
    """A primitive that changes nothing but a mark on a loop is seen too."""
    for schedule in kernels:
        record = schedule.schedule_record
        for name, before, after in zip(schedule.primitive_record[1:], record, record[1:], strict=False):
            assert diff(before, after) or name in ("reorder", "split", "fuse"), (name, str(before))
