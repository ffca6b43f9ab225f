"""Products of small integers packed in words, in the form for which LLVM has an instruction where the machine does."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerType, VectorType, i8, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.tir import Dot2Op, Dot4Op, DotBf16Op, JoinBytesOp, WidenPairsOp
from .context import Handler, Lowering
from .types import lanes, register_type, vector_type


def _dot(parts: int, first: type[Operation], second: type[Operation]) -> Handler:
    """A handler for words of some parts, which `first` and `second` widen."""
    narrow = IntegerType(32 // parts)

    def lower(ctx: Lowering, op: Operation) -> None:
        words = [ctx.get(operand) for operand in op.operands]
        count = lanes(words[0].type) * parts
        wide = VectorType(i32, [count])
        factors: list[SSAValue] = []
        for word, widen in zip(words, (first, second), strict=True):
            split = ctx.value(llvm.BitcastOp, (word,), VectorType(narrow, [count]))
            factors.append(ctx.value(widen, (split,), wide))
        products = ctx.value(llvm.MulOp, factors, wide)
        ctx.set(op.results[0], _summed(ctx, products, parts, op.results[0].type))

    return lower


def _summed(ctx: Lowering, products: SSAValue, parts: int, type_: Attribute) -> SSAValue:
    """The sum of each `parts` neighbouring lanes: vectors of every other lane, added."""
    while parts > 1:
        half = lanes(products.type) // 2
        narrower = VectorType(i32, [half])
        sides = [ctx.shuffle(products, products, range(start, 2 * half, 2), narrower) for start in (0, 1)]
        products = ctx.value(llvm.AddOp, sides, narrower)
        parts //= 2
    return products if vector_type(type_) is not None else ctx.extract(products, 0, i32)


def _widen_pairs(ctx: Lowering, op: Operation) -> None:
    words = ctx.get(op.operands[0])
    count = 2 * lanes(words.type)
    bytes_ = ctx.value(llvm.BitcastOp, (words,), VectorType(i8, [count]))
    wide = ctx.value(llvm.SExtOp, (bytes_,), VectorType(i16, [count]))
    ctx.set(op.results[0], ctx.value(llvm.BitcastOp, (wide,), register_type(op.results[0].type)))


def _dot_bf16(ctx: Lowering, op: Operation) -> None:
    """The upper half of a word is a float32 as it is, but for the bits below; the lower half moves up."""
    words = [ctx.get(operand) for operand in op.operands]
    word, total = words[0].type, register_type(op.results[0].type)
    products: list[SSAValue] = []
    for kind, by in ((llvm.ShlOp, 16), (llvm.AndOp, -1 << 16)):
        bits = [ctx.value(kind, (each, ctx.number(by, word)), word) for each in words]
        products.append(ctx.value(llvm.FMulOp, [ctx.value(llvm.BitcastOp, (part,), total) for part in bits], total))
    ctx.set(op.results[0], ctx.value(llvm.FAddOp, products, total))


def _join_bytes(ctx: Lowering, op: Operation) -> None:
    type_ = register_type(op.results[0].type)
    word: SSAValue | None = None
    for position, operand in enumerate(op.operands):
        part = ctx.value(llvm.ZExtOp, (ctx.get(operand),), type_)
        if position:
            part = ctx.value(llvm.ShlOp, (part, ctx.number(8 * position, type_)), type_)
        word = part if word is None else ctx.value(llvm.OrOp, (word, part), type_)
    assert word is not None
    ctx.set(op.results[0], word)


DOTS: Mapping[type[Operation], Handler] = {
    Dot2Op: _dot(2, llvm.SExtOp, llvm.SExtOp),
    Dot4Op: _dot(4, llvm.ZExtOp, llvm.SExtOp),
    DotBf16Op: _dot_bf16,
    WidenPairsOp: _widen_pairs,
    JoinBytesOp: _join_bytes,
}
