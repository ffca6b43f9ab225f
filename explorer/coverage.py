"""How much of a compiled model knows its layers, level by level."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..lowering.kernel.record import Kernel
from ..planning.artifact import Artifact
from ..provenance import audit
from ..provenance.lost import is_located
from .code import MainCode, kernel_of, machine_code
from .layers import snapshot

LEVELS = ("relay", "te", "tir", "llvm", "native", "native_inferred")


@dataclass(frozen=True)
class Known:
    """The slots and lines of a kernel that lead to a layer, in every call of it."""

    slots: frozenset[int]
    lines: frozenset[int]
    share: float
    """Of the lines that have a slot, the part whose slot has a layer."""


def known_parts(artifact: Artifact) -> list[Known]:
    """What is known of each kernel; of one that nobody calls, nothing."""
    slots: list[set[int] | None] = [None] * len(artifact.kernels)
    for call in artifact.calls:
        found = {slot for slot, location in enumerate(call.layers) if is_located(location)}
        before = slots[call.kernel]
        slots[call.kernel] = found if before is None else before & found
    return [_known(kernel_of(artifact, index), found or set()) for index, found in enumerate(slots)]


def _known(kernel: Kernel, slots: set[int]) -> Known:
    lines = {number for number, behind in enumerate(kernel.lines, 1) if not slots.isdisjoint(behind)}
    served = sum(bool(behind) for behind in kernel.lines)
    return Known(frozenset(slots), frozenset(lines), len(lines) / served if served else 0.0)


def coverage(artifact: Artifact) -> dict[str, float]:
    """Level -> the fraction of its ops, or machine instructions, that name the layers they serve.

    te, tir and llvm count each kernel once, and an op as located if it has a slot and its slot has a layer. Where only
    some slots of a kernel have one, the share of its TIR lines stands for all three levels.

    native: machine instructions, those of the main program too, whose layers follow from the object's own line table.
    native_inferred: what follows, beside those, from the code around (see `llvm_to_native/assembly.py`). The rest is
    what LLVM merged from several lines.
    """
    known = known_parts(artifact)
    kernels = [kernel_of(artifact, index) for index in range(len(artifact.kernels))]
    found = {"relay": audit.coverage([snapshot(artifact, "fused")])}
    for level in ("te", "tir", "llvm"):
        located = sum(kernel.located[level] * part.share for kernel, part in zip(kernels, known, strict=True))
        found[level] = _ratio(located, sum(kernel.ops[level] for kernel in kernels))
    main = MainCode.of(artifact)
    told = Counter(one.exact for one in main.instructions if main.knows(one))
    for kernel, part in zip(kernels, known, strict=True):
        told.update(one.exact for one in machine_code(kernel) if one.line in part.lines)
    total = len(main.instructions) + sum(len(machine_code(kernel)) for kernel in kernels)
    return found | {"native": _ratio(told[True], total), "native_inferred": told[False] / total if total else 0.0}


def _ratio(part: float, whole: int) -> float:
    return part / whole if whole else 1.0
