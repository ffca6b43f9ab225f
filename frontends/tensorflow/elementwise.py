"""Operators on each element."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.numerics import is_float
from ..importing.attributes import Element, Flag
from ..importing.converter import Result
from ..importing.rows import row
from ..importing.tensor import Tensor
from ..importing.terms import Term, maximum, minimum, term, where
from ..meanings import elementwise, formulas, special_functions
from .context import Context


def same(*values: Tensor) -> tuple[Tensor, ...]:
    """Values under other names."""
    return values


def _cast(x: Term, dtype: np.dtype[np.generic], truncate: bool) -> Term:
    if truncate and is_float(x.dtype) and is_float(dtype) and dtype.itemsize < x.dtype.itemsize:
        x.ctx.fail("floats that are rounded", "ones that are cut off")
    return elementwise.cast(x, dtype)


def _product_or_zero(x: Term, y: Term) -> Term:
    """x y; 0 where `y` is 0, whatever `x` is."""
    return where(y.equal(0.0), 0.0, x * y)


def _xdivy(x: Term, y: Term) -> Term:
    zero = x.equal(0.0)
    return where(zero, 0.0, x / where(zero, 1.0, y))


def _clip(x: Term, low: Term, high: Term) -> Term:
    """Numbers brought into a range; of bounds that cross the lower one wins."""
    return maximum(minimum(x, high), low)


def truth(ctx: Context, condition: Tensor) -> Result:
    """The truth of a condition: itself, else that a number is not 0, or that a tensor has elements."""
    if condition.dtype == np.bool_:
        return condition
    if extents := ctx.shape(0):
        return np.asarray(all(extent != 0 for extent in extents))
    return term(ctx, 0).apply(logic.NotEqualOp, 0).value


def is_number(ctx: Context, branch: Term) -> Term:
    """True where a number asks for the branch."""
    return branch.equal(ctx.node.number)


TABLE = {
    "Abs": row(ew.AbsOp, "x"),
    "Acos": row(ew.AcosOp, "x"),
    "Acosh": row(ew.AcoshOp, "x"),
    "Add": row(ew.AddOp, "x y"),
    "AddN": row(elementwise.combined(ew.AddOp), "inputs*"),
    "AddV2": row(ew.AddOp, "x y"),
    "Asin": row(ew.AsinOp, "x"),
    "Asinh": row(ew.AsinhOp, "x"),
    "AssignAdd": row(ew.AddOp, "x y"),
    "AssignAddVariableOp": row(ew.AddOp, "x y"),
    "AssignSub": row(ew.SubtractOp, "x y"),
    "AssignSubVariableOp": row(ew.SubtractOp, "x y"),
    "Atan": row(ew.AtanOp, "x"),
    "Atan2": row(ew.Atan2Op, "x y"),
    "Atanh": row(ew.AtanhOp, "x"),
    "Bitcast": row(elementwise.bitcast, "input", dtype=Element(name="type")),
    "BitwiseAnd": row(logic.BitwiseAndOp, "x y"),
    "BitwiseOr": row(logic.BitwiseOrOp, "x y"),
    "BitwiseXor": row(logic.BitwiseXorOp, "x y"),
    "Cast": row(_cast, "x", dtype=Element(name="DstT"), truncate=Flag(False, name="Truncate")),
    "Ceil": row(ew.CeilOp, "x"),
    "ClipByValue": row(_clip, "t clip_value_min clip_value_max"),
    "Cos": row(ew.CosOp, "x"),
    "Cosh": row(ew.CoshOp, "x"),
    "Digamma": row(special_functions.digamma, "x"),
    "Div": row(ew.DivideOp, "x y"),
    "DivNoNan": row(formulas.quotient_or_zero, "x y"),
    "Equal": row(ew.EqualOp, "x y"),
    "Erf": row(ew.ErfOp, "x"),
    "Erfc": row(special_functions.erfc, "x"),
    "Erfinv": row(special_functions.erf_inverse, "x"),
    "Exp": row(ew.ExpOp, "x"),
    "Expm1": row(ew.Expm1Op, "x"),
    "Floor": row(ew.FloorOp, "x"),
    "FloorDiv": row(division.FloorDivideOp, "x y"),
    "FloorMod": row(division.FloorModOp, "x y"),
    "Greater": row(ew.GreaterOp, "x y"),
    "GreaterEqual": row(logic.GreaterEqualOp, "x y"),
    "IdentityN": row(same, "input:tensor*"),
    "Inv": row(elementwise.reciprocal, "x"),
    "Invert": row(ew.BitwiseNotOp, "x"),
    "IsFinite": row(ew.IsFiniteOp, "x"),
    "IsInf": row(ew.IsInfOp, "x"),
    "IsNan": row(ew.IsNanOp, "x"),
    "LeftShift": row(logic.LeftShiftOp, "x y"),
    "Less": row(ew.LessOp, "x y"),
    "LessEqual": row(logic.LessEqualOp, "x y"),
    "Lgamma": row(special_functions.log_gamma, "x"),
    "Log": row(ew.LogOp, "x"),
    "Log1p": row(ew.Log1pOp, "x"),
    "LogicalAnd": row(logic.LogicalAndOp, "x y"),
    "LogicalNot": row(ew.LogicalNotOp, "x"),
    "LogicalOr": row(logic.LogicalOrOp, "x y"),
    "Maximum": row(ew.MaximumOp, "x y"),
    "Minimum": row(ew.MinimumOp, "x y"),
    "Mod": row(division.TruncModOp, "x y"),
    "Mul": row(ew.MultiplyOp, "x y"),
    "MulNoNan": row(_product_or_zero, "x y"),
    "Neg": row(ew.NegativeOp, "x"),
    "NextAfter": row(formulas.next_after, "x1 x2"),
    "NotEqual": row(logic.NotEqualOp, "x y"),
    "OnesLike": row(ew.OnesLikeOp, "x"),
    "Pow": row(ew.PowerOp, "x y"),
    "RealDiv": row(ew.DivideOp, "x y"),
    "Reciprocal": row(elementwise.reciprocal, "x"),
    "RightShift": row(logic.RightShiftOp, "x y"),
    "Rint": row(ew.RoundOp, "x"),
    "Round": row(ew.RoundOp, "x"),
    "Rsqrt": row(ew.RsqrtOp, "x"),
    "Select": row(elementwise.choice_of_rows, "condition x y"),
    "SelectV2": row(logic.WhereOp, "condition x y"),
    "Sign": row(ew.SignOp, "x"),
    "Sin": row(ew.SinOp, "x"),
    "Sinh": row(ew.SinhOp, "x"),
    "Sqrt": row(ew.SqrtOp, "x"),
    "Square": row(elementwise.square, "x"),
    "SquaredDifference": row(elementwise.squared_difference, "x y"),
    "Sub": row(ew.SubtractOp, "x y"),
    "Tan": row(ew.TanOp, "x"),
    "Tanh": row(ew.TanhOp, "x"),
    "TruncateDiv": row(formulas.truncated_quotient, "x y"),
    "TruncateMod": row(division.TruncModOp, "x y"),
    "Xdivy": row(_xdivy, "x y"),
    "Xlog1py": row(partial(formulas.times_log1p, nan=False), "x y"),
    "Xlogy": row(partial(formulas.times_log, nan=False), "x y"),
    "ZerosLike": row(ew.ZerosLikeOp, "x"),
}
