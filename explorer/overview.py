"""Where every layer went, level by level: `where` for all of them, in one walk over the calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..dialects.relay.operator import Operator
from ..lowering.kernel.record import Kernel
from ..planning.artifact import Artifact
from ..provenance.span import leaves
from .code import kernel_of, llvm_lines, machine_lines, stages_of
from .events import told
from .layers import Layer, functions, layers_of, owners, snapshot
from .report import percent, some, table
from .times import Times
from .where import constants

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
            notes.append("a kernel's time is measured, that of each layer in it estimated from work")
        return "\n".join([table(rows, header, indent=""), "", *notes])


@dataclass(frozen=True)
class _Parts:
    """Of a kernel, per slot, what serves it."""

    stages: Mapping[int, tuple[str, ...]]
    lines: Mapping[int, list[int]]
    llvm: Mapping[int, int]
    native: Mapping[int, int]

    @staticmethod
    def of(kernel: Kernel, stages: Mapping[int, tuple[str, ...]]) -> _Parts:
        lines: dict[int, list[int]] = {}
        for number, behind in enumerate(kernel.lines, 1):
            for slot in behind:
                lines.setdefault(slot, []).append(number)
        return _Parts(stages, lines, llvm_lines(kernel), machine_lines(kernel))


def overview(artifact: Artifact, times: Times | None = None) -> Overview:
    """Return the fate of every layer; costs as much as there are layers, and lines of kernels that serve them."""
    owner = owners(artifact)
    rows = {layer: Row(layer) for layer in layers_of(artifact)}
    module = snapshot(artifact, "fused")
    named = functions(module)
    parts: dict[int, _Parts] = {}
    for call in artifact.calls:
        func = named[call.name]
        if (part := parts.get(call.kernel)) is None:
            part = parts[call.kernel] = _Parts.of(kernel_of(artifact, call.kernel), stages_of(func))
        serving: dict[Layer, list[int]] = {}
        operators = {slot for slot, op in enumerate(func.block.ops) if isinstance(op, Operator)}
        for slot, location in enumerate(call.layers):
            for layer in dict.fromkeys(owner[leaf] for leaf in leaves(location) if leaf in owner):
                serving.setdefault(layer, []).append(slot)
        for layer, slots in serving.items():
            if own := operators.intersection(slots):
                _count(rows[layer], call.name, part, slots, len(own))
    for leaf_set, param in constants(module):
        for layer in dict.fromkeys(owner[leaf] for leaf in leaf_set if leaf in owner):
            rows[layer].constants += [call for call in param.calls if call not in rows[layer].constants]
    for layer, row in rows.items():
        if not row.calls and not row.constants:
            row.fate = _fate(artifact, layer)
    for spent in times.layers if times is not None else ():
        for layer, seconds in spent.items():
            if layer is not None:
                rows[layer].seconds += seconds
    return Overview(tuple(rows.values()), times.total if times is not None else None)


def _count(row: Row, call: str, part: _Parts, slots: list[int], operators: int) -> None:
    """Add what serves these slots of a call."""
    lines = {number for slot in slots for number in part.lines.get(slot, ())}
    row.calls.append(call)
    row.relay += operators
    row.te += len({label for slot in slots for label in part.stages.get(slot, ())})
    row.tir += len(lines)
    row.llvm += sum(part.llvm[number] for number in lines)
    row.native += sum(part.native[number] for number in lines)


def _fate(artifact: Artifact, layer: Layer) -> str:
    """`relay-simplify-inference: nn.dropout removed (..)`: the last that happened to a layer that is gone."""
    for entry in reversed(artifact.ledger.fate(layer.leaf)):
        if entry.removed:
            name, _, what = told(entry)
            return f"{name}: {what}"
    return ""
