# pyright: basic, reportMissingImports=false
"""Rows of `keras.ops` on special numbers, judged by Keras on its numpy backend."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ["KERAS_BACKEND"] = "numpy"

import keras
import numpy as np
from special_numbers import Rules, castable, rows, tuples

ops: Any = keras.ops
_FLOATS = ("float32", "float16")
_INTEGERS = ("int8", "uint8", "int32")
# Of 64 bits the numpy backend computes in 32.
_UNARY = """
    abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad erf erfc exp exp2 expm1 fabs floor
    isfinite isinf isnan isneginf isposinf log log10 log1p log2 negative nan_to_num rad2deg reciprocal round rsqrt
    sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc celu elu gelu hard_shrink hard_sigmoid hard_silu
    hard_tanh leaky_relu log_sigmoid relu relu6 selu silu soft_shrink softplus softsign sparse_plus sparse_sigmoid
    squareplus tanh_shrink threshold logical_not
""".split()
_BINARY = """
    add arctan2 copysign divide divide_no_nan equal floor_divide fmax fmin fmod greater greater_equal heaviside
    hypot isclose less less_equal logaddexp logaddexp2 maximum minimum mod multiply nextafter not_equal power
    subtract true_divide
""".split()
_REDUCING = """
    all amax amin any argmax argmin argsort count_nonzero cumprod cumsum logsumexp max mean median min prod softmax
    log_softmax sort std sum var nanmax nanmin nansum nanmean nanprod nanargmax norm normalize diff
""".split()
_OF_TWO_INTEGERS = """
    add subtract multiply floor_divide mod maximum minimum bitwise_and bitwise_or bitwise_xor left_shift right_shift
    equal less power fmax fmin
""".split()
_CASTS = ("float32", "float16", "int8", "uint8", "int32", "bool")
_UNSIGNED = frozenset(
    """
        sign maximum minimum fmax fmin amax amin max min sort mod remainder soft_shrink threshold median sum
        mean cumsum nanmax nanmin nansum log_sigmoid relu relu6 tanh_shrink diff
    """.split()
)
_CANCELLING = {
    "logaddexp": 1.0,
    "logaddexp2": 1.0,
    "gelu": 1.0,
    "tanh_shrink": 1e-3,
    "elu": 1.0,
    "celu": 1.0,
    "selu": 1.0,
    "erfc": 1e-3,
    "sinc": 1.0,
    "squareplus": 1e2,
}
_OVERFLOWING = frozenset(
    """
        sinc std var norm normalize cumsum cumprod prod sum mean gelu hard_silu squareplus sparse_plus median nansum
        nanprod nanmean hypot
    """.split()
)
_SUBNORMAL = frozenset(("floor_divide", "mod", "fmod", "cumprod", "prod", "normalize"))
_OTHERWISE: dict[str, Callable[..., Any]] = {
    "hard_shrink": lambda x: np.where(np.isnan(x), x, np.where(np.abs(x) > 0.5, x, 0)).astype(x.dtype),
    "soft_shrink": lambda x: np.sign(x) * np.maximum(np.abs(x) - x.dtype.type(0.5), 0),
    "threshold": lambda x: np.where(x <= 0, 0, x).astype(x.dtype),
    "argmax": lambda x: x.argmax(-1).astype(np.int32),
    "argmin": lambda x: x.argmin(-1).astype(np.int32),
}
"""What is right, too: NaN stays, as Keras has it with other backends; zeros are equal, whatever their signs."""


def _along(name: str) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        module = ops.nn if hasattr(ops.nn, name) else ops
        if name in ("norm", "normalize"):
            return getattr(ops, name)(x, axis=-1)
        if name == "norm":
            return ops.norm(x, axis=-1)
        return getattr(ops if hasattr(ops, name) else module, name)(x, axis=-1)

    return function


RULES = Rules(_UNSIGNED, _CANCELLING, _OVERFLOWING, _SUBNORMAL, _OTHERWISE)


def table() -> Iterator[tuple[str, str, Callable[..., Any], list[Any]]]:
    for dtype in _FLOATS:
        for name in _UNARY:
            if hasattr(ops, name):
                yield name, dtype, getattr(ops, name), tuples(dtype)
        for name in _BINARY:
            if hasattr(ops, name):
                yield name, dtype, getattr(ops, name), tuples(dtype, dtype)
        for name in _REDUCING:
            if hasattr(ops, name):
                yield name, dtype, _along(name), [rows(dtype)]
        yield "clip", dtype, lambda x: ops.clip(x, -1.0, 2.0), tuples(dtype)
        for other in _CASTS:
            yield f"cast {other}", dtype, lambda x, other=other: ops.cast(x, other), [castable(dtype, other)]
    for dtype in _INTEGERS:
        for name in ("abs", "negative", "sign", "square", "bitwise_not", "relu"):
            yield name, dtype, getattr(ops, name), tuples(dtype)
        for name in _OF_TWO_INTEGERS:
            yield name, dtype, getattr(ops, name), _fit(name, *tuples(dtype, dtype))
        for name in ("sum", "prod", "max", "min", "argmax", "cumsum", "sort"):
            yield name, dtype, _along(name), [rows(dtype)]


def _fit(name: str, a: Any, b: Any) -> list[Any]:
    """Pairs for which numpy says what a result is."""
    if "shift" in name:
        inside = (b >= 0) & (b < 8 * b.dtype.itemsize)
        return [a[inside], b[inside]]
    if name == "power":
        return [a[b >= 0], b[b >= 0]]
    return [a, b]


def case(function: Callable[..., Any], inputs: list[Any]) -> tuple[Any, Callable[..., Any]] | None:
    def judge(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(function(*(ops.convert_to_tensor(x, dtype=x.dtype.name) for x in values)))

    arguments = [keras.Input(batch_shape=x.shape, dtype=x.dtype.name, name=f"x{at}") for at, x in enumerate(inputs)]
    try:
        judge(*inputs)
        return keras.Model(arguments, function(*arguments)), judge
    except (TypeError, ValueError, AttributeError, NotImplementedError, RuntimeError, AssertionError):
        return None
