"""Operations of `keras.ops` that compute each element on its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import Operator
from ..importing.terms import Term, absolute, minimum, where
from ..meanings import formulas
from ..meanings.special_functions import erfc
from .activations import applied
from .context import Context
from .operands import argument_term, array_of, dtype_option, operands
from .rows import Row

Unary = Callable[[Term], Term]
Binary = Callable[[Term, Term], Term]


def _unary(function: Unary, floats: bool = False) -> Row:
    return Row(lambda ctx: function(argument_term(ctx, floats=floats)).value)


def _op(op: type[Operator], floats: bool = False) -> Row:
    return _unary(lambda x: x.apply(op), floats)


def _binary(function: Binary, floats: bool = False) -> Row:
    def convert(ctx: Context) -> SSAValue:
        a, b = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"), floats=floats)
        return function(a, b).value

    return Row(convert)


def _pair(op: type[Operator], floats: bool = False) -> Row:
    return _binary(lambda a, b: a.apply(op, b), floats)


def _logical(op: type[Operator]) -> Row:
    return _binary(lambda a, b: a.to("bool").apply(op, b.to("bool")))


def _whole(op: type[Operator]) -> Row:
    """Rounding, which leaves integers as floats."""
    return _op(op, floats=True)


def _clip(ctx: Context) -> SSAValue:
    x, low, high = operands(ctx, ctx.argument(0, "x"), ctx.option("x_min"), ctx.option("x_max"))
    return minimum(x.apply(ew.MaximumOp, low), high).value


def _where(ctx: Context) -> SSAValue:
    condition = argument_term(ctx, 0, "condition").to("bool")
    if ctx.argument(1, "x1") is None:
        ctx.fail("two values to choose between", "none")
    a, b = operands(ctx, ctx.argument(1, "x1"), ctx.argument(2, "x2"))
    return where(condition, a, b).value


def _cast(ctx: Context) -> SSAValue:
    return argument_term(ctx).to(dtype_option(ctx) or "float32").value


def _converted(ctx: Context) -> SSAValue:
    x = argument_term(ctx)
    dtype = dtype_option(ctx)
    return (x if dtype is None else x.to(dtype)).value


def _round(ctx: Context) -> SSAValue:
    decimals = ctx.int("decimals", 0)
    x = argument_term(ctx)
    if not is_float(x.dtype):
        return x.value
    if not decimals:
        return x.apply(ew.RoundOp).value
    return ((x * 10.0**decimals).apply(ew.RoundOp) / 10.0**decimals).value


def _full_like(ctx: Context) -> SSAValue:
    x = argument_term(ctx)
    dtype = dtype_option(ctx)
    value = array_of(ctx, ctx.argument(1, "fill_value"))
    if value is None or value.size != 1:
        ctx.fail("a number to fill with", "a tensor")
    x = x if dtype is None else x.to(dtype)
    return (x.apply(ew.ZerosLikeOp) + float(value.item())).value


def _like(op: type[Operator]) -> Row:
    def convert(ctx: Context) -> SSAValue:
        x = argument_term(ctx)
        dtype = dtype_option(ctx)
        return (x if dtype is None else x.to(dtype)).apply(op).value

    return Row(convert)


def _nan_to_num(ctx: Context) -> SSAValue:
    x = argument_term(ctx)
    if not is_float(x.dtype):
        return x.value
    largest = float(np.finfo(x.dtype.name).max)
    high, low = ctx.option("posinf"), ctx.option("neginf")
    highest = largest if high is None else ctx.float("posinf")
    lowest = -largest if low is None else ctx.float("neginf")
    return formulas.finite(x, ctx.float("nan", 0.0), highest, lowest).value


def _activation(name: str) -> Row:
    def convert(ctx: Context) -> SSAValue:
        return applied(ctx, name, argument_term(ctx, floats=name != "relu").value, ctx.config)

    return Row(convert)


def _not_equal(a: Term, b: Term) -> Term:
    return a.apply(logic.NotEqualOp, b)


def _close(ctx: Context) -> SSAValue:
    """True where elements differ by no more than a part of the second, and a number."""
    a, b = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"), floats=True)
    widths = [
        array_of(ctx, ctx.argument(at, name, default)) for at, name, default in ((2, "rtol", 1e-5), (3, "atol", 1e-8))
    ]
    if any(width is None or width.size != 1 for width in widths):
        ctx.fail("known numbers as rtol and atol", "others")
    relative, least = (float(width.item()) for width in widths if width is not None)
    near = absolute(a - b).apply(logic.LessEqualOp, absolute(b) * relative + least)
    near = near.apply(logic.LogicalAndOp, b.apply(ew.IsFiniteOp)).apply(logic.LogicalOrOp, a.equal(b))
    if ctx.flag("equal_nan", False):
        near = near.apply(logic.LogicalOrOp, a.apply(ew.IsNanOp).apply(logic.LogicalAndOp, b.apply(ew.IsNanOp)))
    return near.value


def _saturated(ctx: Context) -> SSAValue:
    """Cast, what is out of the dtype's range as its ends."""
    x, dtype = argument_term(ctx), np.dtype(dtype_option(ctx) or "float32")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        x = x.clip(float(limits.min), float(limits.max)) if is_float(x.dtype) else x
    return x.to(dtype).value


_ACTIVATIONS = {
    "Celu": "celu", "Elu": "elu", "Gelu": "gelu", "Glu": "glu", "HardShrink": "hard_shrink",
    "HardSigmoid": "hard_sigmoid", "HardSilu": "hard_silu", "HardTanh": "hard_tanh", "LeakyRelu": "leaky_relu",
    "LogSigmoid": "log_sigmoid", "LogSoftmax": "log_softmax", "Mish": "mish", "ReLU": "relu", "Relu": "relu",
    "Relu6": "relu6", "Selu": "selu", "Sigmoid": "sigmoid", "Silu": "silu", "SoftShrink": "soft_shrink",
    "Softmax": "softmax", "Softplus": "softplus", "Softsign": "softsign", "SparsePlus": "sparse_plus",
    "SparseSigmoid": "sparse_sigmoid", "Squareplus": "squareplus", "TanhShrink": "tanh_shrink",
    "Threshold": "threshold",
}  # fmt: skip

TABLE: dict[str, Row] = {
    **{kind: _activation(name) for kind, name in _ACTIVATIONS.items()},
    "Abs": _op(ew.AbsOp),
    "Absolute": _op(ew.AbsOp),
    "Add": _binary(lambda a, b: a + b),
    "Arccos": _op(ew.AcosOp, True),
    "Arccosh": _op(ew.AcoshOp, True),
    "Arcsin": _op(ew.AsinOp, True),
    "Arcsinh": _op(ew.AsinhOp, True),
    "Arctan": _op(ew.AtanOp, True),
    "Arctan2": _pair(ew.Atan2Op, True),
    "Arctanh": _op(ew.AtanhOp, True),
    "BitwiseAnd": _pair(logic.BitwiseAndOp),
    "BitwiseInvert": _op(ew.BitwiseNotOp),
    "BitwiseLeftShift": _pair(logic.LeftShiftOp),
    "BitwiseNot": _op(ew.BitwiseNotOp),
    "BitwiseOr": _pair(logic.BitwiseOrOp),
    "BitwiseRightShift": _pair(logic.RightShiftOp),
    "BitwiseXor": _pair(logic.BitwiseXorOp),
    "Cast": Row(_cast),
    "Cbrt": _op(ew.CbrtOp, True),
    "Ceil": _whole(ew.CeilOp),
    "Clip": Row(_clip),
    "Conj": _unary(lambda x: x),
    "Conjugate": _unary(lambda x: x),
    "ConvertToTensor": Row(_converted),
    "Copy": _unary(lambda x: x),
    "Cos": _op(ew.CosOp, True),
    "Cosh": _op(ew.CoshOp, True),
    "Deg2rad": _unary(lambda x: x * (pi / 180), True),
    "Divide": _binary(lambda a, b: a / b, True),
    "DivideNoNan": _binary(formulas.quotient_or_zero, True),
    "EmptyLike": _like(ew.ZerosLikeOp),
    "Equal": _binary(lambda a, b: a.equal(b)),
    "Erf": _op(ew.ErfOp, True),
    "Erfc": _unary(erfc, True),
    "Exp": _op(ew.ExpOp, True),
    "Exp2": _op(ew.Exp2Op, True),
    "Expm1": _op(ew.Expm1Op, True),
    "Fabs": _op(ew.AbsOp, True),
    "Floor": _whole(ew.FloorOp),
    "FloorDivide": _binary(formulas.floored_quotient),
    "Fmax": _binary(partial(formulas.of_numbers, ew.MaximumOp)),
    "Fmin": _binary(partial(formulas.of_numbers, ew.MinimumOp)),
    "Fmod": _pair(division.ModOp),
    "FullLike": Row(_full_like),
    "Greater": _binary(lambda a, b: a > b),
    "GreaterEqual": _pair(logic.GreaterEqualOp),
    "Heaviside": _binary(formulas.step, True),
    "Hypot": _pair(ew.HypotOp, True),
    "Isclose": Row(_close),
    "Isfinite": _op(ew.IsFiniteOp),
    "Isinf": _op(ew.IsInfOp),
    "Isnan": _op(ew.IsNanOp),
    "Isneginf": _unary(lambda x: x.equal(-np.inf), True),
    "Isposinf": _unary(lambda x: x.equal(np.inf), True),
    "Isreal": _unary(lambda x: x.apply(ew.OnesLikeOp).to("bool")),
    "Ldexp": _binary(lambda a, b: a * b.apply(ew.OnesLikeOp).apply(ew.AddOp, 1.0).apply(ew.PowerOp, b), True),
    "LeftShift": _pair(logic.LeftShiftOp),
    "Less": _binary(lambda a, b: a < b),
    "LessEqual": _pair(logic.LessEqualOp),
    "Log": _op(ew.LogOp, True),
    "Log10": _op(ew.Log10Op, True),
    "Log1p": _op(ew.Log1pOp, True),
    "Log2": _op(ew.Log2Op, True),
    "Logaddexp": _binary(formulas.log_add_exp, True),
    "Logaddexp2": _binary(formulas.log_add_exp2, True),
    "LogicalAnd": _logical(logic.LogicalAndOp),
    "LogicalNot": _unary(lambda x: x.to("bool").apply(ew.LogicalNotOp)),
    "LogicalOr": _logical(logic.LogicalOrOp),
    "LogicalXor": _logical(logic.LogicalXorOp),
    "Maximum": _pair(ew.MaximumOp),
    "Minimum": _pair(ew.MinimumOp),
    "Mod": _binary(formulas.floored_remainder),
    "Multiply": _binary(lambda a, b: a * b),
    "NanToNum": Row(_nan_to_num),
    "Negative": _unary(lambda x: -x),
    "NotEqual": _binary(_not_equal),
    "OnesLike": _like(ew.OnesLikeOp),
    "Power": _pair(ew.PowerOp),
    "Rad2deg": _unary(lambda x: x * (180 / pi), True),
    "Real": _unary(lambda x: x),
    "Reciprocal": _unary(lambda x: 1.0 / x, True),
    "RightShift": _pair(logic.RightShiftOp),
    "Round": Row(_round),
    "Rsqrt": _op(ew.RsqrtOp, True),
    "SaturateCast": Row(_saturated),
    "Sign": _op(ew.SignOp),
    "Signbit": _unary(formulas.signed),
    "Sin": _op(ew.SinOp, True),
    "Sinc": _unary(formulas.sinc, True),
    "Sinh": _op(ew.SinhOp, True),
    "Sqrt": _op(ew.SqrtOp, True),
    "Square": _unary(lambda x: x * x),
    "StopGradient": _unary(lambda x: x),
    "Subtract": _binary(lambda a, b: a - b),
    "Tan": _op(ew.TanOp, True),
    "Tanh": _op(ew.TanhOp, True),
    "TrueDivide": _binary(lambda a, b: a / b, True),
    "Trunc": _op(ew.TruncOp),
    "Where": Row(_where),
    "ZerosLike": _like(ew.ZerosLikeOp),
}
