"""Operators on each element."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ReshapeOp
from ..importing.converter import Converter, Result
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, maximum, minimum, term, where
from ..meanings import formulas
from ..meanings.special_functions import erfc
from .context import Context


def _of(op: type[Operator], count: int = 1) -> Converter[Context]:
    """The converter of an operator that needs no attributes."""
    return Converter(lambda ctx: ctx.emit(op, *[ctx.value(index) for index in range(count)]))


def _unary(function: Callable[[Term], Term]) -> Converter[Context]:
    return Converter(lambda ctx: function(term(ctx, 0)).value)


def _binary(function: Callable[[Term, Term], Term]) -> Converter[Context]:
    return Converter(lambda ctx: function(term(ctx, 0), term(ctx, 1)).value)


def same(ctx: Context) -> Result:
    """The value under another name."""
    return ctx.tensor(0)


def all_same(ctx: Context) -> tuple[Result, ...]:
    return tuple(ctx.tensor(index) for index in range(len(ctx.inputs)))


def div(ctx: Context) -> SSAValue:
    """Of integers towards zero."""
    op = division.TruncDivideOp if ctx.dtype(0).kind in "iu" else ew.DivideOp
    return ctx.emit(op, ctx.value(0), ctx.value(1))


def cast(ctx: Context) -> SSAValue:
    """Floats as integers towards zero, all but 0 as true."""
    value, dtype = ctx.value(0), ctx.element("DstT")
    floats = is_float(dtype_of(value)) and is_float(dtype)
    if ctx.flag("Truncate") and floats and dtype.itemsize < dtype_of(value).itemsize:
        ctx.fail("floats that are rounded", "ones that are cut off")
    return ctx.emit(ew.CopyOp, value) if dtype_of(value) == dtype else ctx.emit(ew.CastOp, value, dtype=dtype.name)


def bitcast(ctx: Context) -> SSAValue:
    """The same bytes as another type of the same size."""
    value, new = ctx.value(0), ctx.element("type")
    if dtype_of(value).itemsize != new.itemsize:
        ctx.fail(f"an element type of {dtype_of(value).itemsize} bytes", new.name)
    return ctx.emit(ew.ReinterpretOp, value, dtype=new.name)


def select(ctx: Context) -> SSAValue:
    """`where`; a condition of one dimension may choose rows."""
    condition, x, y = ctx.values()
    rank = len(shape_of(x))
    if len(shape_of(condition)) == 1 < rank:
        condition = ctx.emit(ReshapeOp, condition, newshape=(*shape_of(condition), *[1] * (rank - 1)))
    return ctx.emit(logic.WhereOp, condition, x, y)


def add_n(ctx: Context) -> SSAValue:
    first, *others = ctx.values()
    total = reduce(lambda sum_, value: ctx.emit(ew.AddOp, sum_, value), others, first)
    return total if others else ctx.emit(ew.CopyOp, first)


def _xdivy(x: Term, y: Term) -> Term:
    zero = x.equal(0.0)
    return where(zero, 0.0, x / where(zero, 1.0, y))


def _difference(x: Term, y: Term) -> Term:
    """The square of the difference."""
    difference = x - y
    return difference * difference


def clip(ctx: Context) -> SSAValue:
    return minimum(maximum(term(ctx, 0), term(ctx, 1)), term(ctx, 2)).value


def truth(ctx: Context) -> Result:
    """The truth of a condition: itself, else that a number is not 0, or that a tensor has elements."""
    if ctx.dtype(0) == np.bool_:
        return ctx.tensor(0)
    if ctx.shape(0):
        extents = ctx.shape(0)
        return np.asarray(all(extent != 0 for extent in extents))
    return ctx.emit(logic.NotEqualOp, ctx.value(0), ctx.number(0, ctx.dtype(0).name))


def is_number(ctx: Context) -> SSAValue:
    """True where a number asks for the branch."""
    return ctx.emit(ew.EqualOp, ctx.value(0), ctx.number(ctx.node.number, ctx.dtype(0).name))


TABLE = {
    "Abs": _of(ew.AbsOp),
    "Acos": _of(ew.AcosOp),
    "Acosh": _of(ew.AcoshOp),
    "Add": _of(ew.AddOp, 2),
    "AddN": Converter(add_n),
    "AddV2": _of(ew.AddOp, 2),
    "Asin": _of(ew.AsinOp),
    "Asinh": _of(ew.AsinhOp),
    "AssignAdd": _of(ew.AddOp, 2),
    "AssignAddVariableOp": _of(ew.AddOp, 2),
    "AssignSub": _of(ew.SubtractOp, 2),
    "AssignSubVariableOp": _of(ew.SubtractOp, 2),
    "Atan": _of(ew.AtanOp),
    "Atan2": _of(ew.Atan2Op, 2),
    "Atanh": _of(ew.AtanhOp),
    "Bitcast": Converter(bitcast),
    "BitwiseAnd": _of(logic.BitwiseAndOp, 2),
    "BitwiseOr": _of(logic.BitwiseOrOp, 2),
    "BitwiseXor": _of(logic.BitwiseXorOp, 2),
    "Cast": Converter(cast),
    "Ceil": _of(ew.CeilOp),
    "ClipByValue": Converter(clip),
    "Cos": _of(ew.CosOp),
    "Cosh": _of(ew.CoshOp),
    "Div": Converter(div),
    "DivNoNan": _binary(formulas.quotient_or_zero),
    "Equal": _of(ew.EqualOp, 2),
    "Erf": _of(ew.ErfOp),
    "Erfc": _unary(erfc),
    "Exp": _of(ew.ExpOp),
    "Expm1": _of(ew.Expm1Op),
    "Floor": _of(ew.FloorOp),
    "FloorDiv": _of(division.FloorDivideOp, 2),
    "FloorMod": _of(division.FloorModOp, 2),
    "Greater": _of(ew.GreaterOp, 2),
    "GreaterEqual": _of(logic.GreaterEqualOp, 2),
    "IdentityN": Converter(all_same),
    "Inv": _unary(lambda x: 1.0 / x),
    "Invert": _of(ew.BitwiseNotOp),
    "IsFinite": _of(ew.IsFiniteOp),
    "IsInf": _of(ew.IsInfOp),
    "IsNan": _of(ew.IsNanOp),
    "LeftShift": _of(logic.LeftShiftOp, 2),
    "Less": _of(ew.LessOp, 2),
    "LessEqual": _of(logic.LessEqualOp, 2),
    "Log": _of(ew.LogOp),
    "Log1p": _of(ew.Log1pOp),
    "LogicalAnd": _of(logic.LogicalAndOp, 2),
    "LogicalNot": _of(ew.LogicalNotOp),
    "LogicalOr": _of(logic.LogicalOrOp, 2),
    "Maximum": _of(ew.MaximumOp, 2),
    "Minimum": _of(ew.MinimumOp, 2),
    "Mod": _of(division.TruncModOp, 2),
    "Mul": _of(ew.MultiplyOp, 2),
    "MulNoNan": _binary(lambda x, y: where(y.equal(0.0), 0.0, x * y)),
    "Neg": _of(ew.NegativeOp),
    "NotEqual": _of(logic.NotEqualOp, 2),
    "OnesLike": _of(ew.OnesLikeOp),
    "Pow": _of(ew.PowerOp, 2),
    "RealDiv": _of(ew.DivideOp, 2),
    "Reciprocal": _unary(lambda x: 1.0 / x),
    "RightShift": _of(logic.RightShiftOp, 2),
    "Rint": _of(ew.RoundOp),
    "Round": _of(ew.RoundOp),
    "Rsqrt": _of(ew.RsqrtOp),
    "Select": Converter(select),
    "SelectV2": _of(logic.WhereOp, 3),
    "Sign": _of(ew.SignOp),
    "Sin": _of(ew.SinOp),
    "Sinh": _of(ew.SinhOp),
    "Sqrt": _of(ew.SqrtOp),
    "Square": _unary(lambda x: x * x),
    "SquaredDifference": _binary(_difference),
    "Sub": _of(ew.SubtractOp, 2),
    "Tan": _of(ew.TanOp),
    "Tanh": _of(ew.TanhOp),
    "TruncateDiv": Converter(div),
    "TruncateMod": _of(division.TruncModOp, 2),
    "Xdivy": _binary(_xdivy),
    "Xlog1py": _binary(partial(formulas.times_log1p, nan=False)),
    "Xlogy": _binary(partial(formulas.times_log, nan=False)),
    "ZerosLike": _of(ew.ZerosLikeOp),
}
