"""te + schedule -> tir: loop nests over buffers.

Before: a te.func and its schedule. After: one tir.prim_func over the function's arguments, then its results.
A stage's ops, its store and its loops are located at the stage; a loop that several stages share at all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ...dialects import te, tir
from ...dialects.affine import ZERO
from ...dialects.sizes.types import extents_of
from ...provenance.span import fuse, value_location
from ...te.schedule.bounds import infer_bounds
from ...te.schedule.normalize import normalize
from ...te.schedule.schedule import Schedule
from ...te.schedule.stage_state import Storage
from ...te.schedule.tensor_intrin import TensorIntrin
from .nests import NestLowering
from .parts import lower_part
from .scans import scan_bodies, steps
from .storage import Stored, layout_of
from .stores import Part
from .whole import copy_rows, emit_extern, emit_hybrid


def lower_schedule(
    schedule: Schedule,
    part: Part = "all",
    *,
    results: Sequence[SSAValue] | None = None,
    draft: bool = False,
    own_layouts: bool = False,
    blocks: bool = False,
) -> tir.PrimFuncOp:
    """The prim_func of a schedule, with the te.func's name. The schedule's function is consumed.

    part: of the reductions that are results, only their start (`init`), or only their terms (`update`).
    results: the tensors that the function writes for its caller, in order, by default those that it returns. One of a
    stage that is computed in a loop has the elements that its readers need.
    draft: to be looked at, not run: local buffers may be larger than a thread's stack.
    blocks: each stage is a block over its axes; of stages as they are without a schedule.
    own_layouts: arguments and results may have the layouts of `transform_layout`, which the caller knows of.

    Raises ScheduleError when the schedule cannot be carried out.
    """
    normalize(schedule)
    if not own_layouts:
        _check_row_major(schedule)
    outputs = list(schedule.func.return_op.values if results is None else results)
    lowering = _Lowering(schedule, part, outputs, blocks=blocks)
    lowering.draft = draft
    return lowering.run()


def _check_row_major(schedule: Schedule) -> None:
    """Fail for arguments and results in other layouts than those that whoever calls the function relies on."""
    results = {schedule[value] for value in schedule.func.return_op.values}
    for stage in [*schedule.placeholders.values(), *results]:
        if stage.storage.layout is not None:
            stage.fail("transform_layout", "expected an argument or a result in the order of its axes for its callers")


def _lower_intrin(intrin: TensorIntrin, part: Part) -> tir.PrimFuncOp:
    return lower_part(intrin, part, lower_schedule)


class _Lowering(NestLowering):
    def __init__(self, schedule: Schedule, part: Part, outputs: Sequence[SSAValue], *, blocks: bool = False):
        source = schedule.func
        values = [*source.block.args, *outputs]
        types = [cast(TensorType[Attribute], value.type) for value in values]
        layouts = [layout_of(schedule[value], extents_of(type_)) for value, type_ in zip(values, types, strict=True)]
        buffers = [
            tir.BufferType.of(layout.shape, type_.element_type) for layout, type_ in zip(layouts, types, strict=True)
        ]
        func = tir.PrimFuncOp(source.sym_name.data, buffers, len(outputs), source.size_names)
        func.location = source.location
        returned = set(source.return_op.values)
        self.scans = scan_bodies(source)
        super().__init__(func, _lower_intrin, schedule, infer_bounds(schedule), part, blocks=blocks)
        for argument, value, layout in zip(func.block.args, values, layouts, strict=True):
            argument.name_hint = "out" if value in returned and not blocks else value.name_hint
            argument.location = value_location(value)
            rank = len(cast(TensorType[Attribute], value.type).shape)
            self.storage[value] = Stored(argument, [ZERO] * rank, layout)
        self.exposed = {
            stage for stage in schedule.stages if any(v in outputs and v not in returned for v in stage.outputs)
        }
        for stage in self.exposed:
            if stage.scope != "global" or stage.storage != Storage():
                stage.fail("lower", "expected a global tensor in its own layout among the arguments")

    def run(self) -> tir.PrimFuncOp:
        """The function, with its body."""
        stage_of = {stage.compute: stage for stage in self.schedule.computes}
        for op in list(self.schedule.func.block.ops):
            match op:
                case te.ComputeOp() if op not in self.scans:
                    if (stage := stage_of[op]).attach is None:
                        self.place(stage)
                case te.ScanOp():
                    self._scan(op)
                case te.ExternOp() | te.HybridOp():
                    with self.builder.located(op.location):
                        buffers = [*(self.storage[value].buffer for value in op.inputs), *self.results(op.outputs)]
                        if isinstance(op, te.ExternOp):
                            emit_extern(self.builder, op, buffers)
                        else:
                            emit_hybrid(self.builder, op, buffers)
                case _:
                    pass
        return self.func

    def _scan(self, scan: te.ScanOp) -> None:
        """The first rows, then a serial loop over time; states, updates and results are one buffer each."""
        stages = [stage for stage in self.schedule.computes if self.scans.get(stage.compute) is scan]
        with self.builder.located(scan.location):
            buffers = self.results(scan.outputs)
            for init, buffer in zip(scan.inits, buffers, strict=True):
                copy_rows(self.builder, self.storage[init].buffer, buffer)
        for buffer, state, update in zip(buffers, scan.states, scan.updates, strict=True):
            self.storage[state] = self.storage[update] = self.stored(buffer)
        location = fuse([scan.location, *(stage.location for stage in stages)])
        with self.builder.located(location), steps(self, self.schedule[scan], scan):
            for stage in stages:
                if stage.attach is None:
                    self.place(stage)
