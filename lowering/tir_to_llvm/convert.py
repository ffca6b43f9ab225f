"""A prim_func as functions of the llvm dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Operation

from ...dialects.llvm_ext import WORKSPACE
from ...dialects.sizes.kernel import is_derived
from ...dialects.sizes.text import parse_size
from ...dialects.tir import CallExternOp, PrimFuncOp, buffer_of
from ...provenance.diagnostics import fail
from .arithmetic import ARITHMETIC
from .builder import NO_FLAGS
from .constants import CONSTANTS
from .context import Handler, Lowering
from .control import CONTROL, buffer_attributes
from .dots import DOTS
from .float_mode import set_float_mode
from .frame import Place
from .lanes import LANES
from .masked import MASKED
from .math_ops import MATH
from .memory import MEMORY
from .tiles import TILES
from .types import PTR, VOID, memory_type, register_type
from .vectors import VECTORS


@dataclass(frozen=True)
class LLVMKernel:
    """A kernel as a module of llvm functions, the line of each op in the printed tir, and the workspace it needs."""

    module: ModuleOp
    lines: dict[Operation, int]
    workspace: int


def convert(func: PrimFuncOp, lines: Mapping[Operation, int], *, flush: bool = False) -> LLVMKernel:
    """Lower a prim_func to `llvm.func @name(ptr.. buffers, i64.. sizes, ptr workspace, ptr pool)`.

    `lines` is the line of each tir op, as far as known. flush: denormal numbers are 0 (see float_mode.py). Expects
    vectorized loops gone; keeps `func` as it is. Raises VerifyException for an op without a lowering.
    """
    ctx = lower_function(func, lines, flush=flush)
    module = ModuleOp([])
    module.location = func.location
    module.body.block.add_ops([*ctx.globals, *ctx.functions])
    return LLVMKernel(module, ctx.lines, ctx.workspace)


def lower_function(func: PrimFuncOp, lines: Mapping[Operation, int], *, flush: bool) -> Lowering:
    """The functions that `func` becomes: itself, then workers of its parallel loops and declarations."""
    ctx = Lowering(func.sym_name.data, _HANDLERS, lines)
    ctx.place(func)
    arguments = func.block.args
    inputs = len(arguments) - func.outputs.value.data
    attributes = [buffer_attributes(readonly=number < inputs) for number in range(len(arguments))]
    names = func.size_names
    sizes = [name for name in names if not is_derived(name)]
    kernel = ctx.function(
        func.sym_name.data,
        [*[PTR] * len(arguments), *[i64] * len(sizes), PTR, PTR],
        parameter_attributes=(*attributes, *[NO_FLAGS] * len(sizes), NO_FLAGS, NO_FLAGS),
    )
    with ctx.inside(kernel) as frame:
        pointers = frame.entry.args[: len(arguments)]
        ctx.pool = frame.entry.args[-1]
        passed = iter(frame.entry.args[len(arguments) : -2])
        for name in names:
            size = ctx.size(parse_size(name)) if is_derived(name) else next(passed)
            frame.sizes = (*frame.sizes, size)
            size.name_hint = name if size.is_valid_name(name) else None
        for number, (argument, pointer) in enumerate(zip(arguments, pointers, strict=True)):
            pointer.name_hint = argument.name_hint
            frame.places[argument] = Place(pointer, readonly=number < inputs)
        ctx.lower(func.block)
        ctx.place(func)
        ctx.give_back()
        ctx.emit(llvm.ReturnOp, ())
        ctx.check_taken()
    if flush:
        set_float_mode(ctx)
    if ctx.workspace:
        kernel.attributes[WORKSPACE] = IntegerAttr(ctx.workspace, i64)
    return ctx


def _call_extern(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, CallExternOp)
    if len(op.outputs) > 1:
        fail(op, "at most one result", str(len(op.outputs)))
    result: Attribute | None = register_type(op.outputs[0].type) if op.outputs else None
    places = ctx.frame.places
    arguments = [places[value].pointer if value in places else ctx.get(value) for value in op.arguments]
    for number, offset in op.offset_of.items():
        element = memory_type(buffer_of(op.arguments[number]).element_type)
        arguments[number] = ctx.gep(arguments[number], ctx.get(offset), element)
    name = op.callee.data
    if name.startswith("llvm."):
        call = ctx.intrinsic(name, arguments, result)
    else:
        ctx.extern(name, tuple(argument.type for argument in arguments), VOID if result is None else result)
        call = ctx.call(name, arguments, result)
    if op.outputs:
        ctx.set(op.outputs[0], call.results[0])


_HANDLERS: dict[type[Operation], Handler] = {
    **CONTROL,
    **MEMORY,
    **MASKED,
    **CONSTANTS,
    **ARITHMETIC,
    **MATH,
    **VECTORS,
    **LANES,
    **DOTS,
    **TILES,
    CallExternOp: _call_extern,
}
