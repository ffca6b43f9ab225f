"""The fate of a layer: its ops at every level, or the passes that removed it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import isclose

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from ..dialects.relay.core import ConstantOp
from ..dialects.relay.operator import Operator
from ..dialects.relay.python_call import PythonCallOp
from ..planning.artifact import Artifact
from ..provenance.ledger import Entry
from ..provenance.span import leaves
from .code import compiler_of, kernel_of
from .events import told
from .index import Index, Param, unique_names
from .layers import Layer
from .report import count, percent, some, table
from .source_lines import SourceLine, source_lines, table_of_lines
from .times import Times

_LINES = 12
"""The number of TIR lines of a kernel that are printed."""
_WIDTH = 100


@dataclass(frozen=True)
class KernelPart:
    """The part of a kernel that serves a layer in one call."""

    call: str
    operators: tuple[str, ...]
    beside: tuple[str, ...]
    """Other layers that these operators serve, too."""
    stages: tuple[str, ...]
    lines: tuple[tuple[int, str], ...]
    """(number, text) of TIR lines."""
    llvm: tuple[int, int]
    """LLVM instructions of those lines, and of the kernel."""
    native: tuple[int, int]
    """Machine instructions of those lines, and of the kernel."""
    inferred: int
    """The number of those lines' machine instructions that have no line in the object's own table."""
    time: tuple[float, float] | None = None
    """Seconds of the layer, estimated from work, and of the kernel, if measured."""
    compiler: str = ""
    """The external compiler that runs the kernel; "" for machine code of ours."""

    def __str__(self) -> str:
        rows = [("relay", ", ".join(self.operators) + (f"  (also {some(self.beside)})" if self.beside else ""))]
        rows += [("run by", self.compiler)] if self.compiler else self._levels()
        if self.time is not None:
            rows.append(("time", self._told_time(*self.time)))
        shown = [f"    {number:>4}  {_cut(text.strip())}" for number, text in self.lines[:_LINES]]
        if len(self.lines) > _LINES:
            shown.append(f"          and {len(self.lines) - _LINES} more")
        return "\n".join([f"in {self.call}", table(rows), *shown])

    def _levels(self) -> list[tuple[str, str]]:
        return [
            ("te", ", ".join(self.stages) or "no stage of its own"),
            ("tir", count(len(self.lines), "line")),
            ("llvm", f"{self.llvm[0]} of {self.llvm[1]} instructions"),
            ("native", f"{self.native[0]} of {self.native[1]} instructions" + self._inferred),
        ]

    @staticmethod
    def _told_time(own: float, total: float) -> str:
        if not total or isclose(own, total):
            return f"{1e3 * total:.3f} ms"
        return f"{1e3 * own:.3f} of {1e3 * total:.3f} ms, {percent(own / total)} (estimated from work)"

    @property
    def _inferred(self) -> str:
        return f", {self.inferred} of them inferred" if self.inferred else ""


@dataclass(frozen=True)
class Where:
    """The answer to `where`."""

    layers: tuple[Layer, ...]
    """The layers of the name: one, if names are unique."""
    kernels: tuple[KernelPart, ...]
    params: tuple[Param, ...]
    fate: tuple[tuple[Entry, tuple[str, ...]], ...]
    """The entries that touched it, each with the layers that it went into."""
    steps: tuple[str, ...] = ()
    """The parts of it that the interpreter does, not native code: relay ops, or the source's name of its operator."""
    interpreter: str = "the virtual machine"
    """The name of the interpreter."""
    lines: tuple[SourceLine, ...] = ()
    """The lines of the exported program that called it."""
    uncompiled: bool = False
    """True if there is no code of it, as no call came to it."""

    @property
    def vanished(self) -> bool:
        """Return whether no operator serves it: it may live on in params."""
        return not self.kernels

    def __str__(self) -> str:
        parts = [f"layer {', '.join(map(str, self.layers))}"]
        if self.steps:
            parts[0] += f": {', '.join(self.steps)}, done by {self.interpreter}"
        elif self.uncompiled:
            parts[0] += ": not compiled, as no call came to it"
        elif self.vanished:
            left = "no operator, and no constant" if not self.params else "no operator, only constants"
            parts[0] += f": {left} carries it after compilation" if not self.params else f": {left} carry it"
        if self.lines:
            parts[0] += f"\n{table_of_lines(self.lines)}"
        parts += map(str, self.kernels)
        if self.params:
            rows = [(param.name, param.type, some(param.calls, 2)) for param in self.params]
            parts.append("\n".join(["constants", table(rows)]))
        if self.vanished and self.fate:
            rows = [(*told(entry), f"now in {some(into)}" if into else "") for entry, into in self.fate]
            parts.append("\n".join(["what the passes did with it", table(rows)]))
        return "\n\n".join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 2]}.."


def where(artifact: Artifact | Index, layer: str, times: Times | None = None) -> Where:
    """Return what became of the layer (or tensor) called `layer`, from relay to machine code.

    artifact: or its index, for one who asks more than once. times: what its kernels took, to be told as well.
    Raises FrontendError for an unknown name.
    """
    index = artifact if isinstance(artifact, Index) else Index(artifact)
    return _where(index, index.find(layer), times)


def where_all(artifact: Artifact | Index, times: Times | None = None) -> Iterator[Where]:
    """Return what became of every layer, in the order of the source; arguments as for `where`.

    It takes time linear in the layers and the lines that serve them.
    """
    index = artifact if isinstance(artifact, Index) else Index(artifact)
    return (_where(index, (layer,), times) for layer in index.layers)


def _where(index: Index, layers: tuple[Layer, ...], times: Times | None) -> Where:
    wanted = dict.fromkeys(leaf for layer in layers for leaf in index.leaves.get(layer, (layer.leaf,)))
    ledger = index.artifact.ledger
    entries = {id(entry): entry for layer in layers for entry in ledger.fate(layer.leaf)}.values()
    names = {layer.name for layer in layers}
    fate = tuple((entry, tuple(name for name in index.into(entry) if name not in names)) for entry in entries)
    params = {id(param): param for leaf in wanted for param in index.params.get(leaf, ())}
    lines = source_lines(ledger, (layer.leaf for layer in layers))
    kernels = tuple(_kernels(index, layers, wanted, times))
    return Where(layers, kernels, tuple(params.values()), fate, lines=lines)


def _kernels(
    index: Index, layers: Sequence[Layer], wanted: Collection[LocationAttr], times: Times | None
) -> Iterator[KernelPart]:
    slots_of: dict[int, set[int]] = {}
    for leaf in wanted:
        for position, slots in index.slots.get(leaf, {}).items():
            slots_of.setdefault(position, set()).update(slots)
    for position, slots in sorted(slots_of.items()):
        call = index.artifact.calls[position]
        all_ops = [index.ops(call.name)[slot] for slot in sorted(slots)]
        ops = [op for op in all_ops if isinstance(op, Operator | PythonCallOp)]
        # A number in the code of a kernel, where it is asked about alone: its layer's operators read it.
        ops = ops or [op for op in all_ops if isinstance(op, ConstantOp)]
        if not ops:
            continue
        own = dict.fromkeys(leaf for op in ops for leaf in leaves(op.location))
        part = index.parts(call.kernel, call.name)
        lines = sorted({number for slot in slots for number in part.lines.get(slot, ())})
        yield KernelPart(
            call=call.name,
            operators=tuple(_told_op(op) for op in ops),
            beside=unique_names([leaf for leaf in own if leaf not in wanted]),
            stages=tuple(dict.fromkeys(label for slot in sorted(slots) for label in part.stages.get(slot, ()))),
            lines=tuple((number, part.text[number - 1]) for number in lines),
            llvm=(sum(part.llvm[number] for number in lines), part.totals[0]),
            native=(sum(part.native[number] for number in lines), part.totals[1]),
            inferred=sum(part.inferred[number] for number in lines),
            time=_time(times, position, layers),
            compiler=compiler_of(kernel_of(index.artifact, call.kernel)),
        )


def _told_op(op: Operation) -> str:
    """The name of an op; of a number in the code of a kernel what reads it, too."""
    readers = dict.fromkeys(use.operation.name for use in op.results[0].uses) if isinstance(op, ConstantOp) else ()
    return f"{op.name} of {', '.join(readers)}" if readers else op.name


def _time(times: Times | None, call: int, layers: Sequence[Layer]) -> tuple[float, float] | None:
    if times is None:
        return None
    return sum(times.layers[call].get(layer, 0.0) for layer in layers), times.calls[call]
