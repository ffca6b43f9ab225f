"""The functions of hybrid scripts on numbers and arrays: with them Python runs a script as it stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

from ...support.dtypes import Array, numpy_of

_LANGUAGE = __name__.removesuffix(".language.hybrid_runtime")
_SHARED = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan"),
    *("sinh", "cosh", "tanh", "floor", "ceil", "trunc", "abs", "power", "fmod", "hypot", "copysign", "nextafter"),
    *("isnan", "isinf", "isfinite", "maximum", "minimum", "ldexp"),
)
"""The functions that numpy has by the same name."""


def _filled(shape: Any, dtype: Any = "float32", scope: str | None = None) -> Array:
    """Zeros, the content of a new tensor."""
    del scope
    return cast(Array, np.zeros(shape, cast(Any, _dtype(dtype))))


def _dtype(dtype: Any) -> np.dtype[np.generic]:
    return numpy_of(dtype) if isinstance(dtype, str) else np.dtype(dtype)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _rounded(x: Any) -> Any:
    """The nearest whole number, halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _popcount(x: Any) -> int:
    width = np.asarray(x).dtype.itemsize * 8
    return (int(x) & ((1 << width) - 1)).bit_count()


def _bind(tag: str, extent: int) -> range:
    del tag
    return range(extent)


def _truncdiv(a: Any, b: Any) -> Any:
    quotient = abs(int(a)) // abs(int(b))
    return type(a)(quotient if (a < 0) == (b < 0) else -quotient)


def _truncmod(a: Any, b: Any) -> Any:
    return type(a)(int(a) - int(_truncdiv(a, b)) * int(b))


def _ceil_div(a: Any, b: Any) -> Any:
    return (a + b - 1) // b


def _choice(condition: Any, then: Any, otherwise: Any) -> Any:
    return then if condition else otherwise


def _itself(condition: Any) -> Any:
    return condition


def _fma(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded once for floats of up to 32 bits."""
    return type(c)(np.float64(a) * np.float64(b) + np.float64(c))


def _threads(allow_none: bool = True) -> int:
    del allow_none
    return 1


def _erf(x: Any) -> Any:
    return np.asarray(x).dtype.type(math.erf(x))


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def _view(array: Array, shape: Sequence[int]) -> Array:
    return array.reshape(*shape)


def _cast(dtype: str) -> Callable[[Any], Any]:
    return numpy_of(dtype).type


HYBRID_GLOBALS: dict[str, Any] = {
    **{name: getattr(np, name) for name in _SHARED},
    **dict.fromkeys(("serial", "unroll", "vectorize", "parallel", "const_range"), range),
    **dict.fromkeys(("output_tensor", "allocate"), _filled),
    **{name: _cast(name) for name in ("float16", "float32", "float64")},
    **{f"{sign}int{bits}": _cast(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool": _cast("bool"),
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "acosh": np.arccosh,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "bind": _bind,
    "ceil_div": _ceil_div,
    "erf": _erf,
    "fma": _fma,
    "if_then_else": _choice,
    "select": _choice,
    "likely": _itself,
    "max_num_threads": _threads,
    "nearbyint": np.rint,
    "popcount": _popcount,
    "round": _rounded,
    "rsqrt": _rsqrt,
    "sigmoid": _sigmoid,
    "truncdiv": _truncdiv,
    "truncmod": _truncmod,
    "view": _view,
}
"""What a script may say without an import, by name."""

_TE = SimpleNamespace(**HYBRID_GLOBALS)


def run(function: FunctionType, arguments: Mapping[str, Any]) -> Any:
    """Call a script's function on arrays and numbers; its own surroundings stay unchanged."""
    names = {name: _TE if _is_te(value) else value for name, value in function.__globals__.items()}
    copy = FunctionType(function.__code__, {**names, **HYBRID_GLOBALS}, function.__name__, None, function.__closure__)
    # What new memory holds is not a matter of the script.
    with np.errstate(all="ignore"):
        return copy(**arguments)


def _is_te(value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__ == _LANGUAGE
