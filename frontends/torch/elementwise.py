"""Operators on each element: functions of one tensor, and of two in the element type in which they meet."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.ir import SSAValue

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.operator import Operator
from ..importing.converter import Converter, Result
from ..importing.terms import Term, absolute, maximum, minimum, once, where
from ..meanings import formulas
from ..meanings.special_functions import digamma, erfc, log_gamma
from .context import Context
from .promotion import BOOL, cast_to, common_type, floating, kind_of, number_term, operand
from .tensors import limits

Function = Callable[[Term], Term]


def of_floats(function: type[Operator] | Function) -> Converter[Context]:
    """A function of floats; of integers it is that of float32. Of halves several operators are rounded once."""

    def convert(ctx: Context) -> SSAValue:
        name = next(iter(ctx.call.arguments))
        data = operand(ctx, name, floating(ctx.dtype_of(name)))
        return data.apply(function).value if isinstance(function, type) else once(function)(data).value

    return Converter(convert)


def of_numbers(op: type[Operator], fixed_for_integers: bool = False) -> Converter[Context]:
    """A function of any numbers; one that only rounds leaves integers as they are."""

    def convert(ctx: Context) -> SSAValue:
        data = ctx.term("self")
        if fixed_for_integers and kind_of(data.dtype) < 2:
            return data.apply(ew.CopyOp).value
        return data.apply(op).value

    return Converter(convert)


def _sign(ctx: Context) -> SSAValue:
    """1, 0 or -1; of what is no number 0."""
    x = ctx.term("self")
    if x.dtype == BOOL:
        return x.apply(ew.CopyOp).value
    result = x.apply(ew.SignOp)
    return (where(x.apply(ew.IsNanOp), 0.0, result) if kind_of(x.dtype) == 2 else result).value


def _round(ctx: Context) -> SSAValue:
    """To the nearest, halves to even; with `decimals` of a power of ten."""
    x, decimals = ctx.term("self"), ctx.int("decimals", 0)
    if kind_of(x.dtype) < 2:
        return x.apply(ew.CopyOp).value
    if not decimals:
        return x.apply(ew.RoundOp).value
    scale = 10.0 ** abs(decimals)
    return ((x * scale).apply(ew.RoundOp) / scale if decimals > 0 else (x / scale).apply(ew.RoundOp) * scale).value


def of_two(function: Callable[[Term, Term], Term], floats: bool = False) -> Converter[Context]:
    """A function of two operands, in the type where they meet; with `floats` one of floats."""

    def convert(ctx: Context) -> SSAValue:
        dtype = common_type(ctx, ("self", "other"))
        dtype = floating(dtype) if floats else dtype
        return function(operand(ctx, "self", dtype), operand(ctx, "other", dtype)).value

    return Converter(convert)


def arithmetic(op: type[Operator], of_truths: type[Operator] | None = None, scaled: bool = False) -> Converter[Context]:
    """An operator of two operands in the type where they meet; with `scaled` the second one is times `alpha`."""

    def convert(ctx: Context) -> SSAValue:
        dtype = common_type(ctx, ("self", "other"))
        left, right = (operand(ctx, name, dtype) for name in ("self", "other"))
        if scaled and ctx.number("alpha", 1) != 1:
            right = right * number_term(ctx, ctx.number("alpha", 1), dtype)
        if dtype == BOOL:
            if of_truths is None:
                ctx.fail("numbers", "truth values")
            return left.apply(of_truths, right).value
        return left.apply(op, right).value

    return Converter(convert)


def _reversed_difference(ctx: Context) -> SSAValue:
    """other - alpha * self."""
    dtype = common_type(ctx, ("self", "other"))
    left, right = (operand(ctx, name, dtype) for name in ("self", "other"))
    if ctx.number("alpha", 1) != 1:
        left = left * number_term(ctx, ctx.number("alpha", 1), dtype)
    return (right - left).value


def _quotient(ctx: Context) -> SSAValue:
    """In floats; rounded if `rounding_mode` says so, where integers stay integers."""
    mode = ctx.word("rounding_mode", "")
    dtype = common_type(ctx, ("self", "other"))
    if not mode:
        dtype = floating(dtype)
    elif dtype == BOOL:
        ctx.fail("numbers", "truth values")
    left, right = (operand(ctx, name, dtype) for name in ("self", "other"))
    if not mode:
        return (left / right).value
    return rounded_quotient(ctx, left, right, mode).value


def rounded_quotient(ctx: Context, left: Term, right: Term, mode: str) -> Term:
    """Towards zero (`trunc`) or downwards (`floor`)."""
    whole = kind_of(left.dtype) < 2
    match mode:
        case "trunc":
            return left / right if whole else (left / right).apply(ew.TruncOp)
        case "floor":
            return formulas.floored_quotient(left, right)
        case _:
            ctx.fail("rounding_mode trunc or floor", repr(mode))


def _power(ctx: Context) -> SSAValue:
    """Of a number whose exponent is known and small, products and roots."""
    exponent = ctx.argument("exponent")
    dtype = common_type(ctx, ("self", "exponent"))
    base = operand(ctx, "self", dtype)
    if isinstance(exponent, int | float):
        match float(exponent):
            case 1.0:
                return base.apply(ew.CopyOp).value
            case 2.0:
                return (base * base).value
            case 3.0:
                return (base * base * base).value
            case 0.5 if kind_of(dtype) == 2:
                return base.apply(ew.SqrtOp).value
            case -0.5 if kind_of(dtype) == 2:
                return base.apply(ew.RsqrtOp).value
            case -1.0 if kind_of(dtype) == 2:
                return (1.0 / base).value
            case _ if exponent < 0 and kind_of(dtype) < 2:
                ctx.fail("an exponent of at least 0 for integers", str(exponent))
            case _:
                pass
    return base.apply(ew.PowerOp, operand(ctx, "exponent", dtype)).value


def compared(op: type[Operator]) -> Converter[Context]:
    """A comparison, in the type where both sides meet."""

    def convert(ctx: Context) -> SSAValue:
        dtype = common_type(ctx, ("self", "other"))
        return operand(ctx, "self", dtype).apply(op, operand(ctx, "other", dtype)).value

    return Converter(convert)


def bitwise(op: type[Operator], of_truths: type[Operator]) -> Converter[Context]:
    """Of integers bit by bit, of truth values logical."""

    def convert(ctx: Context) -> SSAValue:
        dtype = common_type(ctx, ("self", "other"))
        if kind_of(dtype) == 2:
            ctx.fail("integers or truth values", dtype.name)
        left, right = (operand(ctx, name, dtype) for name in ("self", "other"))
        return left.apply(of_truths if dtype == BOOL else op, right).value

    return Converter(convert)


def _bitwise_not(ctx: Context) -> SSAValue:
    x = ctx.term("self")
    return x.apply(ew.LogicalNotOp if x.dtype == BOOL else ew.BitwiseNotOp).value


def logical(op: type[Operator]) -> Converter[Context]:
    """Of truth values; of numbers, what is not 0 is true."""

    def convert(ctx: Context) -> SSAValue:
        return operand(ctx, "self", BOOL).apply(op, operand(ctx, "other", BOOL)).value

    return Converter(convert)


def _logical_not(ctx: Context) -> SSAValue:
    return operand(ctx, "self", BOOL).apply(ew.LogicalNotOp).value


def _where(ctx: Context) -> SSAValue:
    names = ("self", "other")
    dtype = common_type(ctx, names)
    return where(operand(ctx, "condition", BOOL), operand(ctx, "self", dtype), operand(ctx, "other", dtype)).value


def _masked_fill(ctx: Context) -> SSAValue:
    x = ctx.term("self")
    return where(operand(ctx, "mask", BOOL), operand(ctx, "value", x.dtype), x).value


def _clamp(ctx: Context) -> SSAValue:
    """Between bounds, numbers or tensors, either of which may be left out."""
    names = [name for name in ("min", "max") if ctx.given(name)]
    dtype = common_type(ctx, ("self", *names))
    x = operand(ctx, "self", dtype)
    if "min" in names:
        x = maximum(x, operand(ctx, "min", dtype))
    if "max" in names:
        x = minimum(x, operand(ctx, "max", dtype))
    return x.value


def _bounded(function: Callable[[Term, Term], Term], bound: str) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        dtype = common_type(ctx, ("self", bound))
        return function(operand(ctx, "self", dtype), operand(ctx, bound, dtype)).value

    return Converter(convert)


def _lerp(ctx: Context) -> SSAValue:
    """From the nearer end: so an infinite one stays, and what is between is between the two."""
    start, end = ctx.term("self"), ctx.term("end")
    weight, way = operand(ctx, "weight", start.dtype), end - start
    return where(absolute(weight) < 0.5, start + weight * way, end - way * (-weight + 1.0)).value


def _with_product(op: Callable[[Term, Term], Term]) -> Converter[Context]:
    """self + value * (tensor1 op tensor2)."""

    def convert(ctx: Context) -> SSAValue:
        dtype = common_type(ctx, ("self", "tensor1", "tensor2"))
        more = op(operand(ctx, "tensor1", dtype), operand(ctx, "tensor2", dtype))
        if ctx.number("value", 1) != 1:
            more = more * number_term(ctx, ctx.number("value", 1), dtype)
        return (operand(ctx, "self", dtype) + more).value

    return Converter(convert)


def _converted(ctx: Context) -> SSAValue:
    """`to` and its relatives: another element type, if any; memory formats and devices are nothing here."""
    own = ctx.dtype_of("self")
    other = ctx.argument("other")
    wanted = ctx.element("dtype", own)
    if other is not None and not isinstance(other, bool):
        wanted = ctx.dtype_of("other")
    assert wanted is not None
    value = ctx.of("self")
    return ctx.emit(ew.CopyOp, value) if wanted == own else cast_to(ctx, value, wanted)


def _square(x: Term) -> Term:
    return x * x


def _of_any(function: Function) -> Converter[Context]:
    return Converter(lambda ctx: function(ctx.term("self")).value)


def _nan_to_num(ctx: Context) -> SSAValue:
    x = ctx.term("self")
    if kind_of(x.dtype) < 2:
        return x.apply(ew.CopyOp).value
    least, most = limits(x.dtype)
    highest, lowest = (
        ctx.float(name, 0.0) if ctx.given(name) else n for name, n in (("posinf", most), ("neginf", least))
    )
    return formulas.finite(x, ctx.float("nan", 0.0), highest, lowest).value


def _predicate(op: type[Operator], of_integers: bool) -> Converter[Context]:
    def convert(ctx: Context) -> Result:
        x = ctx.term("self")
        if kind_of(x.dtype) == 2:
            return x.apply(op).value
        truth = x.to("bool")
        return (
            truth.apply(logic.LogicalOrOp if of_integers else logic.LogicalAndOp, truth.apply(ew.LogicalNotOp))
        ).value

    return Converter(convert)


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
        f"aten.{name}.{overload}": compared(op)
        for name, op in _COMPARISONS.items()
        for overload in ("Tensor", "Scalar")
    },
    **_both("add", arithmetic(ew.AddOp, logic.LogicalOrOp, scaled=True)),
    **_both("sub", arithmetic(ew.SubtractOp, scaled=True)),
    **_both("subtract", arithmetic(ew.SubtractOp, scaled=True)),
    **_both("rsub", Converter(_reversed_difference)),
    **_both("mul", arithmetic(ew.MultiplyOp, logic.LogicalAndOp)),
    **_both("multiply", arithmetic(ew.MultiplyOp, logic.LogicalAndOp)),
    **_both("div", Converter(_quotient), "Tensor", "Scalar", "Tensor_mode", "Scalar_mode"),
    **_both("divide", Converter(_quotient), "Tensor", "Scalar", "Tensor_mode", "Scalar_mode"),
    **_both("true_divide", Converter(_quotient)),
    **_both("floor_divide", of_two(formulas.floored_quotient), "default", "Scalar"),
    **_both("remainder", of_two(formulas.floored_remainder), "Tensor", "Scalar", "Scalar_Tensor"),
    **_both("fmod", arithmetic(division.TruncModOp)),
    **_both("pow", Converter(_power), "Tensor_Tensor", "Tensor_Scalar", "Scalar"),
    **_both("maximum", arithmetic(ew.MaximumOp, logic.LogicalOrOp), "default"),
    **_both("minimum", arithmetic(ew.MinimumOp, logic.LogicalAndOp), "default"),
    "aten.max.other": arithmetic(ew.MaximumOp, logic.LogicalOrOp),
    "aten.min.other": arithmetic(ew.MinimumOp, logic.LogicalAndOp),
    **_both("bitwise_and", bitwise(logic.BitwiseAndOp, logic.LogicalAndOp), "Tensor", "Scalar", "Scalar_Tensor"),
    **_both("bitwise_or", bitwise(logic.BitwiseOrOp, logic.LogicalOrOp), "Tensor", "Scalar", "Scalar_Tensor"),
    **_both("bitwise_xor", bitwise(logic.BitwiseXorOp, logic.LogicalXorOp), "Tensor", "Scalar", "Scalar_Tensor"),
    **_both("__and__", bitwise(logic.BitwiseAndOp, logic.LogicalAndOp)),
    **_both("__or__", bitwise(logic.BitwiseOrOp, logic.LogicalOrOp)),
    **_both("__xor__", bitwise(logic.BitwiseXorOp, logic.LogicalXorOp)),
    "aten.bitwise_not.default": Converter(_bitwise_not),
    "aten.logical_and.default": logical(logic.LogicalAndOp),
    "aten.logical_or.default": logical(logic.LogicalOrOp),
    "aten.logical_xor.default": logical(logic.LogicalXorOp),
    "aten.logical_not.default": Converter(_logical_not),
    "aten.abs.default": of_numbers(ew.AbsOp),
    "aten.absolute.default": of_numbers(ew.AbsOp),
    "aten.neg.default": of_numbers(ew.NegativeOp),
    "aten.negative.default": of_numbers(ew.NegativeOp),
    "aten.ceil.default": of_numbers(ew.CeilOp, fixed_for_integers=True),
    "aten.floor.default": of_numbers(ew.FloorOp, fixed_for_integers=True),
    "aten.trunc.default": of_numbers(ew.TruncOp, fixed_for_integers=True),
    "aten.round.default": Converter(_round),
    "aten.round.decimals": Converter(_round),
    "aten.sign.default": Converter(_sign),
    "aten.sgn.default": Converter(_sign),
    "aten.square.default": _of_any(_square),
    "aten.reciprocal.default": of_floats(lambda x: 1.0 / x),
    "aten.expm1.default": of_floats(ew.Expm1Op),
    "aten.exp2.default": of_floats(ew.Exp2Op),
    "aten.digamma.default": of_floats(digamma),
    "aten.lgamma.default": of_floats(log_gamma),
    "aten.erfc.default": of_floats(erfc),
    "aten.logaddexp.default": of_two(formulas.log_add_exp, floats=True),
    "aten.xlogy.Tensor": of_two(partial(formulas.times_log, nan=True), floats=True),
    "aten.atan2.default": of_two(lambda y, x: y.apply(ew.Atan2Op, x), floats=True),
    "aten.isnan.default": _predicate(ew.IsNanOp, of_integers=False),
    "aten.isinf.default": _predicate(ew.IsInfOp, of_integers=False),
    "aten.isfinite.default": _predicate(ew.IsFiniteOp, of_integers=True),
    "aten.nan_to_num.default": Converter(_nan_to_num),
    "aten.where.self": Converter(_where),
    "aten.where.ScalarOther": Converter(_where),
    "aten.where.ScalarSelf": Converter(_where),
    "aten.where.Scalar": Converter(_where),
    "aten.masked_fill.Scalar": Converter(_masked_fill),
    "aten.masked_fill.Tensor": Converter(_masked_fill),
    "aten.clamp.default": Converter(_clamp),
    "aten.clamp.Tensor": Converter(_clamp),
    "aten.clip.default": Converter(_clamp),
    "aten.clamp_min.default": _bounded(maximum, "min"),
    "aten.clamp_min.Tensor": _bounded(maximum, "min"),
    "aten.clamp_max.default": _bounded(minimum, "max"),
    "aten.clamp_max.Tensor": _bounded(minimum, "max"),
    "aten.lerp.Scalar": Converter(_lerp),
    "aten.lerp.Tensor": Converter(_lerp),
    "aten.addcmul.default": _with_product(lambda a, b: a * b),
    "aten.addcdiv.default": _with_product(lambda a, b: a / b),
    **{
        f"aten.{name}": Converter(_converted)
        for name in ("to.dtype", "to.device", "to.dtype_layout", "to.other", "_to_copy.default", "type_as.default")
    },
}
