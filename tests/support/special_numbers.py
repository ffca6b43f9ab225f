"""Numbers at which formulas break, and what a result may be there.

They are infinities, NaN, zeros of both signs, subnormal numbers and the ends of each type. A result is right where it
is that of a judge for the numbers as they are, or with subnormal ones as zeros, or computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Judge = Callable[..., Array]
_SIZES = (0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 7.0, 88.0, 1e-3)
_TOLERANCES = {2: 2e-2, 4: 2e-5, 8: 1e-10}
"""By bytes of a float."""


@dataclass(frozen=True)
class Rules:
    """What a frontend's judge leaves open, by names of rows."""

    unsigned: Container[str] = ()
    """Rows whose zeros may have any sign."""
    cancelling: Mapping[str, float] = field(default_factory=dict[str, float])
    """Rows -> the size of terms that cancel each other: what is left of them is as exact as they are."""
    overflowing: Container[str] = ()
    """Rows whose squares or sums may overflow on the way, and do not in a judge that computes them in float64."""
    subnormal: Container[str] = ()
    """Rows in which subnormal operands are neither what they are nor zeros."""
    otherwise: Mapping[str, Judge] = field(default_factory=dict[str, Judge])
    """Rows -> what is right, too, where judges disagree."""


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype == ml_dtypes.bfloat16


def _limits(dtype: np.dtype[Any]) -> tuple[float, float, float]:
    """The greatest, the least normal and the least number above 0 of a float type."""
    facts = cast(Any, ml_dtypes).finfo(dtype)
    return float(facts.max), float(facts.smallest_normal), float(facts.smallest_subnormal)


def numbers(name: str) -> Array:
    """The special numbers of an element type, each once."""
    dtype = dtype_of(name)
    if name == "bool":
        return np.array([False, True])
    if not is_float(dtype):
        ends = np.iinfo(dtype)
        below = [ends.min, ends.min + 1, -100, -7, -2, -1] if ends.min else []
        return np.array([*below, 0, 1, 2, 3, 7, 8 * dtype.itemsize - 1, 100, ends.max - 1, ends.max], dtype)
    most, least, step = _limits(dtype)
    return np.array(
        [nan_of(1), *(sign * size for size in (np.inf, *_SIZES, most, least, 3 * step) for sign in (1, -1))]
    ).astype(dtype)


def nan_of(sign: int) -> float:
    return float(np.copysign(np.nan, sign))


def tuples(*names: str) -> list[Array]:
    """All combinations of special numbers of several types, as so many vectors."""
    columns = zip(*product(*map(numbers, names)), strict=True)
    return [np.array(column, dtype_of(name)) for column, name in zip(columns, names, strict=True)]


def rows(name: str, width: int = 3) -> Array:
    """A matrix whose rows are all tuples of some special numbers, for what computes along the last axis."""
    every = numbers(name)
    if is_float(every.dtype):
        every = every[[0, 1, 2, 3, 4, 5, 8, 21, 23, 24, 27]]
    elif len(every) > 9:
        every = every[[0, 1, 5, 6, 7, 8, -4, -2, -1]]
    return np.array(list(product(every, repeat=width)), every.dtype)


def castable(name: str, target: str, narrow: bool = False) -> Array:
    """The special numbers of a type of which a cast to another is defined: floats within the range of an integer.

    A narrow integer takes the last bits of a wider one; `narrow` leaves out what is beyond its own range.
    """
    every, dtype = numbers(name), dtype_of(target)
    if not is_float(every.dtype) or dtype.kind not in "iu":
        return every
    by: Any = dtype
    if not narrow:
        by = {"uint64": np.uint64, "int64": np.int64, "uint32": np.int64}.get(target, np.int32)
    low = -(2.0**63) if target == "uint64" and not narrow else float(np.iinfo(by).min)
    wide = every.astype(np.float64)
    return every[(wide >= low) & (wide < float(np.iinfo(by).max))]


def flushed(array: Array) -> Array:
    """An array whose subnormal numbers are zeros of their signs."""
    if not is_float(array.dtype):
        return array
    _, least, _ = _limits(array.dtype)
    return np.where(np.abs(array) < least, np.copysign(0, array), array).astype(array.dtype)


def judged(name: str, result: Array, inputs: Sequence[Array], judge: Judge, rules: Rules) -> str:
    """What of a row's result is wrong, as text."""
    wanted = [judge(*inputs), judge(*map(flushed, inputs)), *_exact(judge, inputs, result.dtype)]
    if name in rules.otherwise:
        with np.errstate(all="ignore"):
            wanted.append(np.asarray(rules.otherwise[name](*inputs)))
    for array in wanted:
        if (array.shape, array.dtype) != (result.shape, result.dtype):
            return f"expected {array.dtype}{list(array.shape)}, got {result.dtype}{list(result.shape)}"
    small = np.broadcast_to(_holding(inputs, result.shape, lambda x, most, least: (x < least) & (x > 0)), result.shape)
    places = departures(result, wanted, True if name in rules.unsigned else small, rules.cancelling.get(name, 0.0))
    if name in rules.overflowing:
        huge = _holding(inputs, result.shape, lambda x, most, least: np.isfinite(x) & (x > most**0.5))
        places = places[~np.broadcast_to(huge, result.shape).reshape(-1)[places]]
    if name in rules.subnormal:
        places = places[~small.reshape(-1)[places]]
    lines = [
        f"{_at(inputs, result, place)} -> {result.flat[place]}, not {wanted[0].flat[place]}" for place in places[:6]
    ]
    return f"{len(places)} of {result.size} are wrong: {'; '.join(lines)}" if lines else ""


def departures(
    result: Array, wanted: Sequence[Array], unsigned: Any = False, lost: float = 0.0
) -> npt.NDArray[np.intp]:
    """Where a result is none of the arrays that are right: flat indices.

    NaN is NaN, and a zero has its sign but where `unsigned` holds. Numbers that are subnormal may be zeros.
    lost: the size of terms that cancel.
    """
    right = np.zeros(result.shape, np.bool_)
    for array in wanted:
        right |= _agrees(result, array, unsigned, lost)
    return np.flatnonzero(~right)


def _agrees(result: Array, wanted: Array, unsigned: Any, lost: float) -> Any:
    if not is_float(result.dtype):
        return result == wanted
    # A subnormal number on the way may be a zero: of a product by a number of some size.
    share = _TOLERANCES[result.dtype.itemsize]
    tiny = max(128 * _limits(result.dtype)[1], share * lost)
    mine, theirs = result.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        apart = np.abs(mine - theirs)
        alike = (mine == theirs) | (np.isfinite(mine) & np.isfinite(theirs) & (apart <= share * np.abs(theirs) + tiny))
        signs = (np.signbit(mine) == np.signbit(theirs)) | ((apart <= tiny) & (unsigned | (lost > 0)))
    return (np.isnan(mine) & np.isnan(theirs)) | (alike & signs)


def _exact(judge: Judge, inputs: Sequence[Array], dtype: np.dtype[Any]) -> list[Array]:
    """The result of a judge in float64, rounded once: nothing overflows on the way."""
    if not is_float(dtype) or any(x.dtype != dtype for x in inputs) or dtype == np.float64:
        return []
    try:
        wide = judge(*(x.astype(np.float64) for x in inputs))
    except Exception:  # a judge that has no kernel of float64 says so in its own way
        return []
    with np.errstate(all="ignore"):
        return [wide.astype(dtype)] if wide.dtype == np.float64 else []


def _holding(inputs: Sequence[Array], shape: tuple[int, ...], holds: Callable[[Array, float, float], Array]) -> Any:
    """Where an element, or the row that it is computed of, has a float of some kind."""
    masks: list[Array] = []
    for x in inputs:
        if is_float(x.dtype):
            most, least, _ = _limits(x.dtype)
            mask = holds(np.abs(x.astype(np.float64)), most, least)
            masks.append(mask if mask.shape == shape and mask.ndim == 1 else np.asarray(mask.any(-1)))
    if not masks:
        return False
    mask = np.logical_or.reduce(masks)
    return mask.reshape(mask.shape + (1,) * (len(shape) - mask.ndim))


def _at(inputs: Sequence[Array], result: Array, place: int) -> str:
    """The operands of an element: numbers, or the row."""
    if inputs[0].ndim == 1 and inputs[0].size == result.size:
        return f"({', '.join(str(x[place]) for x in inputs)})"
    row = place // max(1, result.size // len(inputs[0]))
    return f"({', '.join(str(x[row].tolist()) for x in inputs)})"
