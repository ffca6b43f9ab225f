"""The fate of every layer, level by level: `where` for all of them, a row each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..planning.artifact import Artifact
from .events import told
from .layers import Layer
from .report import percent, some, table
from .times import Times
from .where import Where, where_all

_UNITS = "relay: operators; te: stages; tir: lines; llvm, native: instructions, those of a shared line for each layer"


@dataclass
class Row:
    """The fate of a layer."""

    layer: Layer
    relay: int = 0
    """Operators."""
    te: int = 0
    """Stages."""
    tir: int = 0
    """Lines."""
    llvm: int = 0
    """Instructions of those lines before LLVM optimised them."""
    native: int = 0
    """Machine instructions of those lines."""
    calls: list[str] = field(default_factory=lambda: list[str]())
    constants: list[str] = field(default_factory=lambda: list[str]())
    """The calls that read constants of it."""
    fate: str = ""
    """The pass that took it away, if nothing is left of it."""
    seconds: float = 0.0

    @property
    def went(self) -> str:
        """Where it is now."""
        if self.calls:
            return some(self.calls, 2)
        if self.constants:
            return f"constants of {some(self.constants, 2)}"
        return self.fate or "nowhere"


@dataclass(frozen=True)
class Overview:
    """The answer to `where --all`: a row per layer, in the order of the source."""

    rows: tuple[Row, ...]
    total: float | None
    """Seconds of all kernels, if they were measured."""

    def __str__(self) -> str:
        header = ["layer", "type", "relay", "te", "tir", "llvm", "native", "went into"]
        rows = [
            [row.layer.name, row.layer.type, row.relay, row.te, row.tir, row.llvm, row.native, row.went]
            for row in self.rows
        ]
        notes = [_UNITS]
        if self.total is not None:
            header[7:7] = ["ms", "share"]
            for cells, row in zip(rows, self.rows, strict=True):
                cells[7:7] = [f"{1e3 * row.seconds:.3f}", percent(row.seconds / self.total)]
            notes.append(
                "a kernel's time is measured, CPU time of all threads, that of each layer in it estimated from work"
            )
        return "\n".join([table(rows, header, indent=""), "", *notes])


def overview_of(answers: Iterable[Where]) -> Overview:
    """Return the fates in answers to `where`, in their order."""
    return Overview(tuple(map(_row, answers)), None)


def overview(artifact: Artifact, times: Times | None = None) -> Overview:
    """Return the fate of every layer; costs as much as there are layers, and lines of kernels that serve them."""
    rows = tuple(_row(answer) for answer in where_all(artifact))
    if times is not None:
        seconds = {entry.layer: entry.seconds for entry in times.ranked(artifact)}
        for row in rows:
            row.seconds = seconds.get(row.layer, 0.0)
    return Overview(rows, times.total if times is not None else None)


def _row(answer: Where) -> Row:
    layer, parts = answer.layers[0], answer.kernels
    return Row(
        layer,
        relay=sum(len(part.operators) for part in parts),
        te=sum(len(part.stages) for part in parts),
        tir=sum(len(part.lines) for part in parts),
        llvm=sum(part.llvm[0] for part in parts),
        native=sum(part.native[0] for part in parts),
        calls=[part.call for part in parts],
        constants=list(dict.fromkeys(call for param in answer.params for call in param.calls)),
        fate=_fate(answer) if not parts and not answer.params else "",
    )


def _fate(answer: Where) -> str:
    """`relay-simplify-inference: nn.dropout removed (..)`: the last that happened to a layer that is in no kernel."""
    if answer.steps:
        return answer.interpreter
    if answer.uncompiled:
        return "not compiled"
    for entry, _ in reversed(answer.fate):
        if entry.removed:
            name, _, effect = told(entry)
            return f"{name}: {effect}"
    return ""
