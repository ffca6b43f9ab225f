"""Operators on each element: numbers, logic, comparisons, bits and choices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ExpandDimsOp
from ..importing.attributes import Flag, Word
from ..importing.converter import Converter, Result
from ..importing.rows import row
from ..importing.tensor import Tensor
from ..importing.terms import Term, term
from ..meanings import elementwise
from .context import Context


def _binary(function: type[Operator] | Callable[[Term, Term], Term]) -> Converter[Context]:
    """A function of two; before opset 7 the second stood at `axis` of the first, if that was given."""

    def computed(ctx: Context, a: Term, b: Term) -> Term:
        if ctx.opset < 7 and ctx.has_attribute("axis"):
            left, right = len(a.shape), len(b.shape)
            axis = ctx.int("axis", 0)
            trailing = left - right - (axis + left if axis < 0 else axis)
            if trailing < 0:
                ctx.fail(f"an axis of at most {left - right}", str(axis))
            b = b.apply(ExpandDimsOp, axis=right, num_newaxis=trailing) if trailing else b
        return a.apply(function, b) if isinstance(function, type) else function(a, b)

    return row(computed, "A B")


def _identity(ctx: Context, data: Tensor) -> Result:
    """A copy; of a known tensor, a sequence or nothing, itself."""
    known = ctx.known(0) if data.plain else data
    return ctx.emit(ew.CopyOp, ctx.value(0)) if known is None else known


def _power(base: Term, exponent: Term) -> Term:
    """In the dtype that holds base and exponent, then rounded to that of the base; integers towards zero."""
    common = _common(base, exponent)
    return base.to(common).apply(ew.PowerOp, exponent.to(common)).to(base.dtype)


def _common(x: Term, y: Term) -> np.dtype[np.generic]:
    """The dtype in which a power is computed."""
    base, exponent = x.dtype, y.dtype
    integral = [dtype.kind in "iu" for dtype in (base, exponent)]
    if base == exponent:
        return base
    if all(integral):
        return np.dtype(np.int64)
    if integral[0]:
        return np.dtype(np.float64)
    if (numbers := x.ctx.known(1)) is not None:
        # An exponent such as 2 or 0.5 costs no wider arithmetic.
        with np.errstate(over="ignore"):
            if (numbers.astype(base).astype(exponent) == numbers).all():
                return base
    wide = [np.dtype(np.float32) if dtype.name == "bfloat16" else dtype for dtype in (base, exponent)]
    return np.result_type(*wide)


def _clip(ctx: Context, x: Term, *bounds: Tensor | None) -> Term:
    """clip when the bounds of a float tensor are known; else maximum and minimum. The upper bound wins."""
    if ctx.opset < 11:
        lowest = float(np.finfo(np.float32).min)
        return _clipped(x, ctx.float("min", lowest), ctx.float("max", -lowest))
    given = [index for index, bound in enumerate(bounds, 1) if bound is not None]
    for index in given:
        if ctx.shape(index) not in ((), (1,)):
            ctx.fail("scalar bounds", f"shape {list(ctx.shape(index))}")
    if x.dtype.kind not in "iu" and all(ctx.tensor(index).array is not None for index in given):
        low, high = (float(ctx.array(i, "bound").item()) if i in given else s * np.inf for i, s in ((1, -1), (2, 1)))
        return _clipped(x, low, high)
    result = elementwise.between(x, *(term(ctx, index) if index in given else None for index in (1, 2)))
    if result.shape != x.shape:
        ctx.fail("bounds that keep the shape", f"shape {list(result.shape)}")
    return result if given else x.apply(ew.CopyOp)


def _clipped(x: Term, low: float, high: float) -> Term:
    return x.clip(min(low, high), high)


def _shifted(x: Term, distance: Term, direction: str) -> Term:
    return x.apply(logic.LeftShiftOp if direction == "LEFT" else logic.RightShiftOp, distance)


def _remainder(a: Term, b: Term, fmod: bool) -> Term:
    """With the sign of the divisor, with `fmod` that of the dividend."""
    return a.apply(division.ModOp if fmod else division.FloorModOp, b)


TABLE = {
    "Abs": row(ew.AbsOp, "X"),
    "Acos": row(ew.AcosOp, "input"),
    "Acosh": row(ew.AcoshOp, "input"),
    "Add": _binary(ew.AddOp),
    "And": _binary(logic.LogicalAndOp),
    "Asin": row(ew.AsinOp, "input"),
    "Asinh": row(ew.AsinhOp, "input"),
    "Atan": row(ew.AtanOp, "input"),
    "Atanh": row(ew.AtanhOp, "input"),
    "BitShift": row(_shifted, "X Y", direction=Word(among=("LEFT", "RIGHT"))),
    "BitwiseAnd": row(logic.BitwiseAndOp, "A B"),
    "BitwiseNot": row(ew.BitwiseNotOp, "X"),
    "BitwiseOr": row(logic.BitwiseOrOp, "A B"),
    "BitwiseXor": row(logic.BitwiseXorOp, "A B"),
    "Ceil": row(ew.CeilOp, "X"),
    "Clip": row(_clip, "input min:tensor? max:tensor?"),
    "Cos": row(ew.CosOp, "input"),
    "Cosh": row(ew.CoshOp, "input"),
    "Div": _binary(ew.DivideOp),
    "Equal": _binary(ew.EqualOp),
    "Erf": row(ew.ErfOp, "input"),
    "Exp": row(ew.ExpOp, "input"),
    "Floor": row(ew.FloorOp, "X"),
    "Greater": _binary(ew.GreaterOp),
    "GreaterOrEqual": row(logic.GreaterEqualOp, "A B"),
    "Identity": row(_identity, "input:tensor"),
    "IsInf": row(
        elementwise.infinite, "X", below=Flag(True, name="detect_negative"), above=Flag(True, name="detect_positive")
    ),
    "IsNaN": row(ew.IsNanOp, "X"),
    "Less": _binary(ew.LessOp),
    "LessOrEqual": row(logic.LessEqualOp, "A B"),
    "Log": row(ew.LogOp, "input"),
    "Max": row(elementwise.combined(ew.MaximumOp), "data_0*"),
    "Mean": row(elementwise.mean, "data_0*"),
    "Min": row(elementwise.combined(ew.MinimumOp), "data_0*"),
    "Mod": row(_remainder, "A B", fmod=Flag(False, others=None)),
    "Mul": _binary(ew.MultiplyOp),
    "Neg": row(ew.NegativeOp, "X"),
    "Not": row(ew.LogicalNotOp, "X"),
    "Or": _binary(logic.LogicalOrOp),
    "Pow": _binary(_power),
    "Reciprocal": row(elementwise.reciprocal, "X"),
    "Relu": row(ew.ReluOp, "X"),
    "Round": row(ew.RoundOp, "X"),
    "Sigmoid": row(ew.SigmoidOp, "X"),
    "Sign": row(ew.SignOp, "input"),
    "Sin": row(ew.SinOp, "input"),
    "Sinh": row(ew.SinhOp, "input"),
    "Sqrt": row(ew.SqrtOp, "X"),
    "Sub": _binary(ew.SubtractOp),
    "Sum": row(elementwise.combined(ew.AddOp), "data_0*"),
    "Tan": row(ew.TanOp, "input"),
    "Tanh": row(ew.TanhOp, "input"),
    "Where": row(logic.WhereOp, "condition X Y"),
    "Xor": _binary(logic.LogicalXorOp),
}
