"""Operators on each element."""

from __future__ import annotations

from functools import reduce

from xdsl.ir import SSAValue

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ReshapeOp
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import term
from .activations import fused
from .context import Context
from .values import DTYPES


def _floor_div(ctx: Context) -> SSAValue:
    """The quotient rounded down; of floats that of float64, which is below a whole number where the exact one is."""
    a, b = term(ctx, 0), term(ctx, 1)
    if a.dtype.kind in "iu":
        return a.apply(division.FloorDivideOp, b).value
    return a.to("float64").apply(division.FloorDivideOp, b.to("float64")).to(a.dtype).value


def _of(op: type[Operator]) -> Converter[Context]:
    """The converter of an operator without options."""
    return Converter(lambda ctx: ctx.emit(op, *ctx.values()))


def _with_activation(op: type[Operator]) -> Converter[Context]:
    return Converter(lambda ctx: fused(ctx, ctx.emit(op, ctx.value(0), ctx.value(1))))


def div(ctx: Context) -> SSAValue:
    """Of integers towards zero."""
    op = division.TruncDivideOp if ctx.dtype(0).kind in "iu" else ew.DivideOp
    return fused(ctx, ctx.emit(op, ctx.value(0), ctx.value(1)))


def _square(ctx: Context) -> SSAValue:
    x = term(ctx, 0)
    return (x * x).value


def squared_difference(ctx: Context) -> SSAValue:
    difference = term(ctx, 0) - term(ctx, 1)
    return (difference * difference).value


def add_n(ctx: Context) -> SSAValue:
    first, *others = ctx.values()
    return reduce(lambda total, value: ctx.emit(ew.AddOp, total, value), others, first)


def cast(ctx: Context) -> SSAValue:
    """To the type of the output; floats as integers towards zero."""
    info = ctx.out()
    if info.type not in DTYPES:
        ctx.fail(f"an element type among {', '.join(DTYPES)}", info.type)
    dtype, value = DTYPES[info.type], ctx.value(0)
    return ctx.emit(ew.CopyOp, value) if dtype_of(value) == dtype else ctx.emit(ew.CastOp, value, dtype=dtype.name)


def bitcast(ctx: Context) -> SSAValue:
    """The same bytes as another type of the same size."""
    info, value = ctx.out(), ctx.value(0)
    old, new = dtype_of(value), DTYPES.get(info.type)
    if new is None or old.itemsize != new.itemsize:
        ctx.fail(f"an element type of {old.itemsize} bytes", info.type)
    return ctx.emit(ew.ReinterpretOp, value, dtype=new.name)


def select(ctx: Context) -> SSAValue:
    """`where`; a condition of one dimension may choose rows (version 1)."""
    condition, x, y = ctx.values()
    rank = len(shape_of(x))
    if len(shape_of(condition)) == 1 < rank and ctx.op_type == "SELECT":
        condition = ctx.emit(ReshapeOp, condition, newshape=(*shape_of(condition), *[1] * (rank - 1)))
    return ctx.emit(logic.WhereOp, condition, x, y)


TABLE = {
    "ABS": _of(ew.AbsOp),
    "ADD": _with_activation(ew.AddOp),
    "ADD_N": Converter(add_n),
    "ATAN2": _of(ew.Atan2Op),
    "BITCAST": Converter(bitcast),
    "BITWISE_XOR": _of(logic.BitwiseXorOp),
    "CAST": Converter(cast),
    "CEIL": _of(ew.CeilOp),
    "COS": _of(ew.CosOp),
    "DIV": Converter(div),
    "EQUAL": _of(ew.EqualOp),
    "EXP": _of(ew.ExpOp),
    "FLOOR": _of(ew.FloorOp),
    "FLOOR_DIV": Converter(_floor_div),
    "FLOOR_MOD": _of(division.FloorModOp),
    "GREATER": _of(ew.GreaterOp),
    "GREATER_EQUAL": _of(logic.GreaterEqualOp),
    "LESS": _of(ew.LessOp),
    "LESS_EQUAL": _of(logic.LessEqualOp),
    "LOG": _of(ew.LogOp),
    "LOGICAL_AND": _of(logic.LogicalAndOp),
    "LOGICAL_NOT": _of(ew.LogicalNotOp),
    "LOGICAL_OR": _of(logic.LogicalOrOp),
    "MAXIMUM": _of(ew.MaximumOp),
    "MINIMUM": _of(ew.MinimumOp),
    "MUL": _with_activation(ew.MultiplyOp),
    "NEG": _of(ew.NegativeOp),
    "NOT_EQUAL": _of(logic.NotEqualOp),
    "POW": _of(ew.PowerOp),
    "RIGHT_SHIFT": _of(logic.RightShiftOp),
    "ROUND": _of(ew.RoundOp),
    "RSQRT": _of(ew.RsqrtOp),
    "SELECT": Converter(select),
    "SELECT_V2": Converter(select),
    "SIGN": _of(ew.SignOp),
    "SIN": _of(ew.SinOp),
    "SQRT": _of(ew.SqrtOp),
    "SQUARE": Converter(_square),
    "SQUARED_DIFFERENCE": Converter(squared_difference),
    "SUB": _with_activation(ew.SubtractOp),
    "ZEROS_LIKE": _of(ew.ZerosLikeOp),
}
