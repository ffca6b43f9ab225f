"""Operators of each element that formats call by other names: of numbers and truth values; casts and choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import ml_dtypes
import numpy as np

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic
from ...dialects.relay.operator import Operator
from ...support.dtypes import is_float
from ..importing.terms import Term, absolute, is_nan, maximum, minimum, once, where

OF_TRUTHS: Mapping[type[Operator], type[Operator]] = {
    ew.AddOp: logic.LogicalOrOp,
    ew.BitwiseNotOp: ew.LogicalNotOp,
    ew.MaximumOp: logic.LogicalOrOp,
    ew.MinimumOp: logic.LogicalAndOp,
    ew.MultiplyOp: logic.LogicalAndOp,
    logic.BitwiseAndOp: logic.LogicalAndOp,
    logic.BitwiseOrOp: logic.LogicalOrOp,
    logic.BitwiseXorOp: logic.LogicalXorOp,
}
"""Operators of numbers -> what they are of truth values, which are 0 and 1."""


def greatest(dtype: np.dtype[np.generic]) -> float:
    """The greatest finite number of a float type."""
    return float(ml_dtypes.finfo(dtype).max)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def numeric(op: type[Operator]) -> Callable[..., Term]:
    """The function of an operator, of truth values, too, where it means something of them."""

    def computed(x: Term, *others: Term) -> Term:
        if x.dtype.kind == "b" and op not in OF_TRUTHS:
            x.ctx.fail("numbers", "truth values")
        return x.apply(OF_TRUTHS[op] if x.dtype.kind == "b" else op, *others)

    return computed


def logical(op: type[Operator]) -> Callable[..., Term]:
    """The function of an operator of truth values; of numbers, what is not 0 is true."""

    def computed(x: Term, *others: Term) -> Term:
        return x.to("bool").apply(op, *(other.to("bool") for other in others))

    return computed


def whole(op: type[Operator]) -> Callable[[Term], Term]:
    """The function of an operator that rounds, which leaves integers as they are."""
    return lambda x: x.apply(op if is_float(x.dtype.name) else ew.CopyOp)


def combined(op: type[Operator]) -> Callable[..., Term]:
    """The function of any number of tensors, from left to right."""

    def computed(x: Term, *others: Term) -> Term:
        return reduce(lambda total, other: total.apply(op, other), others, x) if others else x.apply(ew.CopyOp)

    return computed


@once
def mean(x: Term, *others: Term) -> Term:
    """The mean of tensors, which broadcast."""
    return combined(ew.AddOp)(x, *others) / (1 + len(others))


def reciprocal(x: Term) -> Term:
    return 1.0 / x


def square(x: Term, truths: str = "int32") -> Term:
    """x times x; of truth values, which are numbers of a type."""
    x = x.to(truths) if x.dtype.kind == "b" else x
    return x * x


def squared_difference(x: Term, y: Term) -> Term:
    return square(x - y)


def between(x: Term, low: Term | None, high: Term | None) -> Term:
    """Numbers brought into a range; of bounds that cross the upper one wins."""
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


def rounded(x: Term, decimals: int = 0) -> Term:
    """To the nearest number of so many decimals, halves to even."""
    if not is_float(x.dtype.name):
        return x.apply(ew.CopyOp) if decimals >= 0 else rounded(x.to("float64"), decimals).to(x.dtype)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return (x * scale).apply(ew.RoundOp) / scale
    return x.apply(ew.RoundOp) if not decimals else (x / scale).apply(ew.RoundOp) * scale


def infinite(x: Term, below: bool = True, above: bool = True) -> Term:
    """True for infinities, of one sign if so asked."""
    if not is_float(x.dtype.name) or (below and above):
        return x.apply(ew.IsInfOp)
    return x.equal(np.inf if above else -np.inf if below else np.nan)


def finite(x: Term, nan: float = 0.0, highest: float | None = None, lowest: float | None = None) -> Term:
    """Numbers for NaN and infinities; for these by default the ends of the dtype."""
    if not is_float(x.dtype.name):
        return x.apply(ew.CopyOp)
    largest = greatest(x.dtype)
    x = where(is_nan(x), nan, x)
    x = where(x.equal(np.inf), largest if highest is None else highest, x)
    return where(x.equal(-np.inf), -largest if lowest is None else lowest, x)


def is_close(a: Term, b: Term, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Term:
    """True where elements differ by no more than a part of the second, and a number."""
    if a.dtype.kind == "b":
        return a.equal(b)
    wide = a.dtype if is_float(a.dtype.name) and a.dtype.itemsize > 4 else np.dtype(np.float32)
    near = absolute(a - b).to(wide) <= absolute(b).to(wide) * rtol + atol
    if not is_float(a.dtype.name):
        return near
    near = near & b.apply(ew.IsFiniteOp) | a.equal(b)
    return near | is_nan(a) & is_nan(b) if equal_nan else near


def cast(x: Term, dtype: np.dtype[np.generic]) -> Term:
    """In an element type: floats as integers towards zero, all but 0 as true."""
    return x.apply(ew.CopyOp) if x.dtype == dtype else x.to(dtype)


def saturated(x: Term, dtype: np.dtype[np.generic]) -> Term:
    """In an element type, whose finite ends stand for what is beyond them, infinities too."""
    if is_float(dtype.name):
        x = x if x.dtype.name in ("float32", "float64") else x.to("float32")
        most = min(greatest(x.dtype), greatest(dtype))
        return x.clip(-most, most).to(dtype)
    if "b" in (x.dtype.kind, dtype.kind):
        return x.to(dtype)
    ends = np.iinfo(dtype.name)
    if not is_float(x.dtype.name):
        own = np.iinfo(x.dtype.name)
        return minimum(maximum(x, max(own.min, ends.min)), min(own.max, ends.max)).to(dtype)
    low, high = (x.dtype.type(min(max(end, -greatest(x.dtype)), greatest(x.dtype))) for end in (ends.min, ends.max))
    # The greatest integer is none of the floats, of which the nearest may be beyond it.
    high = np.nextafter(high, x.dtype.type(0)) if int(high) > ends.max else high
    return x.clip(float(low), float(high)).to(dtype)


def bitcast(x: Term, dtype: np.dtype[np.generic]) -> Term:
    """The same bytes as an element type of as many."""
    if dtype.itemsize != x.dtype.itemsize:
        x.ctx.fail(f"an element type of {x.dtype.itemsize} bytes", dtype.name)
    return x.apply(ew.ReinterpretOp, dtype=dtype.name)


def choice_of_rows(condition: Term, x: Term, y: Term) -> Term:
    """`where`; a condition of one dimension chooses rows."""
    rank = len(x.shape)
    if len(condition.shape) == 1 < rank:
        condition = condition.reshape(*condition.shape, *[1] * (rank - 1))
    return where(condition, x, y)
