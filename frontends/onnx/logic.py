"""Logic, comparisons, bits, choice, remainders; sums and casts of several inputs."""

from __future__ import annotations

from functools import reduce
from operator import add

from xdsl.ir import SSAValue

from ...dialects.relay import division, logic
from ..importing.converter import Converter
from ..importing.terms import term, wide_term
from .context import Context
from .elementwise import elementwise


def bit_shift(ctx: Context) -> SSAValue:
    match ctx.word("direction", ""):
        case "LEFT":
            return ctx.emit(logic.LeftShiftOp, ctx.value(0), ctx.value(1))
        case "RIGHT":
            return ctx.emit(logic.RightShiftOp, ctx.value(0), ctx.value(1))
        case other:
            ctx.fail("direction LEFT or RIGHT", repr(other))


def mean(ctx: Context) -> SSAValue:
    """The sum of the inputs, which broadcast, divided by how many they are."""
    total = reduce(add, [wide_term(ctx, index) for index in range(len(ctx.inputs))])
    return (total / len(ctx.inputs)).to(ctx.dtype(0)).value


def mod(ctx: Context) -> SSAValue:
    """The remainder has the sign of the divisor, with `fmod` that of the dividend."""
    op = division.ModOp if ctx.flag("fmod", others=None) else division.FloorModOp
    return ctx.emit(op, ctx.value(0), ctx.value(1))


def reciprocal(ctx: Context) -> SSAValue:
    return (1.0 / term(ctx, 0)).value


TABLE = {
    "And": Converter(elementwise(logic.LogicalAndOp)),
    "BitShift": Converter(bit_shift),
    "BitwiseAnd": Converter(elementwise(logic.BitwiseAndOp)),
    "BitwiseOr": Converter(elementwise(logic.BitwiseOrOp)),
    "BitwiseXor": Converter(elementwise(logic.BitwiseXorOp)),
    "GreaterOrEqual": Converter(elementwise(logic.GreaterEqualOp)),
    "LessOrEqual": Converter(elementwise(logic.LessEqualOp)),
    "Mean": Converter(mean),
    "Mod": Converter(mod),
    "Or": Converter(elementwise(logic.LogicalOrOp)),
    "Reciprocal": Converter(reciprocal),
    "Where": Converter(elementwise(logic.WhereOp)),
    "Xor": Converter(elementwise(logic.LogicalXorOp)),
}
