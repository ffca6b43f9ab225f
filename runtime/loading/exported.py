"""The data in the head of an exported model's package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..program.program import Program


@dataclass(frozen=True)
class Compiled:
    """A program, and the machine that its code is for, in LLVM's terms."""

    triple: str
    cpu: str
    features: str
    program: Program


class GraphKernel(NamedTuple):
    """A function that nodes of a graph name: its symbol, and the bytes of scratch that a call needs."""

    symbol: str
    workspace: int


@dataclass(frozen=True)
class Exported(Compiled):
    """An exported model, without its graph, its parameters and its origins."""

    name: str
    """The name of the module that `relay.build` got."""
    vector_bits: int
    """The bits of the vectors in the code."""
    functions: dict[str, GraphKernel]
    entry: tuple[int, ...] | None
    """For a function, the position in a call of each argument of the program; None for other models."""
