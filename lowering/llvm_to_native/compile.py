"""LLVM IR text to machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...support.errors import PipelineError
from .assembly import compact, located_at, with_inferred_lines, without_inherited_lines
from .kept_lines import has_lost, lines_of, with_lines
from .target import Target, binding


@dataclass(frozen=True)
class Native:
    """Machine code: an object file, and what it was assembled from (labels, `.loc` and instructions)."""

    object: bytes
    assembly: str


Lines: TypeAlias = Sequence[Sequence[object]]
"""Per line of a source (line 1 first) the slots behind it."""


def compile_text(text: str, target: Target, lines: Lines = (), *, level: int = 1) -> Native:
    """Optimise and compile a module with the pipeline of `level` (0 to 3).

    lines: of the source that the debug info speaks of; with them, the object's line table has inferred lines, too.

    Kernels are vectorised before they come here, so LLVM's vectorisers are off. Raises PipelineError when LLVM rejects
    the text.
    """
    machine = target.machine()
    module = _optimized(text, target, machine, level)
    if not _assembles(target):
        # Generating code changes the module: the object is made of another one.
        twin = _parsed(str(module), target)
        return Native(bytes(machine.emit_object(twin)), compact(str(machine.emit_assembly(module))))
    # Code is generated once, as text, and the object is made of that text: what is shown is what runs.
    assembly = _assembly(module, machine)
    return Native(assemble(_inferred(assembly, target, lines), target), compact(assembly))


def _inferred(assembly: str, target: Target, lines: Lines) -> str:
    """An assembly text with inferred lines, where the registers that its instructions read are known."""
    if not lines or not target.triple.startswith("x86_64"):
        return assembly
    return with_inferred_lines(assembly, lambda line: lines[line - 1] if 1 <= line <= len(lines) else ())


def _assembly(module: Any, machine: Any) -> str:
    return without_inherited_lines(str(machine.emit_assembly(module)))


def with_places(text: str, target: Target, lines: Lines, places: Mapping[int, tuple[str, int]]) -> bytes:
    """The object that `compile_text` makes of a text, lines of which are named by other places: line -> file and line.

    The code is the same. Other systems' objects have their own lines.
    """
    machine = target.machine()
    module = _optimized(text, target, machine, 1)
    if not _assembles(target):
        return bytes(machine.emit_object(module))
    return assemble(located_at(_inferred(_assembly(module, machine), target, lines), places), target)


def optimized_text(text: str, target: Target, level: int = 1) -> str:
    """The LLVM IR of which `compile_text` generates code; errors as its."""
    return str(_optimized(text, target, target.machine(), level))


def _optimized(text: str, target: Target, machine: Any, level: int) -> Any:
    """The module of a text after the pipeline of a level, with the lines that it lost."""
    try:
        module = _parsed(text, target)
        module.verify()
    except RuntimeError as error:
        raise PipelineError(f"llvm: expected a valid module, got {str(error).strip()}") from error
    if level:
        _optimize(module, machine, level)
        optimized = str(module)
        if has_lost(optimized):
            return _parsed(with_lines(optimized, lines_of(text)), target)
        if " = phi " in optimized:
            # LLVM's effect on a loop depends on the order of uses; after parsing, that is the order of the text.
            return _parsed(optimized, target)
    return module


def _assembles(target: Target) -> bool:
    """Return whether there is an assembler: llvmlite has that of the host's architecture alone.

    Other systems' text is not for it, either: what the code generator puts around every module of theirs, it would put
    around the text once more.
    """
    return _family(target.triple) == _family(Target.native().triple)


def _family(triple: str) -> tuple[str, str]:
    """The architecture, and what decides the format of objects."""
    formats = {"windows": "COFF", "apple": "Mach-O", "darwin": "Mach-O"}
    machine, _, rest = triple.partition("-")
    return machine, next((form for word, form in formats.items() if word in rest), "ELF")


def assemble(assembly: str, target: Target) -> bytes:
    """The object file of an assembly text: that of a module which holds nothing else."""
    escaped = assembly.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A")
    return bytes(target.assembler().emit_object(_parsed(f'module asm "{escaped}"', target)))


def _parsed(text: str, target: Target) -> Any:
    module = binding().parse_assembly(text)
    module.triple, module.data_layout = target.triple, target.data_layout
    return module


def _optimize(module: Any, machine: Any, level: int) -> None:
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_unrolling = True
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
