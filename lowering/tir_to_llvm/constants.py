"""The data of a kernel: constant buffers, and the messages of its assertions."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr, i8
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.tir import buffer_of
from ...dialects.tir.statements import AllocConstOp, AssertOp
from ...provenance.diagnostics import describe
from .context import Handler, Lowering
from .frame import Place
from .types import PTR, VOID, memory_type

ASSERT_FAILED = "whence_assert_failed"
"""`void (ptr message)` of the runtime: told of an assertion that does not hold, by a zero-terminated text."""


def address(ctx: Lowering, value: Attribute, element: Attribute, count: int) -> SSAValue:
    """The address of a constant of the module, 64-byte aligned."""
    name = f"{ctx.symbol}_const{len(ctx.globals)}"
    type_ = llvm.LLVMArrayType(count, element)
    data = llvm.GlobalOp(type_, name, "internal", constant=True, value=value, alignment=64)
    data.location = ctx.location
    ctx.globals.append(data)
    return ctx.value(llvm.AddressOfOp, (), PTR, {"global_name": SymbolRefAttr(name)})


def _alloc_const(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, AllocConstOp)
    type_ = buffer_of(op.result)
    with ctx.hoisted(ctx.frame.scopes[0]):
        pointer = address(ctx, op.value, memory_type(type_.element_type), cast(int, type_.size))
    ctx.frame.places[op.result] = Place(pointer, aligned=True, readonly=True)


def _assert(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, AssertOp)
    where = describe(op.location)
    text = f"{op.message.data}{f' ({where})' if where else ''}\0"
    holds, fails = ctx.new_block(), ctx.new_block()
    ctx.branch_if(ctx.get(op.condition), holds, fails)
    ctx.start(fails)
    ctx.extern(ASSERT_FAILED, (PTR,), VOID)
    ctx.call(ASSERT_FAILED, (address(ctx, StringAttr(text), i8, len(text.encode())),))
    ctx.give_back()
    ctx.emit(llvm.ReturnOp, ())
    ctx.start(holds)


CONSTANTS: dict[type[Operation], Handler] = {AllocConstOp: _alloc_const, AssertOp: _assert}
