# pyright: basic
"""Functions of numbers, on all special numbers and pairs of them."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, erfc
from typing import Any

import numpy as np
from special_numbers import Array, tuples

from meanings.meaning import Case, Meaning
from meanings.spelled import aten, layer, op, spellings

SPECIAL = tuples("float32")[0]
PAIRS = tuples("float32", "float32")
MODEST = SPECIAL[~((np.abs(SPECIAL) > 1e18) & np.isfinite(SPECIAL))]
"""Numbers whose squares are finite."""
INTEGERS = tuples("int32")[0]
INTEGER_PAIRS = tuples("int32", "int32")
_NORMAL = [x[(np.abs(PAIRS[1]) > 1e-30) | (PAIRS[1] == 0) | np.isnan(PAIRS[1])] for x in PAIRS]
"""Pairs without divisors so small that quotients overflow one way or another."""
_QUOTIENTS = [x[~((np.abs(PAIRS[0]) < np.abs(PAIRS[1]) * 1e-30) & (PAIRS[0] != 0)) & (np.abs(PAIRS[1]) > 1e-30)]
              for x in PAIRS]  # fmt: skip
"""Pairs of which no quotient is subnormal."""
_DIVISIBLE = [x[(INTEGER_PAIRS[1] != 0) & ~((INTEGER_PAIRS[0] == INTEGER_PAIRS[0].min()) & (INTEGER_PAIRS[1] == -1))]
              for x in INTEGER_PAIRS]  # fmt: skip


def wide(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function of float64 rounded to the type of its first argument."""
    return lambda *arrays, **options: np.asarray(function(*(x.astype(np.float64) for x in arrays), **options)).astype(
        arrays[0].dtype
    )


def one(name: str, expected: Callable[..., Any], *, lost: float = 0.0, unsigned: bool = False, values: Array = SPECIAL,
        wrong: Any = None, note: str = "", integers: bool = False, **by: Any) -> Meaning:  # fmt: skip
    cases = [Case("special", [values])]
    if integers:
        cases.append(Case("integers", [INTEGERS]))
    return Meaning(name, expected, cases, spellings(**by), lost, unsigned, wrong or {}, note=note)


def two(name: str, expected: Callable[..., Any], *, lost: float = 0.0, unsigned: bool = False, pairs: Any = PAIRS,
        wrong: Any = None, note: str = "", names: str = "self other", integers: Any = None,
        **by: Any) -> Meaning:  # fmt: skip
    cases = [Case("pairs", pairs)] if pairs is not None else []
    if integers is not None:
        cases.append(Case("integers", integers))
    return Meaning(name, expected, cases, spellings(names, **by), lost, unsigned, wrong or {}, note=note)


def _compared(direction: str) -> Any:
    return lambda net, a, b: net("compare", a, b, comparison_direction=f"#stablehlo<comparison_direction {direction}>")


def _truth(name: str) -> Any:
    return op(name, dtypes="bool")


_erf, _erfc = np.vectorize(erf, otypes=[np.float64]), np.vectorize(erfc, otypes=[np.float64])


def _elu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _gelu(x: Array) -> Array:
    return x * 0.5 * (1 + _erf(x / np.sqrt(2)))


def _gelu_tanh(x: Array) -> Array:
    return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _clipped(x: Array, low: float, high: float) -> Array:
    return np.clip(x, np.float32(low), np.float32(high))


_SELU = (1.6732632423543772, 1.0507009873554805)

TABLE = [
    one("abs", np.abs, onnx="Abs", tflite="ABS", torch="abs", keras="Absolute", tensorflow="Abs", stablehlo="abs",
        integers=True,
        keras_abs_by=op("Abs")),
    one("negate", np.negative, onnx="Neg", tflite="NEG", torch="neg", keras="Negative", tensorflow="Neg",
        stablehlo="negate", integers=True),
    one("floor", np.floor, onnx="Floor", tflite="FLOOR", torch="floor", keras="Floor", tensorflow="Floor",
        stablehlo="floor"),
    one("ceil", np.ceil, onnx="Ceil", tflite="CEIL", torch="ceil", keras="Ceil", tensorflow="Ceil", stablehlo="ceil"),
    one("trunc", np.trunc, torch="trunc", keras="Trunc"),
    one("round_half_even", np.rint, onnx="Round", tflite="ROUND", torch="round", keras="Round", tensorflow="Round",
        stablehlo="round_nearest_even",
        tensorflow_rint_by=op("Rint")),
    one("round_half_away", lambda x: np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x), unsigned=True,
        stablehlo="round_nearest_afz"),
    one("sign", np.sign, unsigned=True, onnx="Sign", tflite="SIGN", keras="Sign", tensorflow="Sign", stablehlo="sign",
        note="of NaN NaN"),
    one("sign_of_numbers", lambda x: np.nan_to_num(np.sign(x)), unsigned=True, torch="sign", note="of NaN 0"),
    one("sqrt", np.sqrt, onnx="Sqrt", tflite="SQRT", torch="sqrt", keras="Sqrt", tensorflow="Sqrt", stablehlo="sqrt"),
    one("rsqrt", wide(lambda x: 1 / np.sqrt(x)), tflite="RSQRT", torch="rsqrt", keras="Rsqrt", tensorflow="Rsqrt",
        stablehlo="rsqrt"),
    one("reciprocal", lambda x: 1 / x, onnx="Reciprocal", torch="reciprocal", keras="Reciprocal",
        tensorflow="Reciprocal"),
    one("square", np.square, tflite="SQUARE", torch="square", keras="Square", tensorflow="Square"),
    one("exp", wide(np.exp), onnx="Exp", tflite="EXP", torch="exp", keras="Exp", tensorflow="Exp",
        stablehlo="exponential",
        keras_word_by=layer("Activation", activation="exponential")),
    one("exp2", wide(np.exp2), torch="exp2", keras="Exp2"),
    one("expm1", wide(np.expm1), torch="expm1", keras="Expm1", tensorflow="Expm1",
        stablehlo="exponential_minus_one"),
    one("log", wide(np.log), onnx="Log", tflite="LOG", torch="log", keras="Log", tensorflow="Log", stablehlo="log"),
    one("log1p", wide(np.log1p), torch="log1p", keras="Log1p", tensorflow="Log1p", stablehlo="log_plus_one"),
    one("log2", wide(np.log2), torch="log2", keras="Log2"),
    one("log10", wide(np.log10), torch="log10", keras="Log10"),
    one("sin", wide(np.sin), onnx="Sin", tflite="SIN", torch="sin", keras="Sin", tensorflow="Sin", stablehlo="sine"),
    one("cos", wide(np.cos), onnx="Cos", tflite="COS", torch="cos", keras="Cos", tensorflow="Cos",
        stablehlo="cosine"),
    one("tan", wide(np.tan), onnx="Tan", torch="tan", keras="Tan", tensorflow="Tan", stablehlo="tan"),
    *(
        one(name, wide(getattr(np, f"arc{name[1:]}" if name[0] == "a" else name)), onnx=name.title(), torch=name,
            keras=f"Arc{name[1:]}" if name[0] == "a" else name.title(), tensorflow=name.title(), stablehlo=name,
            tflite="TANH" if name == "tanh" else "")
        for name in "sinh cosh asin acos atan asinh acosh atanh tanh".split()
    ),
    one("cbrt", wide(np.cbrt), keras="Cbrt", stablehlo="cbrt"),
    one("erf", wide(_erf), onnx="Erf", torch="erf", keras="Erf", tensorflow="Erf", stablehlo="erf"),
    one("erfc", wide(_erfc), lost=1e-3, torch="erfc", keras="Erfc", tensorflow="Erfc", stablehlo="erfc"),
    one("is_nan", np.isnan, onnx="IsNaN", torch="isnan", keras="Isnan", tensorflow="IsNan"),
    one("is_inf", np.isinf, onnx="IsInf", torch="isinf", keras="Isinf", tensorflow="IsInf", stablehlo="is_inf"),
    one("is_finite", np.isfinite, torch="isfinite", keras="Isfinite", tensorflow="IsFinite", stablehlo="is_finite"),
    one("is_positive_infinity", np.isposinf, torch="isposinf", keras="Isposinf", stablehlo="is_pos_inf",
        onnx_by=op("IsInf", detect_negative=0)),
    one("is_negative_infinity", np.isneginf, torch="isneginf", keras="Isneginf", stablehlo="is_neg_inf",
        onnx_by=op("IsInf", detect_positive=0)),
    one("sign_bit", np.signbit, torch="signbit", keras="Signbit"),
    one("sinc", wide(lambda x: np.where(x == 0, 1, np.sin(np.pi * x) / (np.pi * x))), torch="sinc", keras="Sinc",
        lost=1.0, values=MODEST),
    one("finite", lambda x: np.nan_to_num(x), torch="nan_to_num", keras="NanToNum"),
    # Activations.
    one("sigmoid", wide(_sigmoid), onnx="Sigmoid", tflite="LOGISTIC", torch="sigmoid", keras="Sigmoid",
        tensorflow="Sigmoid", stablehlo="logistic",
        keras_word_by=layer("Activation", activation="sigmoid")),
    one("relu", lambda x: np.maximum(x, 0), unsigned=True, onnx="Relu", tflite="RELU", torch="relu", keras="Relu",
        tensorflow="Relu", note="of NaN NaN",
        keras_word_by=layer("Activation", activation="relu"),
        keras_layer_by=layer("ReLU", max_value=None, negative_slope=0.0, threshold=0.0)),
    one("relu6", lambda x: np.clip(x, 0, 6), unsigned=True, tflite="RELU6", torch="relu6", keras="Relu6",
        tensorflow="Relu6",
        keras_word_by=layer("Activation", activation="relu6"),
        keras_layer_by=layer("ReLU", max_value=6.0, negative_slope=0.0, threshold=0.0)),
    Meaning("relu6_of_integers", lambda x: np.clip(x, 0, 6), [Case("integers", [INTEGERS])],
        {"keras": op("Relu6"), "tensorflow": op("Relu6"), "torch": aten("relu6")}),
    one("relu_n1_to_1", lambda x: np.clip(x, -1, 1), tflite="RELU_N1_TO_1",
        torch_by=aten("hardtanh", min_val=-1.0, max_val=1.0), keras="HardTanh"),
    one("elu", unsigned=True, expected=wide(_elu), onnx="Elu", tflite="ELU", torch="elu", keras="Elu", tensorflow="Elu",
        keras_word_by=layer("Activation", activation="elu"),
        keras_layer_by=layer("ELU", alpha=1.0)),
    one("elu_of_half", unsigned=True, expected=wide(lambda x: _elu(x, 0.5)), onnx_by=op("Elu", alpha=0.5),
        torch_by=aten("elu", alpha=0.5),
        keras_by=op("Elu", alpha=0.5)),
    one("selu", unsigned=True, expected=wide(lambda x: _SELU[1] * _elu(x, _SELU[0])), onnx="Selu", torch="selu",
        keras="Selu",
        tensorflow="Selu",
        keras_word_by=layer("Activation", activation="selu")),
    one("celu", unsigned=True, expected=wide(lambda x: np.maximum(x, 0) + 0.5 * np.expm1(np.minimum(x, 0) / 0.5)),
        onnx_by=op("Celu",
        alpha=0.5),
        torch_by=aten("celu", alpha=0.5), keras_by=op("Celu", alpha=0.5)),
    one("leaky_relu", wide(lambda x: np.where(x > 0, x, x * 0.2)), onnx_by=op("LeakyRelu", alpha=0.2),
        tflite_by=op("LEAKY_RELU", alpha=0.2), torch_by=aten("leaky_relu", negative_slope=0.2),
        keras_by=op("LeakyRelu", negative_slope=0.2), tensorflow_by=op("LeakyRelu", alpha=0.2),
        keras_layer_by=layer("LeakyReLU", negative_slope=0.2)),
    one("softplus", wide(lambda x: np.logaddexp(0, x)), onnx="Softplus", torch="softplus", keras="Softplus",
        tensorflow="Softplus",
        keras_word_by=layer("Activation", activation="softplus")),
    one("softsign", lambda x: x / (1 + np.abs(x)), onnx="Softsign", keras="Softsign", tensorflow="Softsign",
        keras_word_by=layer("Activation", activation="softsign")),
    one("log_sigmoid", wide(lambda x: -np.logaddexp(0, -x)), torch="log_sigmoid", keras="LogSigmoid", unsigned=True,
        keras_word_by=layer("Activation", activation="log_sigmoid")),
    one("gelu", wide(_gelu), lost=1.0, unsigned=True, onnx="Gelu", torch="gelu",
        tflite_by=op("GELU", approximate=False), keras_by=op("Gelu", approximate=False),
        keras_word_by=layer("Activation", activation="gelu"),
        onnx_microsoft_by=op("Gelu", domain="com.microsoft"), tensorflow_by=op("Gelu", approximate=False)),
    one("gelu_tanh", wide(_gelu_tanh), lost=1.0, unsigned=True, onnx_by=op("Gelu", approximate="tanh"),
        torch_by=aten("gelu", approximate="tanh"), tflite_by=op("GELU", approximate=True),
        keras_by=op("Gelu", approximate=True),
        onnx_microsoft_by=op("FastGelu", domain="com.microsoft"), tensorflow_by=op("Gelu", approximate=True)),
    one("silu", wide(lambda x: x * _sigmoid(x)), onnx="Swish", torch="silu", keras="Silu",
        keras_word_by=layer("Activation", activation="silu"),
        onnx_microsoft_by=op("QuickGelu", domain="com.microsoft", alpha=1.0)),
    one("mish", wide(lambda x: x * np.tanh(np.logaddexp(0, x))), onnx="Mish", torch="mish", keras="Mish",
        keras_word_by=layer("Activation", activation="mish")),
    one("hard_sigmoid", wide(lambda x: np.clip(x / 6 + 0.5, 0, 1)), torch="hardsigmoid", keras="HardSigmoid",
        onnx_by=op("HardSigmoid", alpha=1 / 6, beta=0.5), note="(x + 3) / 6",
        keras_word_by=layer("Activation", activation="hard_sigmoid")),
    one("hard_sigmoid_of_fifths", wide(lambda x: np.clip(x * 0.2 + 0.5, 0, 1)), onnx="HardSigmoid",
        note="0.2 x + 0.5: the default of ONNX, and of Keras before 3"),
    one("hard_swish", values=MODEST, expected=wide(lambda x: x * np.clip(x / 6 + 0.5, 0, 1)), unsigned=True,
        onnx="HardSwish", tflite="HARD_SWISH", torch="hardswish", keras="HardSilu",
        keras_word_by=layer("Activation", activation="hard_silu")),
    one("hard_shrink", lambda x: np.where(np.abs(x) <= 0.5, 0, x), torch="hardshrink", unsigned=True,
        note="of NaN NaN"),
    one("hard_shrink_of_numbers", lambda x: np.where(np.abs(x) > 0.5, x, 0), keras="HardShrink", unsigned=True,
        onnx_by=op("Shrink", lambd=0.5, bias=0.0), note="of NaN 0"),
    one("soft_shrink", lambda x: np.sign(x) * np.maximum(np.abs(x) - np.float32(0.5), 0), unsigned=True,
        torch="softshrink", note="of NaN NaN"),
    one("soft_shrink_of_numbers", lambda x: np.nan_to_num(np.sign(x) * np.maximum(np.abs(x) - np.float32(0.5), 0),
        posinf=np.inf, neginf=-np.inf), unsigned=True, keras="SoftShrink",
        onnx_by=op("Shrink", lambd=0.5, bias=0.5), note="of NaN 0"),
    one("shrink", lambda x: np.where(x < -0.5, x + np.float32(0.25), np.where(x > 0.5, x - np.float32(0.25), 0)),
        onnx_by=op("Shrink", lambd=0.5, bias=0.25), unsigned=True, note="of NaN 0"),
    one("tanh_shrink", wide(lambda x: x - np.tanh(x)), lost=1e-3, unsigned=True, keras="TanhShrink"),
    one("threshold", lambda x: np.where(x > 0.5, x, np.where(np.isnan(x), x, 2)).astype(x.dtype),
        torch_by=aten("threshold", threshold=0.5, value=2.0), note="of NaN NaN"),
    one("threshold_of_numbers", lambda x: np.where(x > 0.5, x, 2).astype(x.dtype), note="of NaN the value",
        keras_by=op("Threshold", threshold=0.5, default_value=2.0)),
    one("thresholded_relu", lambda x: np.where(x > 0.5, x, 0).astype(x.dtype), onnx_by=op("ThresholdedRelu", alpha=0.5),
        unsigned=True, note="of NaN 0"),
    one("squareplus", values=MODEST, expected=wide(lambda x: (x + np.sqrt(x * x + 4)) / 2), lost=1e2,
        keras="Squareplus"),
    one("clip", lambda x: _clipped(x, -1, 2), torch_by=aten("clamp", min=-1.0, max=2.0),
        onnx_by=lambda net, x: net("Clip", x, net.const(-1.0, "float32"), net.const(2.0, "float32")),
        keras_by=op("Clip", x_min=-1.0, x_max=2.0),
        tensorflow_by=lambda net, x: net("ClipByValue", x, net.const(-1.0, "float32"), net.const(2.0, "float32")),
        stablehlo_by=lambda net, x: net("clamp", net.const(-1.0, "float32"), x, net.const(2.0, "float32"))),
    # Of two numbers.
    two("add", np.add, onnx="Add", tflite="ADD", torch="add.Tensor", keras="Add", tensorflow="AddV2", stablehlo="add",
        integers=INTEGER_PAIRS,
        tensorflow_old_by=op("Add"), tflite_stablehlo_by=op("STABLEHLO_ADD")),
    two("subtract", np.subtract, onnx="Sub", tflite="SUB", torch="sub.Tensor", keras="Subtract", tensorflow="Sub",
        stablehlo="subtract", integers=INTEGER_PAIRS),
    two("multiply", np.multiply, onnx="Mul", tflite="MUL", torch="mul.Tensor", keras="Multiply", tensorflow="Mul",
        stablehlo="multiply", integers=INTEGER_PAIRS,
        tflite_stablehlo_by=op("STABLEHLO_MULTIPLY")),
    two("divide", np.divide, onnx="Div", tflite="DIV", torch="div.Tensor", keras="TrueDivide", tensorflow="RealDiv",
        stablehlo="divide",
        keras_divide_by=op("Divide"), tensorflow_old_by=op("Div")),
    two("divide_integers", lambda x, y: np.trunc(x / y.astype(np.float64)).astype(x.dtype),
        pairs=None, integers=_DIVISIBLE, onnx="Div", tflite="DIV", tensorflow="TruncateDiv", stablehlo="divide",
        torch_by=aten("div.Tensor_mode", "self other", rounding_mode="trunc"), note="towards 0"),
    two("truncated_quotient", lambda x, y: np.trunc(x / y), pairs=_NORMAL, tensorflow="TruncateDiv",
        torch_by=aten("div.Tensor_mode", "self other", rounding_mode="trunc")),
    two("divide_no_nan", lambda x, y: np.where(y == 0, 0, x / y), unsigned=True, keras="DivideNoNan",
        tensorflow="DivNoNan"),
    two("floor_divide", np.floor_divide, unsigned=True, pairs=_NORMAL, integers=_DIVISIBLE, torch="floor_divide",
        keras="FloorDivide", note="Python's: of infinity NaN"),
    two("floor_of_quotient", lambda x, y: np.floor(x / y).astype(x.dtype), pairs=_QUOTIENTS, integers=_DIVISIBLE,
        tensorflow="FloorDiv", note="of infinity infinity"),
    two("floor_of_exact_quotient", wide(lambda x, y: np.floor(x / y)), pairs=[x[_NORMAL[1] != 0] for x in _NORMAL],
        integers=_DIVISIBLE, tflite="FLOOR_DIV", note="of floats in float64"),
    two("floor_mod", np.mod, unsigned=True, pairs=_NORMAL, integers=_DIVISIBLE, tflite="FLOOR_MOD",
        torch="remainder.Tensor", keras="Mod", tensorflow="FloorMod", note="with the sign of the divisor"),
    two("mod_of_integers", np.mod, pairs=None, integers=_DIVISIBLE, onnx="Mod", note="floats need fmod"),
    two("truncated_mod", np.fmod, pairs=_NORMAL, integers=_DIVISIBLE, torch="fmod.Tensor", keras="Fmod",
        stablehlo="remainder", onnx_by=op("Mod", fmod=1), note="with the sign of the dividend"),
    two("power", np.power, names="self exponent", onnx="Pow", tflite="POW", torch="pow.Tensor_Tensor", keras="Power",
        tensorflow="Pow", stablehlo="power"),
    two("maximum", np.maximum, unsigned=True, onnx="Max", tflite="MAXIMUM", torch="maximum", keras="Maximum",
        tensorflow="Maximum", stablehlo="maximum", integers=INTEGER_PAIRS, note="NaN wins",
        tflite_stablehlo_by=op("STABLEHLO_MAXIMUM")),
    two("minimum", np.minimum, unsigned=True, onnx="Min", tflite="MINIMUM", torch="minimum", keras="Minimum",
        tensorflow="Minimum", stablehlo="minimum", integers=INTEGER_PAIRS, note="NaN wins",
        tflite_stablehlo_by=op("STABLEHLO_MINIMUM")),
    two("maximum_of_numbers", np.fmax, unsigned=True, torch="fmax", keras="Fmax", note="NaN loses"),
    two("minimum_of_numbers", np.fmin, unsigned=True, torch="fmin", keras="Fmin", note="NaN loses"),
    two("atan2", wide(np.arctan2), tflite="ATAN2", torch="atan2", keras="Arctan2", tensorflow="Atan2",
        stablehlo="atan2"),
    two("hypot", wide(np.hypot), torch="hypot", keras="Hypot"),
    two("logaddexp", wide(np.logaddexp), lost=1.0, torch="logaddexp", keras="Logaddexp"),
    two("logaddexp2", wide(np.logaddexp2), lost=1.0, torch="logaddexp2", keras="Logaddexp2"),
    two("copysign", np.copysign, torch="copysign.Tensor"),
    two("heaviside", lambda x, y: np.where(np.isnan(x), x, np.heaviside(x, y)), unsigned=True, keras="Heaviside"),
    two("xlogy", wide(lambda x, y: np.where((x == 0) & ~np.isnan(y), 0, x * np.log(y))), unsigned=True,
        torch="xlogy.Tensor"),
    two("squared_difference", lambda x, y: (x - y) ** 2, tflite="SQUARED_DIFFERENCE", tensorflow="SquaredDifference"),
    two("prelu", lambda x, y: np.where(x < 0, x * y, x), onnx="PRelu", tflite="PRELU"),
    *(
        two(name, function, integers=INTEGER_PAIRS, onnx=onnx, tflite_by=_truth(tflite), torch=f"{torch}.Tensor",
            keras=keras, tensorflow=keras, stablehlo_by=_compared(direction))
        for name, function, onnx, tflite, torch, keras, direction in [
            ("equal", np.equal, "Equal", "EQUAL", "eq", "Equal", "EQ"),
            ("less", np.less, "Less", "LESS", "lt", "Less", "LT"),
            ("less_equal", np.less_equal, "LessOrEqual", "LESS_EQUAL", "le", "LessEqual", "LE"),
            ("greater", np.greater, "Greater", "GREATER", "gt", "Greater", "GT"),
            ("greater_equal", np.greater_equal, "GreaterOrEqual", "GREATER_EQUAL", "ge", "GreaterEqual", "GE"),
        ]
    ),
    two("not_equal", np.not_equal, integers=INTEGER_PAIRS, tflite_by=_truth("NOT_EQUAL"), torch="ne.Tensor",
        keras="NotEqual", tensorflow="NotEqual", stablehlo_by=_compared("NE")),
    two("bitwise_and", np.bitwise_and, pairs=None, integers=INTEGER_PAIRS, onnx="BitwiseAnd",
        torch="bitwise_and.Tensor", keras="BitwiseAnd", tensorflow="BitwiseAnd", stablehlo="and"),
    two("bitwise_or", np.bitwise_or, pairs=None, integers=INTEGER_PAIRS, onnx="BitwiseOr", torch="bitwise_or.Tensor",
        keras="BitwiseOr", tensorflow="BitwiseOr", stablehlo="or"),
    two("bitwise_xor", np.bitwise_xor, pairs=None, integers=INTEGER_PAIRS, onnx="BitwiseXor", tflite="BITWISE_XOR",
        torch="bitwise_xor.Tensor", keras="BitwiseXor", tensorflow="BitwiseXor", stablehlo="xor"),
]  # fmt: skip
