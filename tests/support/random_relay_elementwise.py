"""How operators that work element by element are drawn, and reductions: with operands in their domains."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from random_relay_values import EVERY, FLOATS, INTEGERS, NUMBERS, Draw, Redraw, Value

from whence import relay

Recipe = Callable[[Draw], object]


def _call(name: str) -> Callable[..., Any]:
    prefix, _, rest = name.rpartition(".")
    return getattr(getattr(relay, prefix), rest) if prefix else getattr(relay, name)


# Of one tensor.

_SMOOTH: dict[str, tuple[float, float, Callable[[float], float]]] = {
    "acos": (-0.9, 0.9, math.acos),
    "acosh": (1.5, 8.0, math.acosh),
    "asin": (-0.9, 0.9, math.asin),
    "asinh": (-8.0, 8.0, math.asinh),
    "atan": (-8.0, 8.0, math.atan),
    "atanh": (-0.9, 0.9, math.atanh),
    "cosh": (-2.0, 2.0, math.cosh),
    "erf": (-4.0, 4.0, math.erf),
    "exp": (-4.0, 2.0, math.exp),
    "fast_exp": (-4.0, 2.0, math.exp),
    "fast_erf": (-3.0, 3.0, math.erf),
    "fast_tanh": (-4.0, 4.0, math.tanh),
    "log": (0.5, 8.0, math.log),
    "log10": (0.5, 8.0, math.log10),
    "log2": (0.5, 8.0, math.log2),
    "log1p": (-0.5, 8.0, math.log1p),
    "rsqrt": (0.5, 8.0, lambda x: x**-0.5),
    "sigmoid": (-8.0, 8.0, lambda x: 1 / (1 + math.exp(-x))),
    "sinh": (-2.0, 2.0, math.sinh),
    "sqrt": (0.5, 8.0, math.sqrt),
    "tan": (-1.0, 1.0, math.tan),
    "tanh": (-8.0, 8.0, math.tanh),
}
"""Name -> the interval that operands are from, and the function."""


def smooth(name: str, d: Draw) -> Value:
    low, high, function = _SMOOTH[name]
    x = d.tensor(FLOATS, low=low, high=high)
    points = (min(max(point, low), high) for point in (x.low, 0.0, x.high))
    ends = sorted(map(function, points))
    return d.emit(_call(name)(x.expr), ends[0], ends[-1], exact=False)


def wave(name: str, d: Draw) -> Value:
    return d.emit(_call(name)(d.tensor(FLOATS).expr), -1.0, 1.0, exact=False)


_STEPS = ("ceil", "floor", "round", "trunc")


def step(name: str, d: Draw) -> Value:
    x = d.tensor(FLOATS, exact=True)
    return d.emit(_call(name)(x.expr), math.floor(x.low), math.ceil(x.high), exact=True)


def absolute(d: Draw) -> Value:
    x = d.tensor(NUMBERS)
    return d.emit(relay.abs(x.expr), 0.0 if x.low < 0 < x.high else min(abs(x.low), abs(x.high)), x.most, x.exact)


def negative(d: Draw) -> Value:
    x = d.tensor([t for t in NUMBERS if t != "uint8"])
    found = -x.expr if d.chance(0.3) else relay.negative(x.expr)
    return d.emit(found, -x.high, -x.low, x.exact)


def copy(name: str, d: Draw) -> Value:
    x = d.tensor(EVERY)
    low, high = {"copy": (x.low, x.high), "zeros_like": (0.0, 0.0), "ones_like": (1.0, 1.0)}[name]
    return d.emit(_call(name)(x.expr), low, high, x.exact or name != "copy")


def sign(d: Draw) -> Value:
    return d.emit(relay.sign(d.tensor([t for t in NUMBERS if t != "uint8"], exact=True).expr), -1.0, 1.0, exact=True)


def relu(d: Draw) -> Value:
    x = d.tensor(FLOATS)
    return d.emit(relay.nn.relu(x.expr), max(x.low, 0.0), max(x.high, 0.0), x.exact)


def leaky_relu(d: Draw) -> Value:
    x = d.tensor(FLOATS)
    return d.emit(relay.nn.leaky_relu(x.expr, alpha=d.choice((0.01, 0.25, 0.5))), -x.most, x.most, exact=False)


def clip(d: Draw) -> Value:
    x = d.tensor(NUMBERS)
    low, high = (
        float(d.dice.randint(0, 2) if x.dtype == "uint8" else d.dice.randint(-3, 0)),
        float(d.dice.randint(2, 6)),
    )
    return d.emit(relay.clip(x.expr, low, high), low, high, x.exact)


def classify(name: str, d: Draw) -> Value:
    return d.emit(_call(name)(d.tensor(FLOATS).expr), 0.0, 1.0)


def cast(d: Draw) -> Value:
    target = d.dtype()
    if target in FLOATS:
        x = d.tensor(EVERY)
        return d.emit(relay.cast(x.expr, target), x.low, x.high, x.exact and x.most <= 200)
    x = d.tensor(EVERY, exact=True)
    low = 0.0 if target in ("uint8", "bool") else -100.0
    x = d.bounded(x, max(low, -100.0), 100.0)
    if target == "bool":
        return d.emit(relay.cast(x.expr, target), 0.0, 1.0)
    return d.emit(relay.cast(x.expr, target), math.floor(x.low), math.ceil(x.high))


def cast_like(d: Draw) -> Value:
    x, like = d.tensor(EVERY), d.tensor(FLOATS)
    return d.emit(relay.cast_like(x.expr, like.expr), x.low, x.high, x.exact and x.most <= 200)


def bitwise_not(d: Draw) -> Value:
    x = d.tensor([t for t in INTEGERS if t != "uint8"])
    return d.emit(relay.bitwise_not(x.expr), -x.high - 1, -x.low - 1)


def logical_not(d: Draw) -> Value:
    return d.emit(relay.logical_not(d.tensor(("bool",)).expr), 0.0, 1.0)


# Of two.


def pair(d: Draw, dtypes: Sequence[str], **wanted: Any) -> tuple[Value, Value]:
    """Two tensors of one dtype that broadcast, the second one often of its own."""
    x = d.tensor(dtypes, **wanted)
    if d.chance(0.5):
        same = d.visible(
            lambda v: v.dtype == x.dtype and _broadcasts(v.shape, x.shape) and (v.exact or not wanted.get("exact"))
        )
        if same:
            return x, d.bounded(d.choice(same))
    low = 0.0 if x.dtype == "uint8" else -3.0
    return x, d.fresh(d.partner(x.shape), x.dtype, low, 3.0, constant=0.6)


def _broadcasts(first: Sequence[int], second: Sequence[int]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(first), reversed(second), strict=False))


def swapped(d: Draw, x: Value, y: Value) -> tuple[Value, Value]:
    return (x, y) if d.chance(0.6) else (y, x)


def arithmetic(name: str, d: Draw) -> Value:
    x, y = swapped(d, *pair(d, [t for t in NUMBERS if name != "subtract" or t != "uint8"]))
    exact = x.exact and y.exact
    match name:
        case "add":
            low, high = x.low + y.low, x.high + y.high
            found = x.expr + y.expr if d.chance(0.3) else relay.add(x.expr, y.expr)
        case "subtract":
            low, high = x.low - y.high, x.high - y.low
            found = x.expr - y.expr if d.chance(0.3) else relay.subtract(x.expr, y.expr)
        case _:
            ends = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
            low, high, exact = min(ends), max(ends), exact and x.is_integer
            found = x.expr * y.expr if d.chance(0.3) else relay.multiply(x.expr, y.expr)
    return d.emit(found, low, high, exact)


def extreme(name: str, d: Draw) -> Value:
    x, y = swapped(d, *pair(d, NUMBERS))
    pick = max if name == "maximum" else min
    return d.emit(_call(name)(x.expr, y.expr), pick(x.low, y.low), pick(x.high, y.high), x.exact and y.exact)


def divisor(d: Draw, x: Value) -> Value:
    """Something to divide by, of one sign."""
    shape = d.partner(x.shape)
    if x.is_float:
        return d.given(np.where(d.chance(0.5), 1, -1).astype(x.dtype) * d.array(shape, x.dtype, 0.5, 4.0), 0.7)
    return d.fresh(shape, x.dtype, 1.0, 5.0, constant=0.7)


def divide(d: Draw) -> Value:
    x = d.tensor([*FLOATS, "int32", "int64"])
    y = divisor(d, x)
    found = x.expr / y.expr if d.chance(0.3) else relay.divide(x.expr, y.expr)
    return d.emit(found, -2 * x.most, 2 * x.most, exact=False)


def whole_division(name: str, d: Draw) -> Value:
    x = d.tensor(("int32", "int64", "int8") if d.chance(0.7) else ("float32", "float64"), exact=True)
    y = divisor(d, x)
    if "mod" in name:
        return d.emit(_call(name)(x.expr, y.expr), -5.0, 5.0, x.is_integer)
    return d.emit(_call(name)(x.expr, y.expr), -2 * x.most - 1, 2 * x.most + 1, exact=True)


def power(d: Draw) -> Value:
    x = d.tensor(FLOATS, low=0.5, high=3.0)
    y = d.given(d.array((), x.dtype, -2.0, 3.0), 0.8)
    return d.emit(relay.power(x.expr, y.expr), 0.05, 27.0, exact=False)


def compare(name: str, d: Draw) -> Value:
    x, y = pair(d, NUMBERS, exact=True)
    signs = {"less": "__lt__", "greater": "__gt__", "less_equal": "__le__", "greater_equal": "__ge__"}
    if name in signs and d.chance(0.3):
        return d.emit(getattr(x.expr, signs[name])(y.expr), 0.0, 1.0)
    return d.emit(_call(name)(x.expr, y.expr), 0.0, 1.0)


def logical(name: str, d: Draw) -> Value:
    x, y = pair(d, ("bool",))
    return d.emit(_call(name)(x.expr, y.expr), 0.0, 1.0)


def bitwise(name: str, d: Draw) -> Value:
    x, y = pair(d, INTEGERS)
    top = 2.0 ** math.ceil(math.log2(max(x.most, y.most, 1.0) + 1))
    return d.emit(_call(name)(x.expr, y.expr), 0.0 if x.dtype == "uint8" else -top, top - 1)


def shift(name: str, d: Draw) -> Value:
    x = d.tensor(("int32", "int64", "uint8"), low=0.0, high=30.0)
    y = d.fresh(d.partner(x.shape), x.dtype, 0.0, 3.0, constant=0.7)
    return d.emit(_call(name)(x.expr, y.expr), 0.0, x.high * 8 if name == "left_shift" else x.high)


def where(d: Draw) -> Value:
    x, y = pair(d, EVERY)
    shape = np.broadcast_shapes(x.shape, y.shape)
    found = d.visible(lambda v: v.dtype == "bool" and _broadcasts(v.shape, shape))
    condition = d.choice(found) if found and d.chance(0.6) else d.fresh(d.partner(shape), "bool")
    low, high = min(x.low, y.low), max(x.high, y.high)
    return d.emit(relay.where(condition.expr, x.expr, y.expr), low, high, x.exact and y.exact)


# Reductions.


def axes(d: Draw, rank: int) -> Any:
    if not rank or d.chance(0.15):
        return None
    if d.chance(0.5):
        return d.axis(rank)
    return d.dice.sample(range(rank), d.dice.randint(1, rank))


def reduction(name: str, d: Draw) -> Value:
    boolean = name in ("all", "any")
    integers = ("int32", "int64")
    x = d.tensor(("bool",) if boolean else (*FLOATS, *integers), (1, 4), empty=name == "sum")
    kind = dict(axis=axes(d, x.rank), keepdims=d.chance(0.4), exclude=False)
    if kind["axis"] is not None and d.chance(0.1):
        kind["exclude"] = True
    count = float(np.prod(x.shape))
    if name == "prod":
        x = d.bounded(x, -1.25, 1.25) if x.is_float else d.bounded(x, -1.0, 1.0)
        count = 1.25**count if x.is_float and count > 0 else 1.0
        if count > 30:
            raise Redraw
        return d.emit(relay.prod(x.expr, **kind), -count, count, exact=False)
    low, high = (x.low * count, x.high * count) if name == "sum" else (x.low, x.high)
    exact = x.exact and (name != "mean" or not x.is_float)
    return d.emit(_call(name)(x.expr, **kind), min(low, 0.0), max(high, 0.0), exact)


def argument(name: str, d: Draw) -> Value:
    x = d.tensor((*FLOATS, "int32", "int64"), (1, 4), exact=True, empty=False)
    kind = dict(axis=axes(d, x.rank), keepdims=d.chance(0.4), select_last_index=d.chance(0.3))
    return d.emit(_call(name)(x.expr, **kind), 0.0, float(np.prod(x.shape)))


def spread(name: str, d: Draw) -> Value:
    x = d.tensor(("float32", "float64"), (1, 4), empty=False)
    kind = dict(axis=axes(d, x.rank), keepdims=d.chance(0.4))
    if name == "std":
        # Its slope is endless at 0.
        return d.emit(relay.sqrt(relay.variance(x.expr, **kind) + relay.const(0.5, x.dtype)), 0.5, x.most + 1, False)
    if name == "mean_variance":
        both = relay.mean_variance(x.expr, **kind)
        return d.emit(both[d.dice.randrange(2)], -x.most, x.most * x.most, exact=False)
    return d.emit(_call(name)(x.expr, **kind), 0.0, 4 * x.most * x.most, exact=False)


def logsumexp(d: Draw) -> Value:
    x = d.tensor(("float32", "float64"), (1, 4), empty=False)
    return d.emit(relay.logsumexp(x.expr, axis=d.axis(x.rank), keepdims=d.chance(0.5)), x.low, x.high + 5, exact=False)


RECIPES: dict[str, Recipe] = {
    **{name: partial(smooth, name) for name in _SMOOTH},
    **{name: partial(wave, name) for name in ("sin", "cos")},
    **{name: partial(step, name) for name in _STEPS},
    "abs": absolute,
    "negative": negative,
    **{name: partial(copy, name) for name in ("copy", "zeros_like", "ones_like")},
    "sign": sign,
    "nn.relu": relu,
    "nn.leaky_relu": leaky_relu,
    "clip": clip,
    **{name: partial(classify, name) for name in ("isfinite", "isnan", "isinf")},
    "cast": cast,
    "cast_like": cast_like,
    "bitwise_not": bitwise_not,
    "logical_not": logical_not,
    **{name: partial(arithmetic, name) for name in ("add", "subtract", "multiply")},
    **{name: partial(extreme, name) for name in ("maximum", "minimum")},
    "divide": divide,
    **{
        name: partial(whole_division, name)
        for name in ("floor_divide", "floor_mod", "mod", "trunc_divide", "trunc_mod")
    },
    "power": power,
    **{
        name: partial(compare, name)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    **{name: partial(logical, name) for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: partial(bitwise, name) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: partial(shift, name) for name in ("left_shift", "right_shift")},
    "where": where,
    **{name: partial(reduction, name) for name in ("sum", "mean", "max", "min", "prod", "all", "any")},
    **{name: partial(argument, name) for name in ("argmax", "argmin")},
    **{name: partial(spread, name) for name in ("variance", "std", "mean_variance")},
    "logsumexp": logsumexp,
}
"""By TVM's names of the functions."""
