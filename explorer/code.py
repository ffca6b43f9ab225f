"""The code of a kernel, line by line of its TIR."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import cast

from xdsl.dialects.builtin import LocationAttr

from ..dialects.relay.core import FuncOp
from ..dialects.te import ComputeOp
from ..lowering.external.kernel import ExternalKernel
from ..lowering.kernel.record import Kernel, Rows
from ..lowering.kernel.slots import anonymous, slots_of
from ..lowering.llvm_to_native.assembly import LOCATION, Instruction, instructions, line_of_all
from ..lowering.llvm_to_native.compile import optimized_text
from ..lowering.llvm_to_native.fitting import fits
from ..lowering.llvm_to_native.line_table import line_table
from ..lowering.relay_to_te.lower import lower_function
from ..passes.functions import COMPILER, text_of
from ..planning.artifact import Artifact, Call
from ..planning.c_kernels import c_kernel
from ..provenance.lost import is_located
from ..provenance.span import fuse, leaves
from ..support.errors import PipelineError, expectation

_ATTACHED = re.compile(r", !dbg !(\d+)$", re.MULTILINE)
_LOCATION = re.compile(r"^!(\d+) = !DILocation\(line: (\d+)", re.MULTILINE)


def kernel_of(artifact: Artifact, index: int) -> Kernel:
    """Kernel number `index` with all that was kept about it."""
    return cast(Kernel, artifact.kernels[index])


def work_of(artifact: Artifact, call: Call) -> Rows:
    """Operations and bytes of a call, per slot of its function."""
    kernel = kernel_of(artifact, call.kernel)
    if not kernel.growth:
        return kernel.work
    (size,) = cast("tuple[int]", call.run.sizes)
    more = size - kernel.typical
    rows = zip(kernel.work, kernel.growth, strict=True)
    return tuple((operations + more * each, moved + more * its) for (operations, moved), (each, its) in rows)


def compiler_of(kernel: Kernel) -> str:
    """The external compiler that runs a kernel; "" for our own."""
    return kernel.compiler if isinstance(kernel, ExternalKernel) else ""


SOURCES = ("te", "schedule", "tir", "ll", "opt.ll", "s", "c")
"""The texts of a kernel, from tensor expressions to assembly; `ll` is LLVM IR, `opt.ll` that after its passes."""


def source(artifact: Artifact, index: int, fmt: str) -> str:
    """The code of kernel number `index` in a format of `SOURCES`.

    What LLVM's passes made of it is not kept: they are run again, with the same outcome. Raises PipelineError for
    another format, and for a kernel that an external compiler runs, VerifyException where it has no C.
    """
    kernel = kernel_of(artifact, index)
    if fmt not in SOURCES:
        raise PipelineError(expectation("source", f"a format among {', '.join(SOURCES)}", repr(fmt)))
    if compiler := compiler_of(kernel):
        raise PipelineError(expectation("source", "a kernel of ours", f"{kernel.symbol}, which {compiler} runs"))
    if fmt == "c":
        layers = [call.layers for call in artifact.calls if call.kernel == index]
        return c_kernel(kernel, layers, artifact.target, vectors=True).text
    if fmt == "opt.ll":
        return optimized_text(kernel.llvm, artifact.target)
    texts = {"te": kernel.te, "schedule": kernel.schedule, "tir": kernel.tir, "ll": kernel.llvm, "s": kernel.assembly}
    return texts[fmt]


def machine_code(kernel: Kernel) -> tuple[Instruction, ...]:
    """The machine instructions of a kernel, each with its line of TIR."""
    return _machine_code(kernel.assembly, kernel.lines, kernel.llvm)


@lru_cache(maxsize=512)
def _machine_code(assembly: str, lines: tuple[tuple[int, ...], ...], llvm: str) -> tuple[Instruction, ...]:
    return tuple(instructions(assembly, partial(_slots, lines), partial(fits, llvm)))


def _slots(lines: Sequence[tuple[int, ...]], line: int) -> tuple[int, ...]:
    """The slots behind a line (from 1); none behind line 0, nor behind one that is not there."""
    return lines[line - 1] if 1 <= line <= len(lines) else ()


def assembly_runs(kernel: Kernel) -> dict[int, int] | None:
    """Number of a line (from 0) of a kernel's assembly -> the run of the object's line table that begins there.

    Both come of the same `.loc` directives; None where they do not agree, as of an object that was not made of the
    text.
    """
    begins: list[tuple[int, int]] = []
    waiting: int | None = None
    for number, text in enumerate(kernel.assembly.splitlines()):
        if (match := LOCATION.match(text)) is not None:
            waiting = int(match[1])
        elif text.startswith("\t") and waiting is not None:
            begins.append((number, waiting))
            waiting = None
    table = line_table(kernel.object)
    code = [run for run, line in enumerate(table.lines) if line >= 0]
    if [line for _, line in begins] != [table.lines[run] for run in code]:
        return None
    return {number: run for (number, _), run in zip(begins, code, strict=True)}


def run_lines(kernel: Kernel) -> tuple[int, ...]:
    """The line of each run of instructions of a kernel's object.

    A run without one in the line table has the line that is inferred for its instructions: 0 where none is for all.
    """
    lines = [max(line, 0) for line in line_table(kernel.object).lines]
    if (begins := assembly_runs(kernel)) is None:
        return tuple(lines)
    behind: dict[int, set[int]] = {}
    code, run = iter(machine_code(kernel)), -1
    for number, text in enumerate(kernel.assembly.splitlines()):
        if text.startswith("\t") and not LOCATION.match(text):
            run = begins.get(number, run)
            behind.setdefault(run, set()).add(next(code).line)
    for run, some in behind.items():
        lines[run] = lines[run] or line_of_all(some, partial(_slots, kernel.lines))
    return tuple(lines)


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
        code = instructions(artifact.main_assembly, lambda line: leaves(locations[line - 1]))
        return MainCode(tuple(code), tuple(locations))

    def knows(self, instruction: Instruction) -> bool:
        """Return whether an instruction leads to a layer."""
        return instruction.line > 0 and is_located(self.locations[instruction.line - 1])


def llvm_line_numbers(kernel: Kernel) -> list[int]:
    """Per line of a kernel's LLVM IR the line of TIR that its instruction is of; 0 for none."""
    text = kernel.llvm
    lines = {number: int(line) for number, line in cast("list[tuple[str, str]]", _LOCATION.findall(text))}
    attached = (_ATTACHED.search(line) for line in text.split("\n"))
    return [lines.get(match[1], 0) if match is not None else 0 for match in attached]


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
    return fuse(layers[slot] for slot in _slots(kernel.lines, line) if slot < len(layers))


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
