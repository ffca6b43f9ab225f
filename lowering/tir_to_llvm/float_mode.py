"""The mode in which floats are computed: results smaller than the smallest normal number are 0.

Such denormal numbers take x86 a hundred cycles each, and whole tensors of them come of exponentials and of saturated
gates. A function that computes floats sets the mode of its thread and sets it back, so that results are the same
whoever calls it, and in whichever thread.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, i32
from xdsl.ir import Attribute, Operation

from ...dialects import llvm_ext
from ...support.context import PassContext
from .builder import LLVMBuilder
from .types import PTR, vector_type

_FLUSH = 1 << 15
"""A bit of MXCSR. Operands are not flushed: code that decodes small floats makes denormal ones on purpose."""
_MOVES = (
    *(llvm.LoadOp, llvm.ConstantOp, llvm.BitcastOp, llvm.UndefOp, llvm.InsertElementOp, llvm.ShuffleVectorOp),
    *(llvm_ext.PoisonOp, llvm_ext.SplatOp, llvm_ext.ExtractElementOp, llvm_ext.SelectOp),
)
"""Ops that give floats as they are."""


def flushes(triple: str) -> bool:
    """Return whether code for a machine sets the mode: for x86-64, unless `tir.flush_denormals` is off."""
    return triple.startswith("x86_64") and bool(PassContext.current().option("tir.flush_denormals"))


def set_float_mode(builder: LLVMBuilder) -> None:
    """Have those of the functions that a builder built, which compute floats, set the mode and set it back."""
    for function in builder.functions:
        if any(_computes(op) for block in function.body.blocks for op in block.ops):
            _set_in(builder, function)


def _computes(op: Operation) -> bool:
    return not isinstance(op, _MOVES) and any(_is_float(result.type) for result in op.results)


def _is_float(type_: Attribute) -> bool:
    vector = vector_type(type_)
    return isinstance(type_ if vector is None else vector.element_type, AnyFloat)


def _set_in(builder: LLVMBuilder, function: llvm.FuncOp) -> None:
    blocks = function.body.blocks
    first, exits = blocks[0].first_op, [block.last_op for block in blocks if isinstance(block.last_op, llvm.ReturnOp)]
    assert first is not None
    last = exits[-1]
    assert last is not None
    builder.location, builder.line = last.location, builder.lines.get(last)
    with builder.before(first):
        count = builder.value(llvm.ConstantOp, (), i32, {"value": IntegerAttr(2, i32)})
        modes = builder.value(llvm.AllocaOp, (count,), PTR, {"elem_type": i32, "alignment": IntegerAttr(8, i32)})
        position = builder.value(llvm.ConstantOp, (), i32, {"value": IntegerAttr(1, i32)})
        flushing = builder.gep(modes, position, i32)
        bits = builder.value(llvm.ConstantOp, (), i32, {"value": IntegerAttr(_FLUSH, i32)})
        builder.intrinsic("llvm.x86.sse.stmxcsr", (modes,), None)
        mode = builder.value(llvm.OrOp, (builder.load(modes, i32, 4), bits), i32)
        builder.store(mode, flushing, 4)
        builder.intrinsic("llvm.x86.sse.ldmxcsr", (flushing,), None)
    for op in exits:
        assert op is not None
        with builder.before(op):
            builder.intrinsic("llvm.x86.sse.ldmxcsr", (modes,), None)
