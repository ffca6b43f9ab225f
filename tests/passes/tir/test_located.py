"""After each tir pass: every op located, no layer lost, and a loop that stages share names the layers of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from io import StringIO
from pathlib import Path

import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from whence import te
from whence.dialects.relay.core import FuncOp
from whence.dialects.tir import ForOp, PrimFuncOp
from whence.frontends.onnx import from_onnx
from whence.lowering.kernel.printing import printed
from whence.lowering.kernel.slots import anonymous
from whence.lowering.relay_to_te.lower import lower_function
from whence.lowering.relay_to_te.strategy import schedule_function
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.passes.pipelines import available_passes, relay_pipeline, run_passes
from whence.passes.tir.pipeline import TIR_PIPELINE
from whence.provenance.audit import surviving_leaves
from whence.provenance.span import layer_location, layer_names
from whence.support.machine import Machine
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule

NAMES = sorted(name for name in available_passes() if name.startswith("tir-"))
FIRST, SECOND = "first", "second"


def two_stages(rows: int, columns: int) -> tuple[Tensor, Tensor]:
    a = te.placeholder((rows, columns), "float32", "A")
    b = te.compute((rows, columns), lambda i, j: a[i, j] + 1.0, "B")
    return b, te.compute((rows, columns), lambda i, j: b[i, j] * 2.0, "C")


def shared(columns: int, factor: int, *marks: str) -> Schedule:
    """The second stage with the first inside its outer loop."""
    b, c = two_stages(6, columns)
    schedule = te.create_schedule(c.op)
    schedule[b].compute_at(schedule[c], c.op.axis[0])
    _, inner = schedule[c].split(c.op.axis[1], factor=factor)
    schedule[c].vectorize(inner)
    if "double" in marks:
        schedule[b].double_buffer()
    if "prefetch" in marks:
        schedule[c].prefetch("A", c.op.axis[0], 2)
    if "unroll" in marks:
        schedule[c].pragma(c.op.axis[0], "auto_unroll_max_step", 16)
        schedule[b].unroll(b.op.axis[1])
    if "parallel" in marks:
        schedule[c].parallel(c.op.axis[0])
    if "align" in marks:
        schedule[b].storage_align(b.op.axis[0], 8, 1)
    return schedule


def tiled() -> Schedule:
    """A tile of the first stage inside an uneven tile of the second."""
    b, c = two_stages(13, 17)
    schedule = te.create_schedule(c.op)
    outer, _, _, inner = schedule[c].tile(c.op.axis[0], c.op.axis[1], 4, 8)
    schedule[b].compute_at(schedule[c], outer)
    schedule[c].vectorize(inner)
    return schedule


def padded() -> Schedule:
    a = te.placeholder((5, 18), "float32", "A")
    b = te.compute((5, 20), lambda i, j: te.if_then_else(te.all(j >= 1, j < 19), a[i, j - 1], 0.0), "B")
    c = te.compute((5, 20), lambda i, j: te.exp(b[i, j]) / 3.0, "C")
    schedule = te.create_schedule(c.op)
    schedule[b].compute_at(schedule[c], c.op.axis[0])
    for stage, tensor in ((schedule[b], b), (schedule[c], c)):
        stage.vectorize(tensor.op.axis[1])
    return schedule


SCHEDULES: dict[str, Callable[[], Schedule]] = {
    "even": lambda: shared(32, 8),
    "uneven": lambda: shared(29, 8),
    "double": lambda: shared(32, 8, "double"),
    "prefetch": lambda: shared(32, 8, "prefetch"),
    "unroll": lambda: shared(16, 8, "unroll"),
    "parallel": lambda: shared(32, 8, "parallel"),
    "align": lambda: shared(30, 8, "align"),
    "tiled": tiled,
    "padded": padded,
}
"""Schedules of two stages, of which each is a layer."""


def of_stages(name: str) -> PrimFuncOp:
    """The loops of a schedule whose stages `B` and `C` are the layers `first` and `second`."""
    schedule = SCHEDULES[name]().snapshot()
    for stage in schedule.stages:
        layer = layer_location(FIRST if stage.label == "B" else SECOND, "model.onnx", 0)
        for op in stage.compute.walk():
            op.location = layer
    schedule.func.location = layer_location("function", "model.onnx", 1)
    return lower_schedule(schedule)


@cache
def groups() -> list[FuncOp]:
    """The first dozen distinct groups of light squeezenet, under the names of its layers."""
    module = from_onnx(Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx")
    run_passes(module, relay_pipeline(3))
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.primitive is not None]
    distinct = {printed(anonymous(func)): func for func in functions}
    return list(distinct.values())[:12]


@cache
def corpus() -> list[PrimFuncOp]:
    made = [lower_schedule(schedule_function(lower_function(func), Machine.x86(512))) for func in groups()]
    return [*map(of_stages, SCHEDULES), *made]


def options(name: str) -> ModulePass:
    """A pass that does as much as it can."""
    given = {"tir-unroll": {"explicit": True, "auto_max_step": 8}, "tir-loop-partition": {"const_loops": True}}
    return available_passes()[name]()(**given.get(name, {}))


@pytest.mark.parametrize("name", NAMES)
def test_each_pass_keeps_every_op_located_and_explains_what_went(name: str):
    for func in corpus():
        alone = ModuleOp([func.clone()])
        run_passes(alone, [options(name)], audit=True)
        alone.verify()


def test_all_passes_in_order_do_so():
    for func in corpus():
        module = ModuleOp([func.clone()])
        for name, _ in TIR_PIPELINE:
            run_passes(module, [options(name)], audit=True)
        module.verify()


def loops_around(func: PrimFuncOp, layer: str) -> Iterator[ForOp]:
    """The loops that hold ops of a layer."""
    for loop in func.walk():
        if isinstance(loop, ForOp):
            inner = (op for op in loop.walk() if not isinstance(op, ForOp) and op is not loop)
            if any(layer in layer_names(op.location) for op in inner):
                yield loop


def check_shared(func: PrimFuncOp, what: str) -> int:
    """How many loops hold ops of both stages; each of them must name both."""
    both = [loop for loop in loops_around(func, FIRST) if loop in set(loops_around(func, SECOND))]
    for loop in both:
        assert {FIRST, SECOND} <= set(layer_names(loop.location)), (what, str(loop.location), str(func))
    return len(both)


@pytest.mark.parametrize("name", SCHEDULES)
def test_loops_of_two_stages_name_both_after_each_pass(name: str):
    func = of_stages(name)
    module = ModuleOp([func])
    found = check_shared(func, "lowered")
    assert found
    for step, _ in TIR_PIPELINE:
        run_passes(module, [available_passes()[step]()()], audit=True)
        found = check_shared(func, step)
        assert found, step
        assert {FIRST, SECOND} <= {leaf for location in surviving_leaves(module) for leaf in layer_names(location)}
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(func)
    closing = [line.strip() for line in stream.getvalue().splitlines() if line.strip().startswith("} loc(")]
    assert sum(f'"{FIRST}"' in line and f'"{SECOND}"' in line for line in closing) >= found
