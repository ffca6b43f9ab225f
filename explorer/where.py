"""Where did this layer go? What became of it at every level, or which passes took it away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose

from xdsl.dialects.builtin import LocationAttr, ModuleOp

from ..dialects.relay.core import CallOp, ConstantOp
from ..dialects.relay.operator import Operator
from ..passes.functions import COMPILER, text_of
from ..planning.artifact import Artifact
from ..provenance.ledger import Entry
from ..provenance.span import layer_names, leaves
from .code import compiler_of, kernel_of, llvm_lines, machine_lines, stages_of
from .events import told
from .layers import Layer, all_leaves, find_layers, functions, snapshot
from .report import count, percent, some, table
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
    def _told_time(own: float, whole: float) -> str:
        if not whole or isclose(own, whole):
            return f"{1e3 * whole:.3f} ms"
        return f"{1e3 * own:.3f} of {1e3 * whole:.3f} ms, {percent(own / whole)} (estimated from work)"

    @property
    def _inferred(self) -> str:
        return f", {self.inferred} of them inferred" if self.inferred else ""


@dataclass(frozen=True)
class Param:
    """A constant of the compiled model that carries a layer."""

    name: str
    type: str
    calls: tuple[str, ...]
    """Who reads it."""


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
    """Which one that is."""

    @property
    def vanished(self) -> bool:
        """Return whether no operator serves it: it may live on in params."""
        return not self.kernels

    def __str__(self) -> str:
        parts = [f"layer {', '.join(map(str, self.layers))}"]
        if self.steps:
            parts[0] += f": {', '.join(self.steps)}, done by {self.interpreter}"
        elif self.vanished:
            left = "no operator, and no constant" if not self.params else "no operator, only constants"
            parts[0] += f": {left} carries it after compilation" if not self.params else f": {left} carry it"
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


def where(artifact: Artifact, layer: str, times: Times | None = None) -> Where:
    """Return what became of the layer (or tensor) called `layer`, from relay to machine code.

    times: what its kernels took, to be told as well.
    Raises FrontendError for an unknown name.
    """
    layers = find_layers(artifact, layer)
    wanted = {match.leaf for match in layers}
    wanted |= {leaf for leaf in all_leaves(artifact) if any(match.owns(leaf) for match in layers)}
    module = snapshot(artifact, "fused")
    entries = dict.fromkeys(entry for match in layers for entry in artifact.ledger.fate(match.leaf))
    names = {match.name for match in layers}
    fate = tuple((entry, tuple(name for name in _names(entry.after) if name not in names)) for entry in entries)
    params = tuple(param for behind, param in constants(module) if not wanted.isdisjoint(behind))
    return Where(layers, tuple(_kernels(artifact, module, wanted, times)), params, fate)


def _names(locations: Sequence[LocationAttr]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for location in locations for name in layer_names(location)))


def _kernels(artifact: Artifact, module: ModuleOp, wanted: set[LocationAttr], times: Times | None) -> list[KernelPart]:
    named = functions(module)
    parts: list[KernelPart] = []
    for position, call in enumerate(artifact.calls):
        slots = {slot for slot, location in enumerate(call.layers) if not wanted.isdisjoint(leaves(location))}
        ops = [op for slot, op in enumerate(named[call.name].block.ops) if slot in slots and isinstance(op, Operator)]
        if not ops:
            continue
        kernel = kernel_of(artifact, call.kernel)
        own = {leaf for op in ops for leaf in leaves(op.location)}
        stages = stages_of(named[call.name])
        lines = [number for number, behind in enumerate(kernel.lines, 1) if not slots.isdisjoint(behind)]
        text = kernel.tir.splitlines()
        llvm, native, inferred = llvm_lines(kernel), machine_lines(kernel), machine_lines(kernel, exact=False)
        parts.append(
            KernelPart(
                call.name,
                tuple(op.name for op in ops),
                tuple(layer_name for layer_name in _names(tuple(own - wanted))),
                tuple(dict.fromkeys(label for slot in sorted(slots) for label in stages.get(slot, ()))),
                tuple((number, text[number - 1]) for number in lines),
                (sum(llvm[number] for number in lines), llvm.total()),
                (sum(native[number] for number in lines), native.total()),
                sum(inferred[number] for number in lines),
                _time(times, position, wanted),
                compiler_of(kernel),
            )
        )
    return parts


def _time(times: Times | None, number: int, wanted: set[LocationAttr]) -> tuple[float, float] | None:
    if times is None:
        return None
    own = sum(seconds for layer, seconds in times.layers[number].items() if layer is not None and layer.leaf in wanted)
    return own, times.calls[number]


def constants(module: ModuleOp) -> Iterator[tuple[tuple[LocationAttr, ...], Param]]:
    """The constants of a fused module, each behind its leaves; those inside of what external compilers run included."""
    named = functions(module)
    for name, func in named.items():
        if text_of(func, COMPILER):
            for op in func.block.ops:
                if isinstance(op, ConstantOp):
                    yield leaves(op.location), Param(_name(op), str(op.result.type), (name,))
    for op in named["main"].block.ops:
        if isinstance(op, ConstantOp):
            users = [use.operation for use in op.result.uses]
            calls = tuple(user.callee.string_value() for user in users if isinstance(user, CallOp))
            yield leaves(op.location), Param(_name(op), str(op.result.type), calls)


def _name(op: ConstantOp) -> str:
    return op.key.data if op.key is not None else (op.result.name_hint or "literal")
