"""Operators on each element."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.ir import SSAValue

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.operator import Operator
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import elementwise
from .activations import fused
from .context import Context
from .values import DTYPES


def _floor_div(a: Term, b: Term) -> Term:
    """The quotient rounded down; of floats that of float64, which is below a whole number where the exact one is."""
    if a.dtype.kind in "iu":
        return a.apply(division.FloorDivideOp, b)
    return a.to("float64").apply(division.FloorDivideOp, b.to("float64")).to(a.dtype)


def _activated(op: type[Operator], ctx: Context, a: Term, b: Term) -> SSAValue:
    return fused(ctx, a.apply(op, b).value)


def _with_activation(op: type[Operator]) -> Converter[Context]:
    return row(partial(_activated, op), "lhs rhs")


def _to_output(function: Callable[..., Term]) -> Converter[Context]:
    """A function of a tensor and the element type of the output."""

    def computed(ctx: Context, x: Term) -> Term:
        name = ctx.out().type
        if name not in DTYPES:
            ctx.fail(f"an element type among {', '.join(DTYPES)}", name)
        return function(x, DTYPES[name])

    return row(computed, "input")


TABLE = {
    "ABS": row(ew.AbsOp, "x"),
    "ADD": _with_activation(ew.AddOp),
    "ADD_N": row(elementwise.combined(ew.AddOp), "input*"),
    "ATAN2": row(ew.Atan2Op, "lhs rhs"),
    "BITCAST": _to_output(elementwise.bitcast),
    "BITWISE_XOR": row(logic.BitwiseXorOp, "lhs rhs"),
    "CAST": _to_output(elementwise.cast),
    "CEIL": row(ew.CeilOp, "x"),
    "COS": row(ew.CosOp, "x"),
    "DIV": _with_activation(ew.DivideOp),
    "EQUAL": row(ew.EqualOp, "lhs rhs"),
    "EXP": row(ew.ExpOp, "x"),
    "FLOOR": row(ew.FloorOp, "x"),
    "FLOOR_DIV": row(_floor_div, "lhs rhs"),
    "FLOOR_MOD": row(division.FloorModOp, "lhs rhs"),
    "GREATER": row(ew.GreaterOp, "lhs rhs"),
    "GREATER_EQUAL": row(logic.GreaterEqualOp, "lhs rhs"),
    "LESS": row(ew.LessOp, "lhs rhs"),
    "LESS_EQUAL": row(logic.LessEqualOp, "lhs rhs"),
    "LOG": row(ew.LogOp, "x"),
    "LOGICAL_AND": row(logic.LogicalAndOp, "lhs rhs"),
    "LOGICAL_NOT": row(ew.LogicalNotOp, "x"),
    "LOGICAL_OR": row(logic.LogicalOrOp, "lhs rhs"),
    "MAXIMUM": row(ew.MaximumOp, "lhs rhs"),
    "MINIMUM": row(ew.MinimumOp, "lhs rhs"),
    "MUL": _with_activation(ew.MultiplyOp),
    "NEG": row(ew.NegativeOp, "x"),
    "NOT_EQUAL": row(logic.NotEqualOp, "lhs rhs"),
    "POW": row(ew.PowerOp, "lhs rhs"),
    "RIGHT_SHIFT": row(logic.RightShiftOp, "lhs rhs"),
    "ROUND": row(ew.RoundOp, "x"),
    "RSQRT": row(ew.RsqrtOp, "x"),
    "SELECT": row(elementwise.choice_of_rows, "condition x y"),
    "SELECT_V2": row(logic.WhereOp, "condition x y"),
    "SIGN": row(ew.SignOp, "x"),
    "SIN": row(ew.SinOp, "x"),
    "SQRT": row(ew.SqrtOp, "x"),
    "SQUARE": row(elementwise.square, "x"),
    "SQUARED_DIFFERENCE": row(elementwise.squared_difference, "lhs rhs"),
    "SUB": _with_activation(ew.SubtractOp),
    "ZEROS_LIKE": row(ew.ZerosLikeOp, "x"),
}
