"""Schedules as text: loop trees with places, marks and layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from whence.lowering.te_to_tir.lower import lower_schedule
from whence.te.schedule.schedule import Schedule

Golden: TypeAlias = Callable[[str, str], None]

PLACES = """
te.func @places(%x: tensor<16x32xf32>) -> (tensor<16x32xf32>) {
  %scaled = te.compute "scaled" (%i in 16, %j in 32) : tensor<16x32xf32> {
    %0 = te.read %x[%i, %j] : tensor<16x32xf32>
    %1 = arith.constant 0.5 : f32
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  } loc("scale")
  %total = te.compute "total" (%one in 1, %i in 16, %j in 32) sum(%k in 32) : tensor<1x16x32xf32> {
    %0 = te.read %scaled[%i, %k] : tensor<16x32xf32>
    %1 = te.read %x[%i, %j] : tensor<16x32xf32>
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  } loc(fused["a", "b", "c", "d", "e"])
  %out = te.compute "out" (%i in 16, %j in 32) : tensor<16x32xf32> {
    %c0 = te.index [0]
    %0 = te.read %total[%c0, %i, %j] : tensor<1x16x32xf32>
    %1 = math.tanh %0 : f32
    te.yield %1 : f32
  }
  te.return %out : tensor<16x32xf32>
}"""


def test_gemm(gemm: Schedule, golden: Golden) -> None:
    golden("gemm.txt", str(gemm) + "\n")


def test_places_scopes_marks_and_layers(scheduled: Callable[[str], Schedule], golden: Golden) -> None:
    """A loop of one pass is left out, unless it is marked or computes a stage."""
    schedule = scheduled(PLACES)
    scaled, total, out = schedule.stages
    outer, _ = out.split(out.axes[0], 4)
    out.parallel(outer)
    out.vectorize(out.axes[1])
    scaled.compute_inline()
    total.compute_at(out, outer)
    total.set_scope("local")
    total.unroll(total.axes[1])
    golden("places.txt", str(schedule) + "\n")


def test_a_kernel_at_its_end_and_start(kernels: list[Schedule], golden: Golden) -> None:
    padded = next(schedule for schedule in kernels if len(schedule.stages) == 4)
    golden("convolution.txt", f"{padded}\n\n{padded.snapshot(0)}\n")


def test_a_schedule_that_cannot_be_lowered_is_shown(softmax: Schedule) -> None:
    """With the loops of whole tensors: `exp` is read outside of its place."""
    softmax["exp"].compute_at(softmax["expsum"], softmax["expsum"].axes[0])
    text = str(softmax)
    assert "stage exp      (global)  @ expsum.i" in text
    assert text.count("for i in 8") == 4


def test_lines_are_cut(scheduled: Callable[[str], Schedule]) -> None:
    sums = "\n".join(f"%{n + 1} = arith.addf %{n}, %0 : f32" for n in range(60))
    schedule = scheduled(f"""
      te.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>) {{
        %y = te.compute "y" (%i in 4) : tensor<4xf32> {{
          %0 = te.read %x[%i] : tensor<4xf32>
          {sums}
          te.yield %60 : f32
        }}
        te.return %y : tensor<4xf32>
      }}""")
    last = str(schedule).splitlines()[-1]
    assert len(last) <= 120
    assert last.endswith("...")


def test_a_fuse_of_no_axes_is_a_singleton(softmax: Schedule) -> None:
    norm = softmax["norm"]
    axis = norm.fuse()
    assert [loop.name for loop in norm.leaf] == ["singleton", "i", "j"]
    assert (axis.extent, norm.all_iter_vars[-1]) == (1, axis)
    assert softmax.primitive_record == ["vanilla", "fuse"]
    outer, _ = norm.split(norm.axes[0], 4)
    norm.fuse(axis, outer)
    again = softmax.snapshot(3)["norm"]
    leaves = [(loop.name, loop.extent) for loop in again.leaf]
    assert leaves == [("singleton.i.outer.fused", 2), ("i.inner", 4), ("j", 100)]
    lowered = lower_schedule(softmax)
    lowered.verify()
    assert "%singleton.i.outer.fused in 2" in str(lowered)
