# pyright: basic, reportMissingImports=false
"""Rows of JAX on special numbers, judged by JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import digamma
from special_numbers import Rules, castable, rows, tuples

jax.config.update("jax_enable_x64", True)

_FLOATS = ("float32", "float64", "float16")
_INTEGERS = ("int8", "uint8", "int16", "int32", "uint32", "int64")
_UNARY = """
    abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh exp exp2 expm1 floor isfinite isinf isnan
    isneginf isposinf log log10 log1p log2 negative nan_to_num reciprocal rint sign signbit sin sinc sinh sqrt
    square tan tanh trunc
""".split()
_LAX = "erf erfc erf_inv rsqrt logistic lgamma digamma round".split()
_NN = """
    celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid mish relu relu6 selu sigmoid
    silu soft_sign softplus squareplus sparse_plus
""".split()
_BINARY = """
    add arctan2 copysign divide equal floor_divide fmax fmin fmod greater heaviside hypot isclose ldexp less
    less_equal logaddexp logaddexp2 maximum minimum mod multiply nextafter not_equal power remainder subtract
""".split()
_REDUCING = """
    all amax amin any argmax argmin argsort cumprod cumsum max mean median min nanmax nanmean nansum prod sort std
    sum var
""".split()
_OF_TWO_INTEGERS = """
    add subtract multiply floor_divide mod fmod maximum minimum bitwise_and bitwise_or bitwise_xor left_shift
    right_shift equal less power
""".split()
_CASTS = ("float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64", "bool")
_UNSIGNED = frozenset(
    """
        sign maximum minimum fmax fmin amax amin max min sort mod remainder fmod relu relu6 sum mean cumsum
        median nansum nanmax log_sigmoid floor_divide round rint celu selu top_k
    """.split()
)
_CANCELLING = {
    "logaddexp": 1.0, "logaddexp2": 1.0, "gelu": 1.0, "elu": 1.0, "erfc": 1e-3, "sinc": 1.0, "lgamma": 10.0,
    "digamma": 10.0, "logsumexp": 1.0,
}  # fmt: skip
_OVERFLOWING = frozenset(
    """
        std var cumsum cumprod prod sum mean gelu hard_silu hard_swish squareplus sparse_plus nansum nanmean
        median
    """.split()
)


class _Every:
    def __contains__(self, name: str) -> bool:
        return True


_SUBNORMAL = _Every()
"""XLA takes operands that are subnormal for 0."""
_OTHERWISE: dict[str, Callable[..., Any]] = {
    "digamma": lambda x: digamma(x).astype(x.dtype),
    "fmod": np.fmod,
    "mod": np.mod,
    "remainder": np.remainder,
}


RULES = Rules(_UNSIGNED, _CANCELLING, _OVERFLOWING, _SUBNORMAL, _OTHERWISE)


def table() -> Iterator[tuple[str, str, Callable[..., Any], list[Any]]]:
    along: dict[str, Callable[[Any], Any]] = {
        **{name: lambda x, f=name: getattr(jnp, f)(x, axis=-1) for name in _REDUCING},
        "logsumexp": lambda x: jax.nn.logsumexp(x, axis=-1),
        "softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax,
        "top_k": lambda x: jax.lax.top_k(x, 2)[0], "clip": lambda x: jnp.clip(x, -1, 2),
    }  # fmt: skip
    for dtype in _FLOATS:
        yield from ((name, dtype, getattr(jnp, name), tuples(dtype)) for name in _UNARY)
        yield from ((name, dtype, getattr(jax.lax, name), tuples(dtype)) for name in _LAX)
        yield from ((name, dtype, getattr(jax.nn, name), tuples(dtype)) for name in _NN)
        yield from ((name, dtype, getattr(jnp, name), tuples(dtype, dtype)) for name in _BINARY)
        yield from ((name, dtype, function, [rows(dtype)]) for name, function in along.items())
        for other in _CASTS:
            yield f"cast {other}", dtype, lambda x, other=other: x.astype(other), [castable(dtype, other, narrow=True)]
    for dtype in _INTEGERS:
        yield from ((name, dtype, getattr(jnp, name), tuples(dtype)) for name in ("abs", "negative", "sign", "invert"))
        for name in _OF_TWO_INTEGERS:
            a, b = tuples(dtype, dtype)
            fit = b != 0 if name in ("floor_divide", "mod", "fmod") else b >= 0 if name == "power" else b == b
            yield name, dtype, getattr(jnp, name), [a[fit], b[fit]]
        for name in ("sum", "prod", "max", "min", "argmax", "cumsum", "sort"):
            yield name, dtype, along[name], [rows(dtype)]


def case(function: Callable[..., Any], inputs: list[Any]) -> tuple[Any, Callable[..., Any]] | None:
    jitted = jax.jit(lambda *values: function(*values))
    try:
        np.asarray(jitted(*inputs))
        return jitted.lower(*inputs), lambda *values: np.asarray(jitted(*values))
    except (TypeError, ValueError, NotImplementedError, AttributeError):
        return None
