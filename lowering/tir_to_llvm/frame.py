"""The state of an LLVM function under construction."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import llvm
from xdsl.ir import Block, Operation, SSAValue


@dataclass(frozen=True)
class Place:
    """A buffer in LLVM: its address, and what is known of it."""

    pointer: SSAValue
    aligned: bool = False
    """True when the address is a multiple of 64."""
    readonly: bool = False


@dataclass
class Scope:
    """A loop that is open (or the function itself): where what depends on no inner loop is computed, once."""

    block: Block
    known: dict[object, SSAValue] = field(default_factory=lambda: dict[object, SSAValue]())


@dataclass
class Frame:
    """An LLVM function under construction: its open loops, and what the values of tir are in it."""

    function: llvm.FuncOp
    scopes: list[Scope]
    values: dict[SSAValue, SSAValue] = field(default_factory=lambda: dict[SSAValue, SSAValue]())
    places: dict[SSAValue, Place] = field(default_factory=lambda: dict[SSAValue, Place]())
    depths: dict[SSAValue, int] = field(default_factory=lambda: dict[SSAValue, int]())
    """The scope in which a loop variable is constant."""
    sizes: tuple[SSAValue, ...] = ()
    """The sizes of the kernel."""
    heap: list[SSAValue] = field(default_factory=lambda: list[SSAValue]())
    """Memory of open sizes that the function took, and gives back at its end."""
    tiles: Operation | None = None
    """The configuration of tiles that was emitted last; the end of the function releases them."""
    constants: dict[object, SSAValue] = field(default_factory=lambda: dict[object, SSAValue]())

    @property
    def entry(self) -> Block:
        return self.scopes[0].block
