"""The buffers of stages: where each is allocated, and how a region of the stage's tensor lies in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, OpResult, SSAValue

from ...dialects import tir
from ...dialects.affine import ZERO, below
from ...dialects.sizes.types import extents_of
from ...dialects.tir.buffer import STACK_LIMIT
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import describe
from ...support.errors import ScheduleError
from ...te.schedule.relations import Interval
from ...te.schedule.stage_state import StageState
from .bodies import BodyLowering
from .storage import Layout, Stored, attributes_of, layout_of


class BufferLowering(BodyLowering):
    """Allocates buffers in the function that it builds."""

    def __init__(self, func: tir.PrimFuncOp):
        super().__init__(LocatedBuilder(func.block, func.location))
        self.func = func
        self.parallel_depth = 0
        """The number of the loops around that run in parallel."""
        self.draft = False
        """True when nothing will run, so that a buffer may be of any size."""

    @staticmethod
    def stored(buffer: SSAValue) -> Stored:
        """Return the storage of a whole tensor in its own order."""
        return Stored(buffer, [ZERO] * len(tir.buffer_of(buffer).shape))

    def results(self, outputs: Sequence[OpResult]) -> list[SSAValue]:
        """The buffers of the results of an operation that is no compute, in the order of the results."""
        for output in outputs:
            if output not in self.storage:
                type_ = cast(TensorType[Attribute], output.type)
                buffer = self.builder.add(tir.AllocOp(tir.BufferType.of(extents_of(type_), type_.element_type))).result
                buffer.name_hint = output.name_hint
                self.storage[output] = self.stored(buffer)
        return [self.storage[output].buffer for output in outputs]

    def allocate(self, stage: StageState, region: Sequence[Interval], rounded: frozenset[int] = frozenset()) -> None:
        """Give the tensors of a stage that are no results of the function their buffers.

        rounded: the dimensions in which the region may end past the tensor.
        """
        for output in stage.compute.outputs:
            if output not in self.storage:
                layout = layout_of(stage, [interval.extent for interval in region])
                buffer = self.buffer(stage, output.type.element_type, layout)
                buffer.name_hint = output.name_hint or (stage.label if SSAValue.is_valid_name(stage.label) else None)
                starts = [interval.start for interval in region]
                self.storage[output] = Stored(buffer, starts, layout, rounded=rounded)

    def buffer(self, stage: StageState, element: Attribute, layout: Layout) -> SSAValue:
        """A global buffer belongs to the function, but inside a parallel loop each pass has one of its own."""
        local = stage.scope == "local"
        on_stack = local or self.parallel_depth > 0
        type_ = tir.BufferType.of(layout.shape, element, "local" if on_stack else "global")
        if on_stack and not self.draft and not below(type_.nbytes, STACK_LIMIT + 1) and type_.is_static:
            self._too_large(stage, type_)
        top = self.func.block
        op = tir.AllocOp(type_)
        op.attributes.update(attributes_of(stage))
        with self.builder.located(stage.compute.location):
            if on_stack or self.builder.block is top:
                self.builder.add(op)
            else:
                op.location = self.builder.location
                first = top.first_op
                assert first is not None
                top.insert_op_before(op, first)
        return op.result

    @staticmethod
    def _too_large(stage: StageState, type_: tir.BufferType) -> NoReturn:
        local = stage.scope == "local"
        primitive, place = (
            ("set_scope", "in a local buffer") if local else ("compute_at", "per pass of a parallel loop")
        )
        where = describe(stage.compute.location)
        raise ScheduleError(
            f"{primitive}: expected at most {STACK_LIMIT} bytes {place}, "
            f"got {type_.nbytes} (stage '{stage.label}'{', ' + where if where else ''})"
        )
