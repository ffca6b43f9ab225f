"""Effects of the ops of tir on memory, as xDSL's passes ask for them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure, Resource

from .buffer import BufferType

# All other ops of arith say so in xDSL 0.74.
for _type in (arith.ExtSIOp, arith.RemUIOp):
    _type.traits.add_trait(Pure())


@dataclass(frozen=True)
class Beside(Resource):
    """Resources that are no memory of a buffer: the cache, and whether the kernel goes on."""

    def name(self) -> str:
        return "<Beside>"


def _memory(op: Operation) -> SSAValue:
    """The buffer that an access touches, behind its views."""
    buffer = next(operand for operand in op.operands if isinstance(operand.type, BufferType))
    while isinstance(view := buffer.owner, Operation) and view.name == "tir.decl_buffer":
        buffer = view.operands[0]
    return buffer


class ReadsBuffer(MemoryEffect):
    """The op reads the buffer that it names."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.READ, _memory(op))}


class WritesBuffer(MemoryEffect):
    """The op writes the buffer that it names."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE, _memory(op))}


class AllocatesBuffer(MemoryEffect):
    """The op makes the buffer that is its result."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0])}


class ReadsAndWritesAll(MemoryEffect):
    """The op may do anything to any memory."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)}


class ActsBesideMemory(MemoryEffect):
    """The op has to stay where it is, but changes no buffer."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE, resource=Beside())}
