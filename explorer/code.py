"""The code of a kernel, line by line of its TIR."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import LocationAttr

from ..dialects.relay.core import FuncOp
from ..dialects.te import ComputeOp
from ..lowering.external.kernel import ExternalKernel
from ..lowering.kernel.record import Kernel
from ..lowering.kernel.slots import anonymous, slots_of
from ..lowering.llvm_to_native.assembly import Instruction, instructions
from ..lowering.llvm_to_native.compile import optimized_text
from ..lowering.relay_to_te.lower import lower_function
from ..passes.functions import COMPILER, text_of
from ..planning.artifact import Artifact
from ..provenance.lost import is_located
from ..provenance.span import fuse
from ..support.errors import PipelineError, expectation

_ATTACHED = re.compile(r", !dbg !(\d+)$", re.MULTILINE)
_LOCATION = re.compile(r"^!(\d+) = !DILocation\(line: (\d+)", re.MULTILINE)


def kernel_of(artifact: Artifact, index: int) -> Kernel:
    """Kernel number `index` with all that was kept about it."""
    return cast(Kernel, artifact.kernels[index])


def compiler_of(kernel: Kernel) -> str:
    """The external compiler that runs a kernel; "" for our own."""
    return kernel.compiler if isinstance(kernel, ExternalKernel) else ""


SOURCES = ("te", "schedule", "tir", "ll", "opt.ll", "s")
"""The texts of a kernel, from tensor expressions to assembly; `ll` is LLVM IR, `opt.ll` that after its passes."""


def source(artifact: Artifact, index: int, fmt: str) -> str:
    """The code of kernel number `index` in a format of `SOURCES`.

    What LLVM's passes made of it is not kept: they are run again, with the same outcome. Raises PipelineError for
    another format, and for a kernel that an external compiler runs.
    """
    kernel = kernel_of(artifact, index)
    if fmt not in SOURCES:
        raise PipelineError(expectation("source", f"a format among {', '.join(SOURCES)}", repr(fmt)))
    if compiler := compiler_of(kernel):
        raise PipelineError(expectation("source", "a kernel of ours", f"{kernel.symbol}, which {compiler} runs"))
    if fmt == "opt.ll":
        return optimized_text(kernel.llvm, artifact.target)
    texts = {"te": kernel.te, "schedule": kernel.schedule, "tir": kernel.tir, "ll": kernel.llvm, "s": kernel.assembly}
    return texts[fmt]


def machine_code(kernel: Kernel) -> tuple[Instruction, ...]:
    """The machine instructions of a kernel, each with its line of TIR; a line is inferred within one layer's code."""
    return _machine_code(kernel.assembly, kernel.lines)


@lru_cache(maxsize=512)
def _machine_code(assembly: str, lines: tuple[tuple[int, ...], ...]) -> tuple[Instruction, ...]:
    return tuple(instructions(assembly, lambda line: lines[line - 1] if line <= len(lines) else ()))


def machine_lines(kernel: Kernel, *, exact: bool | None = None) -> Counter[int]:
    """Line of TIR -> how many machine instructions came of it: all, those of the line table, or those inferred."""
    return Counter(
        instruction.line for instruction in machine_code(kernel) if exact is None or instruction.exact is exact
    )


@dataclass(frozen=True)
class MainCode:
    """The main program: its instructions, and the layers behind each of its lines (line 1 first)."""

    instructions: tuple[Instruction, ...]
    locations: tuple[LocationAttr, ...]

    @staticmethod
    def of(artifact: Artifact) -> MainCode:
        """A line per call and copy, and a last one for what serves them all."""
        locations = [call.location for call in artifact.calls]
        locations += [artifact.returned] * len(artifact.program.copies)
        locations.append(fuse(locations))
        code = instructions(artifact.main_assembly, lambda line: locations[line - 1])
        return MainCode(tuple(code), tuple(locations))

    def knows(self, instruction: Instruction) -> bool:
        """Return whether an instruction leads to a layer."""
        return instruction.line > 0 and is_located(self.locations[instruction.line - 1])


@lru_cache(maxsize=512)
def _llvm_lines(text: str) -> Counter[int]:
    lines = {number: int(line) for number, line in cast("list[tuple[str, str]]", _LOCATION.findall(text))}
    attached = cast("list[str]", _ATTACHED.findall(text))
    return Counter(lines[number] for number in attached if number in lines)


def llvm_lines(kernel: Kernel) -> Counter[int]:
    """Line of TIR -> how many LLVM instructions it became, before LLVM optimised them."""
    return _llvm_lines(kernel.llvm)


def line_location(kernel: Kernel, line: int, layers: Sequence[LocationAttr]) -> LocationAttr:
    """The layers that a call finds behind a line (from 1) of its kernel's TIR."""
    if not 1 <= line <= len(kernel.lines):
        return fuse(())
    return fuse(layers[slot] for slot in kernel.lines[line - 1] if slot < len(layers))


def stages_of(func: FuncOp) -> dict[int, tuple[str, ...]]:
    """Slot of a primitive function -> the labels of the te stages that its op becomes.

    One that an external compiler runs has none.
    """
    if text_of(func, COMPILER):
        return {}
    stages: dict[int, list[str]] = {}
    for op in lower_function(anonymous(func)).block.ops:
        if isinstance(op, ComputeOp):
            for slot in slots_of(op.location):
                stages.setdefault(slot, []).append(op.label.data)
    return {slot: tuple(labels) for slot, labels in stages.items()}
