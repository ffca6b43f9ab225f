"""The parts of exported models as the heads of their packages have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..program.program import Program


@dataclass(frozen=True)
class Compiled:
    """A program and, as LLVM names it, the machine that its code is for."""

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
    """A model that was exported, without its graph, its parameters and where it came from."""

    name: str
    """The module's, as `relay.build` got it."""
    vector_bits: int
    """Of the vectors that the code is made of."""
    functions: dict[str, GraphKernel]
    entry: tuple[int, ...] | None
    """Of a function: where among the arguments of a call each of the program's is; None of other models."""
