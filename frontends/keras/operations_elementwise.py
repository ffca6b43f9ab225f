"""Operations of `keras.ops` that compute each element on its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.operator import Operator
from ..importing.attributes import Element, Flag, Float, Int
from ..importing.terms import Term, where
from ..meanings import activations, elementwise, formulas
from ..meanings.elementwise import numeric
from ..meanings.special_functions import erf_inverse, erfc
from .activations import FUNCTIONS
from .context import Context
from .operands import FLOAT, array_of, floating, meeting, operands
from .rows import Row, declared


def _floats(function: type[Operator] | Callable[[Term], Term]) -> Row:
    """A function of floats, which integers become."""

    def computed(x: Term) -> Term:
        x = floating(x)
        return x.apply(function) if isinstance(function, type) else function(x)

    return declared(computed, "x")


def _number(ctx: Context, index: int, name: str, default: float | None = None) -> float:
    """An argument that is one number."""
    value = array_of(ctx, ctx.argument(index, name, default))
    if value is None or value.size != 1:
        ctx.fail(f"a known number as '{name}'", "a tensor")
    return float(value.item())


def _clip(ctx: Context) -> Term:
    return elementwise.between(*operands(ctx, ctx.argument(0, "x"), ctx.option("x_min"), ctx.option("x_max")))


def _where(ctx: Context, condition: Term) -> Term:
    if ctx.argument(1, "x1") is None:
        ctx.fail("two values to choose between", "none")
    return where(condition.to("bool"), *operands(ctx, ctx.argument(1, "x1"), ctx.argument(2, "x2")))


def _converted(x: Term, dtype: np.dtype[np.generic] | None) -> Term:
    return x if dtype is None else x.to(dtype)


def _full_like(ctx: Context, x: Term, dtype: np.dtype[np.generic] | None) -> Term:
    return _converted(x, dtype).apply(ew.ZerosLikeOp) + _number(ctx, 1, "fill_value")


def _like(op: type[Operator]) -> Row:
    def computed(x: Term, dtype: np.dtype[np.generic] | None) -> Term:
        return _converted(x, dtype).apply(op)

    return declared(computed, "x", dtype=Element(None))


def _is_real(x: Term) -> Term:
    return x.apply(ew.OnesLikeOp).to("bool")


def _activation(name: str) -> Row:
    def computed(ctx: Context, x: Term) -> Term:
        return FUNCTIONS[name](ctx, x if name in ("relu", "relu6") else floating(x), ctx.config)

    return declared(computed, "x")


def _close(ctx: Context, equal_nan: bool) -> Term:
    a, b = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"), floats=True)
    return elementwise.is_close(a, b, _number(ctx, 2, "rtol", 1e-5), _number(ctx, 3, "atol", 1e-8), equal_nan)


_SAME = declared(activations.linear, "x")
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
    "Abs": declared(ew.AbsOp, "x"),
    "Absolute": declared(ew.AbsOp, "x"),
    "Add": meeting(numeric(ew.AddOp)),
    "Arccos": _floats(ew.AcosOp),
    "Arccosh": _floats(ew.AcoshOp),
    "Arcsin": _floats(ew.AsinOp),
    "Arcsinh": _floats(ew.AsinhOp),
    "Arctan": _floats(ew.AtanOp),
    "Arctan2": meeting(ew.Atan2Op, floats=True),
    "Arctanh": _floats(ew.AtanhOp),
    "BitwiseAnd": meeting(numeric(logic.BitwiseAndOp)),
    "BitwiseInvert": declared(ew.BitwiseNotOp, "x"),
    "BitwiseLeftShift": meeting(logic.LeftShiftOp),
    "BitwiseNot": declared(ew.BitwiseNotOp, "x"),
    "BitwiseOr": meeting(numeric(logic.BitwiseOrOp)),
    "BitwiseRightShift": meeting(logic.RightShiftOp),
    "BitwiseXor": meeting(numeric(logic.BitwiseXorOp)),
    "Cast": declared(elementwise.cast, "x", dtype=Element(FLOAT)),
    "Cbrt": _floats(ew.CbrtOp),
    "Ceil": _floats(ew.CeilOp),
    "Clip": declared(_clip, ""),
    "Conj": _SAME,
    "Conjugate": _SAME,
    "ConvertToTensor": declared(_converted, "x", dtype=Element(None)),
    "Copy": _SAME,
    "Cos": _floats(ew.CosOp),
    "Cosh": _floats(ew.CoshOp),
    "Deg2rad": _floats(formulas.radians),
    "Divide": meeting(ew.DivideOp, floats=True),
    "DivideNoNan": meeting(formulas.quotient_or_zero, floats=True),
    "EmptyLike": _like(ew.ZerosLikeOp),
    "Equal": meeting(ew.EqualOp),
    "Erf": _floats(ew.ErfOp),
    "Erfc": _floats(erfc),
    "Erfinv": _floats(erf_inverse),
    "Exp": _floats(ew.ExpOp),
    "Exp2": _floats(ew.Exp2Op),
    "Expm1": _floats(ew.Expm1Op),
    "Fabs": _floats(ew.AbsOp),
    "Floor": _floats(ew.FloorOp),
    "FloorDivide": meeting(formulas.floored_quotient),
    "Fmax": meeting(partial(formulas.of_numbers, ew.MaximumOp)),
    "Fmin": meeting(partial(formulas.of_numbers, ew.MinimumOp)),
    "Fmod": meeting(division.ModOp),
    "FullLike": declared(_full_like, "x", dtype=Element(None)),
    "Greater": meeting(ew.GreaterOp),
    "GreaterEqual": meeting(logic.GreaterEqualOp),
    "Heaviside": meeting(formulas.step, floats=True),
    "Hypot": meeting(ew.HypotOp, floats=True),
    "Isclose": declared(_close, "", equal_nan=Flag(False)),
    "Isfinite": declared(ew.IsFiniteOp, "x"),
    "Isinf": declared(ew.IsInfOp, "x"),
    "Isnan": declared(ew.IsNanOp, "x"),
    "Isneginf": declared(partial(elementwise.infinite, above=False), "x"),
    "Isposinf": declared(partial(elementwise.infinite, below=False), "x"),
    "Isreal": declared(_is_real, "x"),
    "Ldexp": meeting(formulas.ldexp, floats=True),
    "LeftShift": meeting(logic.LeftShiftOp),
    "Less": meeting(ew.LessOp),
    "LessEqual": meeting(logic.LessEqualOp),
    "Log": _floats(ew.LogOp),
    "Log10": _floats(ew.Log10Op),
    "Log1p": _floats(ew.Log1pOp),
    "Log2": _floats(ew.Log2Op),
    "Logaddexp": meeting(formulas.log_add_exp, floats=True),
    "Logaddexp2": meeting(formulas.log_add_exp2, floats=True),
    "LogicalAnd": meeting(elementwise.logical(logic.LogicalAndOp)),
    "LogicalNot": declared(elementwise.logical(ew.LogicalNotOp), "x"),
    "LogicalOr": meeting(elementwise.logical(logic.LogicalOrOp)),
    "LogicalXor": meeting(elementwise.logical(logic.LogicalXorOp)),
    "Maximum": meeting(numeric(ew.MaximumOp)),
    "Minimum": meeting(numeric(ew.MinimumOp)),
    "Mod": meeting(formulas.floored_remainder),
    "Multiply": meeting(numeric(ew.MultiplyOp)),
    "NanToNum": declared(
        elementwise.finite, "x", nan=Float(0.0), highest=Float(None, name="posinf"), lowest=Float(None, name="neginf")
    ),
    "Negative": declared(ew.NegativeOp, "x"),
    "Nextafter": meeting(formulas.next_after, floats=True),
    "NotEqual": meeting(logic.NotEqualOp),
    "OnesLike": _like(ew.OnesLikeOp),
    "Power": meeting(ew.PowerOp),
    "Rad2deg": _floats(formulas.degrees),
    "Real": _SAME,
    "Reciprocal": _floats(elementwise.reciprocal),
    "RightShift": meeting(logic.RightShiftOp),
    "Round": declared(elementwise.rounded, "x", decimals=Int(0)),
    "Rsqrt": _floats(ew.RsqrtOp),
    "SaturateCast": declared(elementwise.saturated, "x", dtype=Element(FLOAT)),
    "Sign": declared(ew.SignOp, "x"),
    "Signbit": declared(formulas.signed, "x"),
    "Sin": _floats(ew.SinOp),
    "Sinc": _floats(formulas.sinc),
    "Sinh": _floats(ew.SinhOp),
    "Sqrt": _floats(ew.SqrtOp),
    "Square": declared(elementwise.square, "x"),
    "StopGradient": _SAME,
    "Subtract": meeting(ew.SubtractOp),
    "Tan": _floats(ew.TanOp),
    "Tanh": _floats(ew.TanhOp),
    "TrueDivide": meeting(ew.DivideOp, floats=True),
    "Trunc": declared(elementwise.whole(ew.TruncOp), "x"),
    "Where": declared(_where, "condition"),
    "ZerosLike": _like(ew.ZerosLikeOp),
}
