"""The fraction of a compiled model that knows its layers, level by level."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ..lowering.kernel.record import Kernel
from ..planning.artifact import Artifact
from ..provenance.lost import is_located
from ..provenance.walk import walk
from .code import MainCode, kernel_of, machine_code
from .layers import snapshot

LEVELS = ("relay", "te", "tir", "llvm", "native", "native_inferred")


@dataclass(frozen=True)
class Known:
    """The slots and lines of a kernel that lead to a layer, in every call of it."""

    slots: frozenset[int]
    lines: frozenset[int]
    share: float
    """The fraction of lines with a slot whose slot has a layer."""


def known_parts(artifact: Artifact) -> list[Known]:
    """Return what is known of each kernel; nothing of one that nobody calls."""
    slots: list[set[int] | None] = [None] * len(artifact.kernels)
    for call in artifact.calls:
        located = {slot for slot, location in enumerate(call.layers) if is_located(location)}
        before = slots[call.kernel]
        slots[call.kernel] = located if before is None else before & located
    return [_known(kernel_of(artifact, index), located or set()) for index, located in enumerate(slots)]


def _known(kernel: Kernel, slots: set[int]) -> Known:
    lines = {number for number, behind in enumerate(kernel.lines, 1) if not slots.isdisjoint(behind)}
    served = sum(bool(behind) for behind in kernel.lines)
    return Known(frozenset(slots), frozenset(lines), len(lines) / served if served else 0.0)


def coverage(*artifacts: Artifact) -> dict[str, float]:
    """Level -> the fraction of the ops, or machine instructions, of programs that name the layers they serve.

    A level without any, as of a model that external compilers run all of, is not there: nothing is known of their code.

    te, tir and llvm count each kernel once, and an op as located if it has a slot and its slot has a layer. Where only
    some slots of a kernel have one, the share of its TIR lines stands for all three levels.

    native: machine instructions, those of the main program too, whose layers follow from the object's own line table,
    where what stands at the line can have made them (see `llvm_to_native/fitting.py`).
    native_inferred: the others there, and what follows from what reads their results (`llvm_to_native/readers.py`).
    """
    located: dict[str, float] = {}
    totals: dict[str, int] = {}
    for artifact in artifacts:
        for level, (part, total) in _counts(artifact).items():
            located[level] = located.get(level, 0.0) + part
            totals[level] = totals.get(level, 0) + total
    # Nothing is lost of a module without ops.
    return {level: located[level] / totals[level] if totals[level] else 1.0 for level in totals}


def _counts(artifact: Artifact) -> dict[str, tuple[float, int]]:
    """Level -> the number of ops that name their layers, and of all; only "relay" may have none."""
    parts = known_parts(artifact)
    kernels = [kernel_of(artifact, index) for index in range(len(artifact.kernels))]
    relay = [op for op in walk(snapshot(artifact, "fused")) if not isinstance(op, ModuleOp)]
    counts: dict[str, tuple[float, int]] = {"relay": (sum(is_located(op.location) for op in relay), len(relay))}
    for level in ("te", "tir", "llvm"):
        if total := sum(kernel.ops[level] for kernel in kernels):
            located = sum(kernel.located[level] * part.share for kernel, part in zip(kernels, parts, strict=True))
            counts[level] = located, total
    main = MainCode.of(artifact)
    attributed = Counter(instruction.exact for instruction in main.instructions if main.knows(instruction))
    for kernel, part in zip(kernels, parts, strict=True):
        attributed.update(instruction.exact for instruction in machine_code(kernel) if instruction.line in part.lines)
    if total := len(main.instructions) + sum(len(machine_code(kernel)) for kernel in kernels):
        counts |= {"native": (attributed[True], total), "native_inferred": (attributed[False], total)}
    return counts
