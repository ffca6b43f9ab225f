"""Operators on each element: functions of one tensor, and of two in the element type in which they meet."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.operator import Operator
from ..importing.attributes import Element, Float, Int, Word
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, absolute, is_nan, once, where
from ..meanings import elementwise, formulas
from ..meanings.elementwise import numeric
from ..meanings.special_functions import digamma, erfc, log_gamma
from .context import Context
from .promotion import BOOL, common_type, floating, kind_of, meeting, operand


def of_floats(function: type[Operator] | Callable[..., Term], **attributes: Any) -> Converter[Context]:
    """A function of floats; of integers it is that of float32. Of halves several operators are rounded once."""

    def computed(x: Term, **options: Any) -> Term:
        x = x.to(floating(x.dtype))
        return x.apply(function) if isinstance(function, type) else once(function)(x, **options)

    return row(computed, "self", **attributes)


def _sign(x: Term) -> Term:
    """1, 0 or -1; of what is no number 0."""
    if x.dtype == BOOL:
        return x.apply(ew.CopyOp)
    result = x.apply(ew.SignOp)
    return where(is_nan(x), 0.0, result) if kind_of(x.dtype) == 2 else result


def _scaled(op: type[Operator], *, reversed: bool = False) -> Converter[Context]:
    """An operator whose second operand is times `alpha`; with `reversed` it is the first argument."""

    def computed(x: Term, y: Term, alpha: Term | None) -> Term:
        x, y = (y, x) if reversed else (x, y)
        return numeric(op)(x, y if alpha is None else numeric(ew.MultiplyOp)(y, alpha))

    return meeting(computed, beside="alpha?")


_QUOTIENTS = {"floor": formulas.floored_quotient, "trunc": formulas.truncated_quotient}


def _quotient(ctx: Context, mode: str | None) -> Term:
    """In floats; rounded if so asked, where integers stay integers."""
    dtype = common_type(ctx, ("self", "other"))
    if dtype == BOOL and mode:
        ctx.fail("numbers", "truth values")
    a, b = (operand(ctx, name, dtype if mode else floating(dtype)) for name in ("self", "other"))
    return _QUOTIENTS[mode](a, b) if mode else a / b


def _power(ctx: Context) -> Term:
    """Of a number whose exponent is known and small, products and roots."""
    exponent = ctx.argument("exponent")
    dtype = common_type(ctx, ("self", "exponent"))
    base = operand(ctx, "self", dtype)
    if isinstance(exponent, int | float):
        match float(exponent):
            case 1.0:
                return base.apply(ew.CopyOp)
            case 2.0:
                return base * base
            case 3.0:
                return base * base * base
            case 0.5 if kind_of(dtype) == 2:
                return base.apply(ew.SqrtOp)
            case -0.5 if kind_of(dtype) == 2:
                return base.apply(ew.RsqrtOp)
            case -1.0 if kind_of(dtype) == 2:
                return 1.0 / base
            case _ if exponent < 0 and kind_of(dtype) < 2:
                ctx.fail("an exponent of at least 0 for integers", str(exponent))
            case _:
                pass
    return base.apply(ew.PowerOp, operand(ctx, "exponent", dtype))


def _masked_fill(mask: Term, x: Term, value: Term) -> Term:
    return where(mask, value, x)


def _lerp(start: Term, end: Term, weight: Term) -> Term:
    """From the nearer end: so an infinite one stays, and what is between is between the two."""
    way = end - start
    return where(absolute(weight) < 0.5, start + weight * way, end - way * (-weight + 1.0))


def _plus(function: Callable[[Term, Term], Term]) -> Converter[Context]:
    """self + value * function(tensor1, tensor2)."""

    def computed(x: Term, a: Term, b: Term, value: Term | None) -> Term:
        more = function(a, b)
        return x + (more if value is None else more * value)

    return meeting(computed, "self tensor1 tensor2", beside="value?")


def _converted(ctx: Context, x: Term, dtype: np.dtype[Any] | None) -> Term:
    """`to` and its relatives: another element type, if any; memory formats and devices are nothing here."""
    other = ctx.argument("other")
    if other is not None and not isinstance(other, bool):
        dtype = ctx.dtype_of("other")
    return elementwise.cast(x, dtype or x.dtype)


def _both(name: str, converter: Converter[Context], *overloads: str) -> dict[str, Converter[Context]]:
    return {f"aten.{name}.{overload}": converter for overload in overloads or ("Tensor", "Scalar")}


_FLOATS = {
    "acos": ew.AcosOp,
    "acosh": ew.AcoshOp,
    "asin": ew.AsinOp,
    "asinh": ew.AsinhOp,
    "atan": ew.AtanOp,
    "atanh": ew.AtanhOp,
    "cos": ew.CosOp,
    "cosh": ew.CoshOp,
    "erf": ew.ErfOp,
    "exp": ew.ExpOp,
    "log": ew.LogOp,
    "log10": ew.Log10Op,
    "log1p": ew.Log1pOp,
    "log2": ew.Log2Op,
    "rsqrt": ew.RsqrtOp,
    "sigmoid": ew.SigmoidOp,
    "sin": ew.SinOp,
    "sinh": ew.SinhOp,
    "sqrt": ew.SqrtOp,
    "tan": ew.TanOp,
    "tanh": ew.TanhOp,
}
_CLAMP = meeting(elementwise.between, "self min? max?")
_LERP = meeting(_lerp, "self", beside="end weight")
_MASKED_FILL = meeting(_masked_fill, "self", truths="mask", beside="value")
_QUOTIENT = row(_quotient, mode=Word(None, name="rounding_mode", among=("trunc", "floor")))
_ROUND = row(elementwise.rounded, "self", decimals=Int(0))
_WHERE = meeting(where, truths="condition")
_COMPARISONS = {
    "eq": ew.EqualOp,
    "ge": logic.GreaterEqualOp,
    "gt": ew.GreaterOp,
    "le": logic.LessEqualOp,
    "lt": ew.LessOp,
    "ne": logic.NotEqualOp,
}

TABLE: dict[str, Converter[Context]] = {
    **{f"aten.{name}.default": of_floats(op) for name, op in _FLOATS.items()},
    **{
        f"aten.{name}.{overload}": meeting(op) for name, op in _COMPARISONS.items() for overload in ("Tensor", "Scalar")
    },
    **_both("add", _scaled(ew.AddOp)),
    **_both("sub", _scaled(ew.SubtractOp)),
    **_both("subtract", _scaled(ew.SubtractOp)),
    **_both("rsub", _scaled(ew.SubtractOp, reversed=True)),
    **_both("mul", meeting(numeric(ew.MultiplyOp))),
    **_both("multiply", meeting(numeric(ew.MultiplyOp))),
    **_both("div", _QUOTIENT, "Tensor", "Scalar", "Tensor_mode", "Scalar_mode"),
    **_both("divide", _QUOTIENT, "Tensor", "Scalar", "Tensor_mode", "Scalar_mode"),
    **_both("true_divide", _QUOTIENT),
    **_both("floor_divide", meeting(formulas.floored_quotient), "default", "Scalar"),
    **_both("remainder", meeting(formulas.floored_remainder), "Tensor", "Scalar", "Scalar_Tensor"),
    **_both("fmod", meeting(numeric(division.TruncModOp))),
    **_both("pow", row(_power), "Tensor_Tensor", "Tensor_Scalar", "Scalar"),
    **_both("maximum", meeting(numeric(ew.MaximumOp)), "default"),
    **_both("minimum", meeting(numeric(ew.MinimumOp)), "default"),
    "aten.max.other": meeting(numeric(ew.MaximumOp)),
    "aten.min.other": meeting(numeric(ew.MinimumOp)),
    **_both("bitwise_and", meeting(numeric(logic.BitwiseAndOp)), "Tensor", "Scalar", "Scalar_Tensor"),
    **_both("bitwise_or", meeting(numeric(logic.BitwiseOrOp)), "Tensor", "Scalar", "Scalar_Tensor"),
    **_both("bitwise_xor", meeting(numeric(logic.BitwiseXorOp)), "Tensor", "Scalar", "Scalar_Tensor"),
    **_both("__and__", meeting(numeric(logic.BitwiseAndOp))),
    **_both("__or__", meeting(numeric(logic.BitwiseOrOp))),
    **_both("__xor__", meeting(numeric(logic.BitwiseXorOp))),
    "aten.bitwise_not.default": row(numeric(ew.BitwiseNotOp), "self"),
    "aten.logical_and.default": meeting(logic.LogicalAndOp, dtype=lambda common: BOOL),
    "aten.logical_or.default": meeting(logic.LogicalOrOp, dtype=lambda common: BOOL),
    "aten.logical_xor.default": meeting(logic.LogicalXorOp, dtype=lambda common: BOOL),
    "aten.logical_not.default": row(elementwise.logical(ew.LogicalNotOp), "self"),
    "aten.abs.default": row(ew.AbsOp, "self"),
    "aten.absolute.default": row(ew.AbsOp, "self"),
    "aten.neg.default": row(ew.NegativeOp, "self"),
    "aten.negative.default": row(ew.NegativeOp, "self"),
    "aten.ceil.default": row(elementwise.whole(ew.CeilOp), "self"),
    "aten.floor.default": row(elementwise.whole(ew.FloorOp), "self"),
    "aten.trunc.default": row(elementwise.whole(ew.TruncOp), "self"),
    "aten.round.default": _ROUND,
    "aten.round.decimals": _ROUND,
    "aten.sign.default": row(_sign, "self"),
    "aten.sgn.default": row(_sign, "self"),
    "aten.square.default": row(partial(elementwise.square, truths="int64"), "self"),
    "aten.reciprocal.default": of_floats(elementwise.reciprocal),
    "aten.expm1.default": of_floats(ew.Expm1Op),
    "aten.exp2.default": of_floats(ew.Exp2Op),
    "aten.digamma.default": of_floats(partial(digamma, infinite_at_zero=True)),
    "aten.lgamma.default": of_floats(log_gamma),
    "aten.erfc.default": of_floats(erfc),
    "aten.logaddexp.default": meeting(formulas.log_add_exp, dtype=floating),
    "aten.xlogy.Tensor": meeting(partial(formulas.times_log, nan=True), dtype=floating),
    "aten.atan2.default": meeting(ew.Atan2Op, dtype=floating),
    "aten.isnan.default": row(ew.IsNanOp, "self"),
    "aten.isinf.default": row(ew.IsInfOp, "self"),
    "aten.isfinite.default": row(ew.IsFiniteOp, "self"),
    "aten.nan_to_num.default": row(
        elementwise.finite,
        "self",
        nan=Float(0.0),
        highest=Float(None, name="posinf"),
        lowest=Float(None, name="neginf"),
    ),
    "aten.nextafter.default": meeting(formulas.next_after),
    "aten.where.self": _WHERE,
    "aten.where.ScalarOther": _WHERE,
    "aten.where.ScalarSelf": _WHERE,
    "aten.where.Scalar": _WHERE,
    "aten.masked_fill.Scalar": _MASKED_FILL,
    "aten.masked_fill.Tensor": _MASKED_FILL,
    "aten.clamp.default": _CLAMP,
    "aten.clamp.Tensor": _CLAMP,
    "aten.clip.default": _CLAMP,
    "aten.clamp_min.default": _CLAMP,
    "aten.clamp_min.Tensor": _CLAMP,
    "aten.clamp_max.default": _CLAMP,
    "aten.clamp_max.Tensor": _CLAMP,
    "aten.lerp.Scalar": _LERP,
    "aten.lerp.Tensor": _LERP,
    "aten.addcmul.default": _plus(lambda a, b: a * b),
    "aten.addcdiv.default": _plus(lambda a, b: a / b),
    **{
        f"aten.{name}": row(_converted, "self", dtype=Element(None))
        for name in ("to.dtype", "to.device", "to.dtype_layout", "to.other", "_to_copy.default", "type_as.default")
    },
}
