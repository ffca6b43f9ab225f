"""The record of a kernel: its code, and where each part of it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...runtime.program.program import TILES_ALLOWED
from ..llvm_to_native.compile import Native

Rows: TypeAlias = "tuple[tuple[int, int], ...]"
"""Per slot the operations and bytes that its op is worth."""


def source_name(symbol: str) -> str:
    """The name of the file that the debug info of a kernel speaks of."""
    return f"{symbol}.tir"


@dataclass(frozen=True)
class Draft:
    """A kernel before LLVM saw it: all that Python does; `finish` adds the machine code."""

    symbol: str
    workspace: int
    """Bytes of scratch memory that a call needs."""
    tir: str
    """The printed TIR, the source file of the debug info."""
    lines: tuple[tuple[int, ...], ...]
    """Per line of `tir` (line 1 first) the slots behind it."""
    places: tuple[tuple[int, tuple[str, ...]], ...]
    """A line of `tir`, and where an operator of the user's has it from, if it is a kernel with places of its own."""
    te: str
    """The printed tensor expressions."""
    schedule: str
    """The printed schedule."""
    decisions: dict[str, int]
    """The numbers of its knobs that are not the defaults."""
    llvm: str
    """The LLVM IR before optimisation."""
    ops: dict[str, int]
    """Ops per level te, tir and llvm."""
    located: dict[str, int]
    """The number of those that have a slot."""
    work: Rows
    """Per slot the operations and bytes that its op is worth (see work.py)."""
    growth: Rows
    """Per slot what is added to these for each unit of its size; empty unless it serves a family (see families.py)."""
    typical: int
    """The size that `work` is of, of a family's kernel."""
    sites: tuple[tuple[str, tuple[int, ...]], ...]
    """The accesses tested at run time (see tir-instrument-bound-checkers): buffer and slots by number."""
    sizes: int
    """The number of sizes that it takes, as integers of 64 bits behind its buffers."""
    refusal: str
    """Why no strategy could schedule it, so that it has the plain schedule; empty where one could."""

    @property
    def tiles(self) -> bool:
        """Return whether its code multiplies tiles, and has nothing else where it may not."""
        return "tir.tile_config" in self.tir and TILES_ALLOWED not in self.tir

    def finish(self, native: Native) -> Kernel:
        return Kernel(**vars(self), object=native.object, assembly=native.assembly)


@dataclass(frozen=True)
class Kernel(Draft):
    """Machine code of a primitive function and where each part of it came from."""

    object: bytes
    """ELF object defining `void @symbol(ptr inputs.., ptr outputs.., i64 sizes.., ptr workspace, ptr pool)`."""
    assembly: str
    """The machine code as text, with `.loc` directives that name lines of `tir`."""
