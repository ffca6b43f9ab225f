"""The ranges of loops: those that lowering gives them, without lowering."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whence.dialects.sizes import Size
from whence.dialects.tir import ForOp
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.support.errors import ScheduleError
from whence.te.schedule.bounds import attach_axis, infer_ranges
from whence.te.schedule.schedule import Schedule

WINDOWS = """
te.func @windows(%x: tensor<40xf32>) -> (tensor<15xf32>) {
  %a = te.compute "a" (%i in 40) : tensor<40xf32> {
    %0 = te.read %x[%i] : tensor<40xf32>
    %1 = arith.addf %0, %0 : f32
    te.yield %1 : f32
  }
  %half = te.compute "half" (%i in 39) : tensor<39xf32> {
    %0 = te.read %a[%i + 1] : tensor<40xf32>
    te.yield %0 : f32
  }
  %b = te.compute "b" (%i in 17) sum(%l in 5) : tensor<17xf32> {
    %0 = te.read %half[%i * 2 + %l] : tensor<39xf32>
    te.yield %0 : f32
  }
  %c = te.compute "c" (%i in 15) sum(%k in 3) : tensor<15xf32> {
    %0 = te.read %b[%i + %k] : tensor<17xf32>
    te.yield %0 : f32
  }
  te.return %c : tensor<15xf32>
}"""


def _loops(schedule: Schedule) -> tuple[set[tuple[str, Size]], set[tuple[str, Size]]]:
    """(Name, extent) of the loops as inferred, and of those that lowering makes."""
    ranges = infer_ranges(schedule)
    stages = [stage for stage in schedule.stages if not stage.inlined]
    inferred = {(axis.name, ranges[axis].extent) for stage in stages for axis in stage.leaf if ranges[axis].extent != 1}
    loops = [op for op in lower_schedule(schedule).walk() if isinstance(op, ForOp)]
    return inferred, {(loop.var.name_hint or "", loop.trip_count) for loop in loops}


def test_windows_of_readers_nested_strided_and_inlined(scheduled: Callable[[str], Schedule]) -> None:
    schedule = scheduled(WINDOWS)
    outer, inner = schedule["c"].split(schedule["c"].axes[0], 5)
    schedule["half"].compute_inline()
    schedule["b"].compute_at(schedule["c"], outer)
    schedule["a"].compute_at(schedule["c"], outer)
    ranges = infer_ranges(schedule)
    # 5 of c read 5 + 2 of b, those 6 * 2 + 5 of half, which is a from 1 on.
    assert str(ranges[schedule["b"].axes[0]]) == "range(min=i.outer * 5, ext=7)"
    assert str(ranges[schedule["a"].axes[0]]) == "range(min=i.outer * 10 + 1, ext=17)"
    assert str(ranges[inner]) == "range(min=0, ext=5)"
    assert schedule["half"].axes[0] not in ranges
    inferred, lowered = _loops(schedule)
    assert inferred == lowered


def test_attached_to_an_attached_stage(scheduled: Callable[[str], Schedule]) -> None:
    schedule = scheduled(WINDOWS)
    a, half, b, c = schedule.stages
    b.compute_at(c, c.axes[0])
    half.compute_at(b, b.axes[0])
    a.compute_at(c, c.axes[0])
    ranges = infer_ranges(schedule)
    assert str(ranges[b.axes[0]]) == "range(min=i, ext=3)"
    assert str(ranges[half.axes[0]]) == "range(min=i * 2 + i * 2, ext=5)"
    assert str(ranges[a.axes[0]]) == "range(min=i * 2 + 1, ext=9)"
    inferred, lowered = _loops(schedule)
    assert inferred == lowered


def test_uneven_splits(softmax: Schedule) -> None:
    norm = softmax["norm"]
    outer, _ = norm.split(norm.axes[0], 3)
    for name in ("expsum", "exp", "maxelem"):
        softmax[name].compute_at(norm, outer)
    softmax["exp"].split(softmax["exp"].axes[1], 7)
    inferred, lowered = _loops(softmax)
    assert inferred == lowered
    assert {("i", 3), ("j.outer", 15), ("i.outer", 3)} <= inferred


def test_a_second_result_that_is_read(argmax: Schedule) -> None:
    """`index` reads the first result outside of the loops of `value`."""
    stage, _, value = argmax.stages
    stage.compute_at(value, value.axes[0])
    with pytest.raises(ScheduleError, match="but read outside by 'index'"):
        infer_ranges(argmax)


def test_every_kernel_of_a_network(kernels: list[Schedule]) -> None:
    for schedule in kernels:
        inferred, lowered = _loops(schedule.snapshot(len(schedule.primitives)))
        assert inferred == lowered, str(schedule)


def test_a_stage_that_is_read_outside(softmax: Schedule) -> None:
    softmax["exp"].compute_at(softmax["expsum"], softmax["expsum"].axes[0])
    with pytest.raises(ScheduleError, match="'exp' is computed inside 'expsum', but read outside by 'norm'"):
        infer_ranges(softmax)


def test_a_host_without_loops(softmax: Schedule) -> None:
    exp = softmax["exp"]
    softmax["maxelem"].compute_at(exp, exp.axes[0])
    exp.compute_inline()
    with pytest.raises(ScheduleError, match="'maxelem' is computed inside 'exp', which is inlined"):
        infer_ranges(softmax)


def test_the_attached_loop_is_followed_through_splits_and_fuses(softmax: Schedule) -> None:
    norm, exp = softmax["norm"], softmax["exp"]
    exp.compute_at(norm, norm.axes[0])
    outer, inner = norm.split(norm.axes[0], 4)
    assert exp.attach is not None
    assert attach_axis(exp.attach) is inner
    fused = norm.fuse(outer, inner)
    assert attach_axis(exp.attach) is fused
