"""Result shapes where some extents of the operands are open (`?`), from type rules that only know numbers.

A rule is asked twice, with two numbers in the place of the open extents: what differs between the answers is open. The
numbers have many divisors, so that reshapes and strides divide them. Where a rule refuses, because an open extent meets
a known one, each open extent in turn is taken for 1, which broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from .signature import Tensor

_PROBES = (5040 * 11, 5040 * 13)
_MOST = 2
"""How many open extents may meet known ones at once."""

Infer = Callable[[tuple[Tensor, ...]], Sequence[Tensor]]


def is_open(types: Sequence[Attribute]) -> bool:
    """Whether a tensor among `types` has an open extent."""
    return any(isinstance(t, TensorType) and DYNAMIC_INDEX in cast(Tensor, t).get_shape() for t in types)


def probed(infer: Infer, types: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The result types of `infer` for operand types with open extents; raises what it raises when nothing fits."""
    refusal: VerifyException | None = None
    for ones in _choices(types):
        try:
            first, second = (infer(_closed(types, probe, ones)) for probe in _PROBES)
        except VerifyException as error:
            refusal = refusal or error
            continue
        return tuple(map(_merged, first, second))
    assert refusal is not None
    raise refusal


def _choices(types: tuple[Tensor, ...]) -> Iterator[frozenset[tuple[int, int]]]:
    """Which open extents are taken for 1: (operand, axis) of each; none first."""
    places = [
        (operand, axis)
        for operand, type_ in enumerate(types)
        for axis, extent in enumerate(type_.get_shape())
        if extent == DYNAMIC_INDEX
    ]
    for count in range(min(_MOST, len(places)) + 1):
        yield from map(frozenset, combinations(places, count))


def _closed(types: tuple[Tensor, ...], probe: int, ones: frozenset[tuple[int, int]]) -> tuple[Tensor, ...]:
    return tuple(
        TensorType(
            type_.element_type,
            [
                extent if extent != DYNAMIC_INDEX else 1 if (operand, axis) in ones else probe
                for axis, extent in enumerate(type_.get_shape())
            ],
        )
        for operand, type_ in enumerate(types)
    )


def _merged(first: Tensor, second: Tensor) -> Tensor:
    shapes = zip(first.get_shape(), second.get_shape(), strict=True)
    return TensorType(first.element_type, [a if a == b else DYNAMIC_INDEX for a, b in shapes])
