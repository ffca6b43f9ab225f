"""Operators on each element, and reductions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ExpandDimsOp
from ..importing.converter import Converter, Result
from ..importing.tensor import shape_of
from .context import Context

Convert = Callable[[Context], SSAValue]


def elementwise(op: type[Operator]) -> Convert:
    """The converter of an operator without attributes."""
    return lambda ctx: ctx.emit(op, *_operands(ctx))


def _operands(ctx: Context) -> list[SSAValue]:
    """The inputs; before opset 7 the second stood at `axis` of the first, if that was given."""
    values = ctx.values()
    if ctx.opset < 7 and len(values) == 2 and ctx.has_attribute("axis"):
        left, right = map(len, map(shape_of, values))
        axis = ctx.int("axis", 0)
        trailing = left - right - (axis + left if axis < 0 else axis)
        if trailing < 0:
            ctx.fail(f"an axis of at most {left - right}", str(axis))
        if trailing:
            values[1] = ctx.emit(ExpandDimsOp, values[1], axis=right, num_newaxis=trailing)
    return values


def variadic(op: type[Operator]) -> Convert:
    """The converter of an operator that takes any number of operands, from left to right."""

    def convert(ctx: Context) -> SSAValue:
        first, *others = ctx.values()
        return reduce(lambda total, value: ctx.emit(op, total, value), others, first) if others else _copy(ctx)

    return convert


def _copy(ctx: Context) -> SSAValue:
    return ctx.emit(ew.CopyOp, ctx.value(0))


def identity(ctx: Context) -> Result:
    """A copy; of a known tensor, a sequence or nothing, itself."""
    if not ctx.tensor(0).plain:
        return ctx.tensor(0)
    known = ctx.known(0)
    return _copy(ctx) if known is None else known


def isinf(ctx: Context) -> SSAValue:
    """Infinities of one sign only are found by comparing; of none, by comparing with what nothing equals."""
    below, above = (bool(ctx.int(name, 1)) for name in ("detect_negative", "detect_positive"))
    data = ctx.value(0)
    if below and above:
        return ctx.emit(ew.IsInfOp, data)
    sought = np.inf if above else -np.inf if below else np.nan
    return ctx.emit(ew.EqualOp, data, ctx.scalar(sought, data))


def power(ctx: Context) -> SSAValue:
    """In the dtype that holds base and exponent, then rounded to that of the base; integers towards zero."""
    own = ctx.dtype(0)
    common = _common(ctx).name
    base, exponent = (
        ctx.value(i) if ctx.dtype(i).name == common else ctx.emit(ew.CastOp, ctx.value(i), dtype=common) for i in (0, 1)
    )
    result = ctx.emit(ew.PowerOp, base, exponent)
    return result if own.name == common else ctx.emit(ew.CastOp, result, dtype=own.name)


def _common(ctx: Context) -> np.dtype[np.generic]:
    """The dtype in which a power is computed."""
    base, exponent = ctx.dtype(0), ctx.dtype(1)
    integral = [dtype.kind in "iu" for dtype in (base, exponent)]
    if base == exponent:
        return base
    if all(integral):
        return np.dtype(np.int64)
    if integral[0]:
        return np.dtype(np.float64)
    if ctx.tensor(1).array is not None:
        # An exponent such as 2 or 0.5 costs no wider arithmetic.
        numbers = ctx.array(1, "an exponent")
        with np.errstate(over="ignore"):
            if (numbers.astype(base).astype(exponent) == numbers).all():
                return base
    wide = [np.dtype(np.float32) if dtype.name == "bfloat16" else dtype for dtype in (base, exponent)]
    return np.result_type(*wide)


def clip(ctx: Context) -> SSAValue:
    """clip when the bounds of a float tensor are known; else maximum and minimum. The upper bound wins."""
    data = ctx.value(0)
    if ctx.opset < 11:
        lowest = float(np.finfo(np.float32).min)
        return ctx.emit(ew.ClipOp, data, **_bounds(ctx.float("min", lowest), ctx.float("max", -lowest)))
    given = [index for index in (1, 2) if ctx.has(index)]
    for index in given:
        if ctx.shape(index) not in ((), (1,)):
            ctx.fail("scalar bounds", f"shape {list(ctx.shape(index))}")
    if ctx.dtype(0).kind not in "iu" and all(ctx.tensor(index).array is not None for index in given):
        low, high = (float(ctx.array(i, "bound").item()) if i in given else s * np.inf for i, s in ((1, -1), (2, 1)))
        return ctx.emit(ew.ClipOp, data, **_bounds(low, high))
    for index in given:
        data = ctx.emit(ew.MaximumOp if index == 1 else ew.MinimumOp, data, ctx.value(index))
    if not given:
        return _copy(ctx)
    if shape_of(data) != ctx.shape(0):
        ctx.fail("bounds that keep the shape", f"shape {list(shape_of(data))}")
    return data


def _bounds(low: float, high: float) -> dict[str, float]:
    return {"a_min": min(low, high), "a_max": high}


TABLE = {
    "Abs": Converter(elementwise(ew.AbsOp)),
    "Acos": Converter(elementwise(ew.AcosOp)),
    "Acosh": Converter(elementwise(ew.AcoshOp)),
    "Add": Converter(elementwise(ew.AddOp)),
    "Asin": Converter(elementwise(ew.AsinOp)),
    "Asinh": Converter(elementwise(ew.AsinhOp)),
    "Atan": Converter(elementwise(ew.AtanOp)),
    "Atanh": Converter(elementwise(ew.AtanhOp)),
    "BitwiseNot": Converter(elementwise(ew.BitwiseNotOp)),
    "Ceil": Converter(elementwise(ew.CeilOp)),
    "Clip": Converter(clip),
    "Cos": Converter(elementwise(ew.CosOp)),
    "Cosh": Converter(elementwise(ew.CoshOp)),
    "Div": Converter(elementwise(ew.DivideOp)),
    "Equal": Converter(elementwise(ew.EqualOp)),
    "Erf": Converter(elementwise(ew.ErfOp)),
    "Exp": Converter(elementwise(ew.ExpOp)),
    "Floor": Converter(elementwise(ew.FloorOp)),
    "Greater": Converter(elementwise(ew.GreaterOp)),
    "Identity": Converter(identity),
    "IsInf": Converter(isinf),
    "IsNaN": Converter(elementwise(ew.IsNanOp)),
    "Less": Converter(elementwise(ew.LessOp)),
    "Log": Converter(elementwise(ew.LogOp)),
    "Max": Converter(variadic(ew.MaximumOp)),
    "Min": Converter(variadic(ew.MinimumOp)),
    "Mul": Converter(elementwise(ew.MultiplyOp)),
    "Neg": Converter(elementwise(ew.NegativeOp)),
    "Not": Converter(elementwise(ew.LogicalNotOp)),
    "Pow": Converter(power),
    "Relu": Converter(elementwise(ew.ReluOp)),
    "Round": Converter(elementwise(ew.RoundOp)),
    "Sigmoid": Converter(elementwise(ew.SigmoidOp)),
    "Sign": Converter(elementwise(ew.SignOp)),
    "Sin": Converter(elementwise(ew.SinOp)),
    "Sinh": Converter(elementwise(ew.SinhOp)),
    "Sqrt": Converter(elementwise(ew.SqrtOp)),
    "Sub": Converter(elementwise(ew.SubtractOp)),
    "Sum": Converter(variadic(ew.AddOp)),
    "Tan": Converter(elementwise(ew.TanOp)),
    "Tanh": Converter(elementwise(ew.TanhOp)),
}
