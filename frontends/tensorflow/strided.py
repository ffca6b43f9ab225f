"""Strided slices: what bit masks over the places of a specification say of each axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import TypeAlias

from .context import Context

Index: TypeAlias = "int | slice | EllipsisType | None"


@dataclass(frozen=True)
class Place:
    """One place of a specification."""

    kind: str
    """`rest` of the axes, `new` axis, an `index`, or a `range`."""
    begin: int | None = None
    end: int | None = None
    stride: int = 1


def places_of(ctx: Context, begin: Sequence[int], end: Sequence[int], strides: Sequence[int]) -> list[Place]:
    """Return what a strided slice says; begins and ends that do not count are None."""
    if not len(begin) == len(end) == len(strides) or 0 in strides:
        ctx.fail("as many begins, ends and strides other than 0", f"{[*begin]}, {[*end]} and {[*strides]}")
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    no_begin, no_end, ellipsis, new, shrink = (ctx.int(name, 0) for name in masks)
    parsed: list[Place] = []
    for k, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << k
        if ellipsis & bit:
            parsed.append(Place("rest"))
        elif new & bit:
            parsed.append(Place("new"))
        elif shrink & bit:
            parsed.append(Place("index", b))
        else:
            parsed.append(Place("range", None if no_begin & bit else b, None if no_end & bit else e, s))
    if sum(spec.kind == "rest" for spec in parsed) > 1:
        ctx.fail("one ellipsis at most", bin(ellipsis))
    return parsed


def picked(ctx: Context, begin: Sequence[int], end: Sequence[int], strides: Sequence[int]) -> tuple[Index, ...]:
    """Return the same as an index of numpy's."""
    parsed: list[Index] = []
    for spec in places_of(ctx, begin, end, strides):
        match spec.kind:
            case "rest":
                parsed.append(...)
            case "new":
                parsed.append(None)
            case "index":
                parsed.append(spec.begin)
            case _:
                parsed.append(slice(spec.begin, spec.end, spec.stride))
    return tuple(parsed)
