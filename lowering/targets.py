"""The targets of `xdsl-opt -t`: LLVM IR, and assembly beside the tir and the layers that it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.utils.target import Target as XdslTarget

from ..dialects.tir import PrimFuncOp
from ..provenance.span import fuse, layer_names, leaves
from .kernel.printing import located_lines, print_with_lines
from .llvm_to_native.assembly import instructions
from .llvm_to_native.compile import compile_text
from .llvm_to_native.emit import emit_module
from .llvm_to_native.target import Target
from .tir_to_llvm.convert import convert
from .tir_to_llvm.convert_tir_to_llvm import ConvertTirToLlvmPass


@dataclass(frozen=True)
class LLVMTarget(XdslTarget):
    """The LLVM IR of all `tir.prim_func`s and `llvm.func`s, before LLVM's own passes and without debug info."""

    name = "whence-llvm"

    target: str = "native"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        lowered = module.clone()
        ConvertTirToLlvmPass().apply(ctx, lowered)
        output.write(emit_module(lowered, target=Target.parse(self.target)))


@dataclass(frozen=True)
class AssemblyTarget(XdslTarget):
    """The machine code of all `tir.prim_func`s and `llvm.func`s.

    What follows a comment `# layers | tir` comes from that line of tir; `# several` stands before what serves several.
    """

    name = "whence-asm"

    target: str = "native"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        target = Target.parse(self.target)
        for op in module.ops:
            if isinstance(op, PrimFuncOp):
                output.writelines(f"{line}\n" for line in _listing(op, target))
        functions = [op.clone() for op in module.ops if isinstance(op, llvm.FuncOp)]
        if any(function.body.blocks for function in functions):
            output.write(compile_text(emit_module(ModuleOp([*functions]), target=target), target).assembly)


def _listing(func: PrimFuncOp, target: Target) -> Iterator[str]:
    text, lines = print_with_lines(func)
    kernel = convert(func, lines)
    source = f"{func.sym_name.data}.tir"
    native = compile_text(emit_module(kernel.module, lines=kernel.lines, source=source, target=target), target)
    places = [fuse(group) for group in located_lines(text, lines)]
    comments = ["several", *map(_comment, places, text.split("\n"))]
    current, shown = "", 0
    for instruction in instructions(native.assembly, lambda line: leaves(places[line - 1])):
        if instruction.function != current:
            yield f"{instruction.function}:"
            current, shown = instruction.function, -1
        if instruction.line != shown:
            shown = instruction.line
            yield f"  # {comments[shown]}"
        yield f"    {instruction.text}"


def _comment(location: LocationAttr, line: str) -> str:
    """The comment before the code of a line of tir."""
    return _one_line(f"{', '.join(layer_names(location))} | {line.strip()}")


def _one_line(text: str) -> str:
    """A comment that no name can end: what is not printable is escaped, and so is the backslash."""
    return "".join(c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode() for c in text)
