"""The part of a tile that an intrinsic computes, as a kernel that `tiles.inline_kernel` puts in the tile's place."""

from __future__ import annotations

from collections.abc import Callable, Collection

from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...provenance.builder import LocatedBuilder
from ...support.errors import ScheduleError
from ...te.schedule.schedule import Schedule, replay
from ...te.schedule.tensor_intrin import Program, TensorIntrin
from .stores import Part
from .whole import copy_rows

_STACK_LIMIT = 1 << 18
"""A tile that a function is called with lies on the stack; this many bytes at most."""

Lower = Callable[[Schedule, Part], tir.PrimFuncOp]


def lower_part(intrin: TensorIntrin, part: Part, lower: Lower) -> tir.PrimFuncOp:
    """Lower a part of an intrinsic: the whole, the start of its reduction, or only its terms."""
    own = {"all": None, "init": intrin.reset, "update": intrin.update}[part]
    if own is None and intrin.update is not None and part == "init":
        return lower(Schedule(intrin.pattern.clone()), "init")
    if own is None:
        assert intrin.body is not None
        func = lower(_scheduled(intrin.body), part)
    else:
        func = lower(_scheduled(own), "all")
    return func


def _scheduled(program: Program) -> Schedule:
    return replay(program.func.clone(), program.sequence, None, program.intrinsics)


def copy_arguments(func: tir.PrimFuncOp, packed: Collection[SSAValue], name: str, *, keeps: bool) -> None:
    """Let functions be called with copies of the kernel's arguments but those that are `packed` where they are.

    name: the intrinsic's. keeps: an output is filled from what there is; so it is where a call may write only a part.
    Raises ScheduleError for a copy that is too large.
    """
    arguments = [argument for argument in func.block.args if argument not in packed]
    outputs = func.block.args[-func.outputs.value.data :]
    writers = [op for op in func.walk() if isinstance(op, tir.CallExternOp | tir.ForOp | tir.StoreOp)]
    calls = [op for op in writers if isinstance(op, tir.CallExternOp)]
    keeps = keeps or len(writers) > 1 or any(call.offset_of for call in calls)
    for call in calls:
        block, after = call.parent, call.next_op
        assert block is not None
        rest: list[Operation] = []
        while after is not None:
            following = after.next_op
            after.detach()
            rest.append(after)
            after = following
        call.detach()
        builder = LocatedBuilder(block, call.location)
        copies: dict[SSAValue, SSAValue] = {}
        for i, value in enumerate(call.arguments):
            if value not in arguments:
                continue
            if value not in copies:
                copies[value] = _alloc(builder, value, name)
                if keeps or value not in outputs:
                    copy_rows(builder, value, copies[value])
            call.operands[i] = copies[value]
        block.add_op(call)
        for value, copy in copies.items():
            if value in outputs:
                copy_rows(builder, copy, value)
        block.add_ops(rest)


def _alloc(builder: LocatedBuilder, argument: SSAValue, name: str) -> SSAValue:
    type_ = tir.buffer_of(argument)
    if type_.nbytes > _STACK_LIMIT:
        raise ScheduleError(
            f"tensorize: expected tiles of at most {_STACK_LIMIT} bytes for a call, got {type_.nbytes} "
            f"(intrinsic '{name}')"
        )
    buffer = builder.add(tir.AllocOp(tir.BufferType.of(type_.get_shape(), type_.element_type, "local"))).result
    buffer.name_hint = argument.name_hint
    return buffer
