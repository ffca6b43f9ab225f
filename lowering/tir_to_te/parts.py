"""The statements of a kernel, and those that stay loops: a stage of loops written by hand among tensor expressions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects, is_side_effect_free

from ...dialects import te
from ...dialects.sizes.types import tensor_of
from ...dialects.tir import AllocOp, ForOp, LoadOp, PrimFuncOp, buffer_of
from ...passes.tir.analysis.dependence import carried
from ...provenance.builder import LocatedBuilder
from ...provenance.span import value_location
from .nests import NotRaised


class Stays(Exception):
    """The statements, by number, that are no tensor expressions, and why one of them is none."""

    def __init__(self, numbers: Collection[int], reason: NotRaised):
        super().__init__(str(reason))
        self.numbers = frozenset(numbers)
        self.reason = reason


def statements_of(func: PrimFuncOp) -> list[Operation]:
    """Return what a kernel does, one after the other: loops, blocks and stores that stand in no loop."""
    return [op for op in func.block.ops if op.regions or not _is_value(op)]


def tensor_type(buffer: SSAValue) -> Attribute:
    """Return the type of the tensor that a buffer holds."""
    type_ = buffer_of(buffer)
    return tensor_of(type_.element_type, type_.get_shape())


@dataclass(frozen=True)
class Part:
    """Statements that stay loops, and the buffers of outside that they touch, in the order of their accesses."""

    ops: tuple[Operation, ...]
    """The statements, and the values of outside that they use, each before its uses."""
    reads: tuple[SSAValue, ...]
    writes: tuple[SSAValue, ...]

    @staticmethod
    def of(statements: Sequence[Operation]) -> Part:
        """Return the part that statements are. Raises NotRaised where it is not sure what they touch."""
        operands = [value for statement in statements for op in statement.walk() for value in op.operands]
        used = {value.owner for value in behind(operands)}
        block = statements[0].parent_block()
        assert block is not None
        before = [op for op in block.ops if op in used and not op.regions and not _is_global(op)]
        inside = [inner for op in (*before, *statements) for inner in op.walk()]
        for op in before:
            if isinstance(op, LoadOp) and not all(isinstance(use.operation, LoadOp) for use in op.buffer.uses):
                raise NotRaised(op, "an element that is loaded outside of the loops that use it")
            if isinstance(op, AllocOp) and any(use.operation not in inside for use in op.result.uses):
                raise NotRaised(op, "a local buffer of several parts of a kernel")
        reads, writes = dict[SSAValue, None](), dict[SSAValue, None]()
        for op in inside:
            if not op.regions:
                _touch(op, reads, writes)
        own = {result for op in inside for result in op.results}
        return Part(
            (*before, *statements),
            tuple(buffer for buffer in reads if buffer not in own),
            tuple(buffer for buffer in writes if buffer not in own),
        )

    def stage(self, builder: LocatedBuilder, states: Mapping[SSAValue, SSAValue]) -> te.HybridOp:
        """Add the stage of the part. What it reads and does not write has a state, which is an input of the stage."""
        inputs = [buffer for buffer in self.reads if buffer not in self.writes]
        buffers = (*inputs, *self.writes)
        block = Block(arg_types=[buffer.type for buffer in buffers])
        for buffer, argument in zip(buffers, block.args, strict=True):
            argument.name_hint, argument.location = buffer.name_hint, value_location(buffer)
        values = dict[SSAValue, SSAValue](zip(buffers, block.args, strict=True))
        for op in self.ops:
            block.add_op(op.clone(values))
        label = self.writes[0].name_hint or "stage"
        types = [tensor_type(buffer) for buffer in self.writes]
        stage = te.HybridOp.make(label, [states[buffer] for buffer in inputs], types, Region(block))
        if self._is_apart():
            stage.attributes["tag"] = StringAttr(te.ROWS_APART)
        with builder.located(self.ops[-1].location):
            return builder.add(stage)

    def _is_apart(self) -> bool:
        """Return whether all is in one loop, whose iterations may run at once."""
        loop, *others = [op for op in self.ops if op.regions or not _is_value(op)]
        allocates = any(isinstance(inner, AllocOp) for op in self.ops for inner in op.walk())
        return not others and not allocates and isinstance(loop, ForOp) and bool(carried(loop))


def _is_value(op: Operation) -> bool:
    return isinstance(op, LoadOp | AllocOp) or is_side_effect_free(op)


def _is_global(op: Operation) -> bool:
    return isinstance(op, AllocOp) and op.result.type.scope.data == "global"


def behind(values: Iterable[SSAValue]) -> set[SSAValue]:
    """Return values and all that they are computed of."""
    seen, pending = set[SSAValue](), [*values]
    while pending:
        each = pending.pop()
        if each not in seen:
            seen.add(each)
            if isinstance(each.owner, Operation):
                pending += each.owner.operands
    return seen


def _touch(op: Operation, reads: dict[SSAValue, None], writes: dict[SSAValue, None]) -> None:
    """Note the buffers that an op reads and writes."""
    effects = get_effects(op)
    if effects is None:
        raise NotRaised(op, f"{op.name}, which may do anything,")
    for effect in effects:
        if not isinstance(effect.value, SSAValue):
            raise NotRaised(op, f"{op.name}, which does more than read and write buffers,")
        if effect.kind is MemoryEffectKind.READ:
            reads[effect.value] = None
        elif effect.kind is MemoryEffectKind.WRITE:
            writes[effect.value] = None
