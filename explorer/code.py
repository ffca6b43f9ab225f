"""The code of a kernel, line by line of its TIR."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import LocationAttr

from ..dialects.relay.core import FuncOp
from ..dialects.te import ComputeOp
from ..lowering.kernel import Kernel, anonymous, slots_of
from ..lowering.llvm_to_native.assembly import instructions
from ..lowering.relay_to_te.lower import lower_function
from ..planning.artifact import Artifact
from ..provenance.span import fuse

_ATTACHED = re.compile(r", !dbg !(\d+)$", re.MULTILINE)
_LOCATION = re.compile(r"^!(\d+) = !DILocation\(line: (\d+)", re.MULTILINE)


def kernel_of(artifact: Artifact, index: int) -> Kernel:
    """Kernel number `index` with all that was kept about it."""
    return cast(Kernel, artifact.kernels[index])


@lru_cache(maxsize=512)
def machine_code(assembly: str) -> tuple[tuple[str, str, int], ...]:
    """(function, instruction, line of TIR) of a listing; line 0 where LLVM merged code of several lines."""
    return tuple((function, text, line or 0) for function, text, line in instructions(assembly))


def machine_lines(kernel: Kernel) -> Counter[int]:
    """Line of TIR -> how many machine instructions came of it."""
    return Counter(line for _, _, line in machine_code(kernel.assembly))


@lru_cache(maxsize=512)
def _llvm_lines(text: str) -> Counter[int]:
    lines = {number: int(line) for number, line in cast("list[tuple[str, str]]", _LOCATION.findall(text))}
    found = cast("list[str]", _ATTACHED.findall(text))
    return Counter(lines[number] for number in found if number in lines)


def llvm_lines(kernel: Kernel) -> Counter[int]:
    """Line of TIR -> how many LLVM instructions it became, before LLVM optimised them."""
    return _llvm_lines(kernel.llvm)


def line_location(kernel: Kernel, line: int, layers: Sequence[LocationAttr]) -> LocationAttr:
    """The layers that a call finds behind a line (from 1) of its kernel's TIR."""
    if not 1 <= line <= len(kernel.lines):
        return fuse(())
    return fuse(layers[slot] for slot in kernel.lines[line - 1] if slot < len(layers))


def stages_of(func: FuncOp) -> dict[int, tuple[str, ...]]:
    """Slot of a primitive function -> the labels of the te stages that its op becomes."""
    found: dict[int, list[str]] = {}
    for op in lower_function(anonymous(func)).block.ops:
        if isinstance(op, ComputeOp):
            for slot in slots_of(op.location):
                found.setdefault(slot, []).append(op.label.data)
    return {slot: tuple(labels) for slot, labels in found.items()}
