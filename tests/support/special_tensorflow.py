# pyright: basic, reportMissingImports=false
"""Rows of TensorFlow on special numbers, judged by TensorFlow without its graph optimisations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import erf
from typing import Any

import numpy as np
import tensorflow as tf
from special_numbers import Rules, castable, rows, tuples

_FLOATS = ("float32", "float64", "float16")
_INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
_UNARY = """
    Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Erfc Exp Expm1 Floor IsFinite IsInf IsNan LeakyRelu
    Log Log1p Neg Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Square
    Tan Tanh
""".split()
_BINARY = """
    Add Atan2 Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual Maximum Minimum Mod Mul
    MulNoNan NotEqual Pow RealDiv SquaredDifference Sub TruncateMod Xdivy Xlog1py Xlogy
""".split()
_OF_INTEGERS = "Abs Invert Neg Sign Square Relu".split()
_OF_TWO_INTEGERS = """
    AddV2 BitwiseAnd BitwiseOr BitwiseXor Equal FloorDiv FloorMod Less Maximum Minimum Mul Pow Sub TruncateDiv
    TruncateMod LeftShift RightShift
""".split()
_REDUCING: dict[str, Callable[[Any], Any]] = {
    **{name: lambda x, f=name: getattr(tf.raw_ops, f)(input=x, axis=-1) for name in ("Sum", "Prod", "Mean")},
    **{name: lambda x, f=name: getattr(tf.raw_ops, f)(input=x, axis=-1) for name in ("Max", "Min")},
    **{name: lambda x, f=name: getattr(tf.raw_ops, f)(input=x, dimension=-1) for name in ("ArgMax", "ArgMin")},
    **{name: lambda x, f=name: getattr(tf.raw_ops, f)(x=x, axis=-1) for name in ("Cumsum", "Cumprod")},
    **{name: lambda x, f=name: getattr(tf.raw_ops, f)(logits=x) for name in ("Softmax", "LogSoftmax")},
    "logsumexp": lambda x: tf.reduce_logsumexp(x, -1), "variance": lambda x: tf.math.reduce_variance(x, -1),
    "top_k": lambda x: tf.math.top_k(x, 2)[0], "l2_normalize": lambda x: tf.math.l2_normalize(x, -1),
    "max_pool": lambda x: tf.nn.max_pool1d(x[..., None], 2, 1, "VALID"), "sort": lambda x: tf.sort(x),
    "avg_pool": lambda x: tf.nn.avg_pool1d(x[..., None], 2, 1, "VALID"), "clip": lambda x: tf.clip_by_value(x, -1, 2),
}  # fmt: skip
_CASTS = ("float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64", "bool")
_UNSIGNED = frozenset(
    """
        Sign Maximum Minimum Max Min Relu Relu6 max_pool top_k sort Round Rint FloorMod Mod Sum Mean Cumsum clip
        MulNoNan Xdivy Xlogy Xlog1py
    """.split()
)
_CANCELLING = {"Elu": 1.0, "Selu": 1.0, "Erfc": 1e-3, "logsumexp": 1.0}
_OVERFLOWING = frozenset(
    """
        Mean Sum Prod Cumsum Cumprod variance l2_normalize SquaredDifference avg_pool
    """.split()
)


class _Every:
    def __contains__(self, name: str) -> bool:
        return True


_SUBNORMAL = _Every()
"""TensorFlow takes operands that are subnormal for 0."""
_OTHERWISE: dict[str, Callable[..., Any]] = {
    "Max": lambda x: x.max(-1),
    "Min": lambda x: x.min(-1),
    "ArgMax": lambda x: x.argmax(-1),
    "ArgMin": lambda x: x.argmin(-1),
    "max_pool": lambda x: np.maximum(x[:, :-1], x[:, 1:])[..., None],
    "top_k": lambda x: np.sort(x)[:, :0:-1],
    "sort": lambda x: -np.sort(-x)[:, ::-1],
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Relu": lambda x: np.maximum(x, 0),
    "Relu6": lambda x: np.clip(x, 0, 6),
    "clip": lambda x: np.clip(x, -1, 2).astype(x.dtype),
    "Mod": np.fmod,
    "TruncateMod": np.fmod,
    "FloorMod": np.mod,
    "Erf": lambda x: np.vectorize(erf, otypes=[x.dtype])(x),
}
"""What is right, too: NaN wins. TensorFlow skips it or not, by the place that it has among lanes."""


def _raw(name: str) -> Callable[..., Any]:
    operator = getattr(tf.raw_ops, name)

    def function(*values: Any) -> Any:
        if len(values) == 2:
            return operator(y=values[0], x=values[1]) if name == "Atan2" else operator(x=values[0], y=values[1])
        for key in ("x", "features", "input"):
            try:
                return operator(**{key: values[0]})
            except TypeError:
                continue
        raise TypeError(name)

    return function


RULES = Rules(_UNSIGNED, _CANCELLING, _OVERFLOWING, _SUBNORMAL, _OTHERWISE)


def table() -> Iterator[tuple[str, str, Callable[..., Any], list[Any]]]:
    for dtype in _FLOATS:
        yield from ((name, dtype, _raw(name), tuples(dtype)) for name in _UNARY)
        yield from ((name, dtype, _raw(name), tuples(dtype, dtype)) for name in _BINARY)
        yield from ((name, dtype, function, [rows(dtype)]) for name, function in _REDUCING.items())
        for other in _CASTS:
            yield (
                f"cast {other}",
                dtype,
                lambda x, other=other: tf.cast(x, other),
                [castable(dtype, other, narrow=True)],
            )
    for dtype in _INTEGERS:
        yield from ((name, dtype, _raw(name), tuples(dtype)) for name in _OF_INTEGERS)
        for name in _OF_TWO_INTEGERS:
            yield name, dtype, _raw(name), _fit(name, *tuples(dtype, dtype))
        for name in ("Sum", "Prod", "Max", "Min", "ArgMax", "Cumsum", "top_k"):
            yield name, dtype, _REDUCING[name], [rows(dtype)]


def _fit(name: str, a: Any, b: Any) -> list[Any]:
    """Pairs of which TensorFlow neither raises, nor ends the process."""
    if "Div" in name or "Mod" in name:
        fit = (b != 0) & ~((a == a.min()) & (b.astype("int64") == -1))
    elif "Shift" in name:
        fit = (b >= 0) & (b < 8 * b.dtype.itemsize)
    else:
        fit = b >= 0 if name == "Pow" else b == b
    return [a[fit], b[fit]]


def case(function: Callable[..., Any], inputs: list[Any]) -> tuple[Any, Callable[..., Any]] | None:
    def judge(*values: Any) -> Any:
        return function(*map(tf.constant, values)).numpy()

    try:
        judge(*inputs)
        signature = [tf.TensorSpec(x.shape, x.dtype, name=f"x{at}") for at, x in enumerate(inputs)]
        return tf.function(lambda *values: function(*values), autograph=False).get_concrete_function(*signature), judge
    except (TypeError, ValueError, tf.errors.OpError):
        return None
