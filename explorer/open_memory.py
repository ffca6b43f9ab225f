"""The use of memory by a program for all sizes: formulas, and numbers for chosen sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ..dialects.sizes import Size, evaluate, product, size_max
from ..dialects.sizes.text import parse_size
from ..planning.artifact import Artifact
from ..planning.graph import graph_plan
from ..planning.lifetimes import Plan
from ..planning.placing import SYMBOLIC
from ..planning.size_values import GROUP
from ..runtime.program.sizes import SizedSpec, Sizes, Value, check_symbols
from ..runtime.values.tensors import ALIGNMENT, TensorSpec
from ..support.errors import PipelineError, expectation
from .memory import MemoryReport, memory_report
from .report import some, table


@dataclass(frozen=True)
class OpenBlock:
    """A part of the arena, which tensors and workspaces use one after the other."""

    id: int
    """Its storage id: blocks follow one another in the arena."""
    bytes: str
    """The greatest of what lies in it; rounded up to 64."""
    lives: tuple[tuple[str, str], ...]
    """Its contents, in turn: node and bytes."""


@dataclass(frozen=True)
class OpenMemoryReport:
    """Bytes that a program for all sizes takes, as formulas of its symbols."""

    symbols: tuple[str, ...]
    bounds: tuple[str, ...]
    """`1 <= seq <= 512`, of each symbol."""
    blocks: tuple[OpenBlock, ...]
    io: str
    """The bytes of inputs and outputs."""
    constant_bytes: int
    arena_bytes: int
    """The bytes for the largest sizes; 0 if a symbol has no bound."""
    at: Mapping[str, int] | None
    """The sizes that `numbers` are for."""
    numbers: MemoryReport | None

    def __str__(self) -> str:
        fixed = f", {self.arena_bytes} bytes for the largest sizes" if self.arena_bytes else ", grown when needed"
        rows = [
            ("arena", f"the sum of its blocks, each rounded up to {ALIGNMENT}; one per concurrent run{fixed}"),
            ("inputs, outputs", self.io),
            ("parameters", str(self.constant_bytes)),
        ]
        lines = [(str(block.id), block.bytes, some([node for node, _ in block.lives], 3)) for block in self.blocks]
        parts = [
            f"for every {', '.join(self.bounds)}",
            table(rows, ("", "bytes"), indent=""),
            table(lines, ("storage", "bytes", "nodes"), indent=""),
        ]
        if self.numbers is not None and self.at is not None:
            named = ", ".join(f"{name} = {value}" for name, value in self.at.items())
            parts.append(f"for {named}\n{self.numbers}")
        return "\n\n".join(parts)


def open_memory_report(artifact: Artifact, at: Mapping[str, int] | None = None) -> OpenMemoryReport:
    """Return what the memory of a program for all sizes is for.

    It is with numbers for the sizes `at`; where nobody says any, for the largest ones, if all have bounds.
    """
    sizes = _sizes_of(artifact)
    if at is None and all(high is not None for _, high in sizes.ranges):
        at = {name: cast(int, high) for name, (_, high) in zip(sizes.symbols, sizes.ranges, strict=True)}
    program = artifact.program
    return OpenMemoryReport(
        symbols=sizes.symbols,
        bounds=tuple(_bound(name, *span) for name, span in zip(sizes.symbols, sizes.ranges, strict=True)),
        blocks=_blocks(artifact),
        io=str(sum((_bytes(spec) for spec in (*program.inputs, *program.outputs)), 0)),
        constant_bytes=sum(array.nbytes for array in artifact.params),
        arena_bytes=program.arena_bytes,
        at=at,
        numbers=memory_at(artifact, at) if at is not None else None,
    )


def memory_at(artifact: Artifact, at: Mapping[str, int]) -> MemoryReport:
    """Return what the memory of a program for all sizes is for when it runs with these sizes.

    Raises PipelineError unless each symbol has a number within its bounds.
    """
    closed = at_sizes(artifact, at)
    report = memory_report(closed)
    return replace(report, info=replace(report.info, peak_bytes=max(report.live_bytes, default=0)))


def at_sizes(artifact: Artifact, at: Mapping[str, int]) -> Artifact:
    """The same program with numbers for shapes and places in the arena, to be looked at; errors as `memory_at`."""
    sizes = _sizes_of(artifact)
    _check(sizes, at)
    values = [at[name] for name in sizes.symbols]
    values += [0 if value.text == GROUP else evaluate(parse_size(value.text), at) for value in sizes.derived]
    end = 0
    for start, members in _groups(artifact).items():
        values[start.place] = end
        most = max(evaluate(size, at) for _, size in members)
        end += -(-most // ALIGNMENT) * ALIGNMENT
    values[sizes.arena] = end
    program = artifact.program.at(values)
    calls = tuple(replace(call, run=run) for call, run in zip(artifact.calls, program.calls, strict=True))
    return replace(artifact, program=program, calls=calls, plan=Plan({}, (-1,) * len(calls), end, 0, SYMBOLIC, ()))


def _sizes_of(artifact: Artifact) -> Sizes:
    sizes = artifact.program.sizes
    if sizes is None:
        raise PipelineError(expectation("sizes", "a program for all sizes", "one of fixed shapes"))
    return sizes


def _check(sizes: Sizes, at: Mapping[str, int]) -> None:
    check_symbols("sizes", sizes.symbols, at)
    for name, (low, high) in zip(sizes.symbols, sizes.ranges, strict=True):
        if at[name] < low or (high is not None and at[name] > high):
            raise PipelineError(expectation("sizes", _bound(name, low, high), f"{name} = {at[name]}"))


def _bound(name: str, low: int, high: int | None) -> str:
    return f"{f'{low} <= ' if low else ''}{name}{'' if high is None else f' <= {high}'}"


def _extents(spec: TensorSpec) -> Sequence[Size]:
    return [parse_size(text) for text in spec.texts] if isinstance(spec, SizedSpec) else spec.shape


def _bytes(spec: TensorSpec) -> Size:
    return product(_extents(spec)) * np.dtype(spec.dtype).itemsize


def _groups(artifact: Artifact) -> dict[Value, list[tuple[str, Size]]]:
    """Return the contents of each place of the arena, by the value at which it begins, in order of place."""
    nodes = {call: node for node, call in graph_plan(artifact).calls.items()}
    contents: dict[Value, list[tuple[str, Size]]] = {}
    for number, call in enumerate(artifact.calls):
        for slot, spec in zip(call.run.outputs, call.run.results, strict=True):
            if isinstance(slot.at, Value):
                contents.setdefault(slot.at, []).append((nodes[number], _bytes(spec)))
        if call.run.workspace is not None and isinstance(start := call.run.workspace.at, Value):
            scratch = artifact.kernels[call.kernel].workspace
            contents.setdefault(start, []).append((f"{nodes[number]} (workspace)", scratch))
    return {start: contents[start] for start in sorted(contents)}


def _blocks(artifact: Artifact) -> tuple[OpenBlock, ...]:
    return tuple(
        OpenBlock(
            number,
            str(size_max(*(size for _, size in members))),
            tuple((node, str(size)) for node, size in members),
        )
        for number, members in enumerate(_groups(artifact).values())
    )
