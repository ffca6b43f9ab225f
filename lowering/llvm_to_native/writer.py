"""The interface that writes instructions, and floats of 16 bits as f32 around an instruction."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from xdsl.dialects.builtin import BFloat16Type, Float16Type, VectorType, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from .floats import Lanes, element, from_f32, is_half, to_f32
from .text import type_text


class Writer(Protocol):
    """The context in which an instruction is written: the names of values, and the place where it goes."""

    names: dict[SSAValue, str]
    exact: bool
    """True when conversions are written out where LLVM would call a library or round twice."""

    def soft(self, kind: type[Attribute]) -> bool:
        """Return whether a float of 16 bits is spelled as i16."""
        ...

    def type(self, value: SSAValue) -> str:
        """The spelling of a value's type."""
        ...

    def put(self, text: str) -> None:
        """Add an instruction of the current op."""
        ...

    def fresh(self) -> str:
        """A new value name, for an op that takes several instructions."""
        ...

    def label(self, block: Block) -> str: ...

    def declare(self, name: str, result: str, parameters: Sequence[str]) -> None:
        """Make sure that the intrinsic is declared."""
        ...

    def loop(self, unroll: str | int) -> str:
        """A loop hint, as what a branch ends with."""
        ...


Spelling: TypeAlias = Callable[[Writer, Operation], None]


class _Wide:
    """The writer of an instruction whose soft operands and results are f32."""

    def __init__(self, writer: Writer, op: Operation):
        self._writer = writer
        self.exact = writer.exact
        self.put, self.fresh = writer.put, writer.fresh
        self.label, self.declare, self.loop = writer.label, writer.declare, writer.loop
        self.names = {value: writer.names[value] for value in (*op.operands, *op.results)}

    def soft(self, kind: type[Attribute]) -> bool:
        return self._writer.soft(kind)

    def type(self, value: SSAValue) -> str:
        if not _is_soft(self._writer, value):
            return self._writer.type(value)
        wide: Attribute = f32
        if isinstance(type_ := value.type, VectorType):
            wide = VectorType(f32, type_.get_shape())
        return type_text(wide)


def _is_soft(w: Writer, value: SSAValue) -> bool:
    return is_half(value.type) and w.soft(type(element(value.type)))


def widened(spell: Spelling) -> Spelling:
    """The instruction on f32 where its operands or results are soft, rounded once."""

    def spell_wide(w: Writer, op: Operation) -> None:
        if not any(_is_soft(w, value) for value in (*op.operands, *op.results)):
            spell(w, op)
            return
        wide = _Wide(w, op)
        for value in dict.fromkeys(op.operands):
            if _is_soft(w, value):
                lanes = Lanes.like(w, value.type)
                to_f32(lanes, w.names[value], element(value.type))
                wide.names[value] = w.fresh()
                lanes.finish(wide.names[value])
        narrowed = [result for result in op.results if _is_soft(w, result)]
        for result in narrowed:
            wide.names[result] = w.fresh()
        spell(wide, op)
        for result in narrowed:
            lanes = Lanes.like(w, result.type)
            from_f32(lanes, wide.names[result], element(result.type))
            lanes.finish(w.names[result])

    return spell_wide


_HALF = re.compile(r"(?<=[.v\d])(b?f16)(?=\.|$)")


def with_elements(w: Writer, intrinsic: str, instead: str) -> str:
    """The name of an intrinsic with another type in place of the soft ones."""
    return _HALF.sub(lambda match: instead if w.soft(_KINDS[match[1]]) else match[1], intrinsic)


_KINDS: dict[str, type[Attribute]] = {"f16": Float16Type, "bf16": BFloat16Type}
