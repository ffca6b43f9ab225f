# pyright: basic, reportMissingImports=false
"""Rows of PyTorch on special numbers, judged by eager torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from against_eager import array, exported
from special_numbers import Rules, castable, rows, tuples

_FLOATS = ("float32", "float64", "float16", "bfloat16")
_INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
_UNARY = """
    abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc erfinv exp exp2 expm1 floor frac isfinite isinf
    isnan isneginf isposinf log log10 log1p log2 logical_not logit neg reciprocal relu round rsqrt sigmoid sgn sign
    signbit sin sinc sinh sqrt square tan tanh trunc nan_to_num lgamma digamma rad2deg deg2rad positive angle
    special.entr special.ndtr special.log_ndtr special.i0
""".split()
_ACTIVATIONS = """
    celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus
    softshrink softsign tanhshrink
""".split()
_BINARY = """
    add sub mul div true_divide floor_divide remainder fmod pow float_power maximum minimum fmax fmin atan2 hypot
    logaddexp logaddexp2 copysign nextafter heaviside xlogy special.xlog1py ldexp eq ne lt le gt ge logical_and
    logical_or logical_xor isclose
""".split()
_OF_INTEGERS = """
    abs neg sign sgn square bitwise_not ceil floor round trunc relu logical_not isfinite sqrt exp reciprocal sigmoid
""".split()
_OF_TWO_INTEGERS = """
    add sub mul div floor_divide remainder fmod pow maximum minimum bitwise_and bitwise_or bitwise_xor
    bitwise_left_shift bitwise_right_shift eq lt ge
""".split()
_REDUCING: dict[str, Callable[..., Any]] = {
    **{name: lambda x, f=name: getattr(torch, f)(x, -1) for name in (
        "sum prod mean amax amin argmax argmin cumsum cumprod logsumexp softmax log_softmax var std nansum nanmean "
        "all any argsort logcumsumexp median nanmedian count_nonzero").split()},
    "max": lambda x: torch.max(x, -1)[0],
    "min": lambda x: torch.min(x, -1)[1],
    "cummax": lambda x: torch.cummax(x, -1)[0],
    "cummin": lambda x: torch.cummin(x, -1)[0], "sort": lambda x: torch.sort(x, -1, stable=True)[0],
    "sort places": lambda x: torch.sort(x, -1, stable=True)[1], "topk": lambda x: torch.topk(x, 2)[0],
    "max_pool1d": lambda x: F.max_pool1d(x[:, None], 2, 1),
    "avg_pool1d": lambda x: F.avg_pool1d(x[:, None], 2, 1),
    "adaptive max": lambda x: F.adaptive_max_pool1d(x[:, None], 2),
    "layer_norm": lambda x: F.layer_norm(x, (3,)), "normalize": lambda x: F.normalize(x),
    "softmin": lambda x: F.softmin(x, -1),
    "softplus": lambda x: F.softplus(x), "var 0": lambda x: torch.var(x, -1, correction=0),
    "rms_norm": lambda x: F.rms_norm(x, (3,)),
    "clamp": lambda x: torch.clamp(x, -1, 2), "norm 1": lambda x: torch.linalg.vector_norm(x, 1, -1),
    "norm": lambda x: torch.linalg.vector_norm(x, 2, -1),
    "norm inf": lambda x: torch.linalg.vector_norm(x, float("inf"), -1), "diff": lambda x: torch.diff(x),
    "logaddexp": lambda x: torch.logaddexp(x[:, :1], x[:, 1:]), "where": lambda x: torch.where(x > 0, x, -x),
    "unique": lambda x: x.unsqueeze(-1).amax(-1),
}  # fmt: skip
_MORE: dict[str, Callable[..., Any]] = {
    "clamp": lambda a, b: torch.clamp(a, min=b), "clamp max": lambda a, b: torch.clamp(a, max=b),
    "lerp": lambda a, b: torch.lerp(a, b, 0.5), "div trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "div floor": lambda a, b: torch.div(a, b, rounding_mode="floor"), "addcmul": lambda a, b: torch.addcmul(a, a, b),
    "threshold": lambda a, b: F.threshold(torch.maximum(a, b), 0.5, 2.0),
    "dist": lambda a, b: F.smooth_l1_loss(a, b, reduction="none"),
    "huber": lambda a, b: F.huber_loss(a, b, reduction="none"),
}  # fmt: skip
_CASTS = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool")


_UNSIGNED = frozenset(
    [
        *"""
        sign sgn maximum minimum fmax fmin clamp amax amin max max_pool1d logsigmoid remainder cummax cummin
        sort topk median nanmedian softshrink lerp
    """.split(),
        "clamp max",
        "layer_norm",
        "adaptive max",
    ]
)
_CANCELLING = {
    "logaddexp2": 1.0,
    "lgamma": 10.0,
    "logaddexp": 1.0,
    "gelu": 1.0,
    "special.ndtr": 1.0,
    "tanhshrink": 1e-3,
}
_OVERFLOWING = frozenset(
    [
        *"""
        var std layer_norm rms_norm addcmul cumsum normalize norm logcumsumexp hardswish cumprod prod
    """.split(),
        "var 0",
    ]
)
_SUBNORMAL = frozenset(("floor_divide", "div floor", "remainder", "fmod"))


_OTHERWISE: dict[str, Callable[..., Any]] = {"fmod": np.fmod, "remainder": np.remainder, "heaviside": np.heaviside}
"""What is right, too: torch gives NaN for a remainder whose quotient overflows, and 0 for a step at NaN."""


def _function(name: str) -> Callable[..., Any]:
    module: Any = torch
    for part in name.split("."):
        module = getattr(module, part)
    return module


def _tensor(values: Any) -> Any:
    if values.dtype.name == "bfloat16":
        return torch.from_numpy(values.view("uint16").copy()).view(torch.bfloat16)
    return torch.from_numpy(values.copy())


RULES = Rules(_UNSIGNED, _CANCELLING, _OVERFLOWING, _SUBNORMAL, _OTHERWISE)


def table() -> Iterator[tuple[str, str, Callable[..., Any], list[Any]]]:
    """Name, element type, function and inputs of each row."""
    for dtype in _FLOATS:
        for name in _UNARY:
            yield name, dtype, _function(name), tuples(dtype)
        for name in _ACTIVATIONS:
            yield name, dtype, getattr(F, name), tuples(dtype)
        for name in _BINARY:
            yield name, dtype, _function(name), tuples(dtype, dtype)
        for name, function in _MORE.items():
            yield name, dtype, function, tuples(dtype, dtype)
        for name, function in _REDUCING.items():
            yield name, dtype, function, [rows(dtype)]
        for other in _CASTS:
            yield f"to {other}", dtype, lambda x, other=other: x.to(getattr(torch, other)), [castable(dtype, other)]
    for dtype in _INTEGERS:
        for name in _OF_INTEGERS:
            yield name, dtype, _function(name), tuples(dtype)
        for name in _OF_TWO_INTEGERS:
            yield name, dtype, _function(name), _divisible(dtype) if name in _DIVISIONS else tuples(dtype, dtype)
        for name in ("sum", "prod", "amax", "amin", "argmax", "cumsum", "sort", "all", "argsort", "mean"):
            if name in _REDUCING:
                yield name, dtype, _REDUCING[name], [rows(dtype)]
        for other in _CASTS:
            yield f"to {other}", dtype, lambda x, other=other: x.to(getattr(torch, other)), [castable(dtype, other)]


_DIVISIONS = ("floor_divide", "remainder", "fmod")


def _divisible(dtype: str) -> list[Any]:
    """Pairs without those of which torch ends the process, or raises: division by 0, and of the least number by -1."""
    a, b = tuples(dtype, dtype)
    fit = (b != 0) & ~((b.astype("int64") == -1) & (a == a.min()))
    return [a[fit], b[fit]]


def case(function: Callable[..., Any], inputs: list[Any]) -> tuple[Any, Callable[..., Any]] | None:
    """The program, and what judges it; None where torch itself computes nothing."""
    tensors = [_tensor(values) for values in inputs]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*tensors)
            program = exported(function, *tensors)
    except (RuntimeError, TypeError, NotImplementedError, ZeroDivisionError):
        return None
    return program, lambda *values: array(function(*map(_tensor, values)))
