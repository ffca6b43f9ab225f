"""Numbers of schedules that are drawn by chance."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from random import Random

from ...dialects.schedule import KnobOp, SequenceOp
from ...dialects.tir import ForOp
from ...support.errors import ScheduleError
from .state import integer, refuse

_TRIES = 64
"""Draws of factors until the last is small enough; then it is made so."""


def likely(candidates: Sequence[int], probs: Sequence[float], decision: int | None) -> tuple[list[int], list[float]]:
    """The candidates of a sample as ints and their likelihoods. Raises ScheduleError for some that cannot be."""
    numbers, weights = list(map(int, candidates)), list(map(float, probs))
    if not numbers or len(set(numbers)) != len(numbers):
        raise ScheduleError(f"sample_categorical: expected different candidates, got {numbers}")
    if len(weights) != len(numbers) or min(weights) < 0 or not 0 < sum(weights) < inf:
        raise ScheduleError(f"sample_categorical: expected a likelihood for each of {numbers}, got {weights}")
    if decision is not None and not 0 <= integer("sample_categorical", "decision", decision) < len(numbers):
        raise ScheduleError(f"sample_categorical: expected a decision from 0 below {len(numbers)}, got {decision}")
    return numbers, weights


def name_of_sample(sequence: SequenceOp) -> str:
    """A name for a knob of a sequence that is drawn."""
    taken = {op.knob.data for op in sequence.block.ops if isinstance(op, KnobOp)}
    return next(name for number in range(len(taken) + 1) if (name := f"sample_{number}") not in taken)


def perfect_tile(draws: Random, loop: ForOp, count: int, most: int, decision: Sequence[int] | None) -> list[int]:
    """Numbers whose product is the extent of a loop, the last at most `most` (-1: any)."""
    extent = loop.trip_count
    if not isinstance(extent, int):
        refuse("sample_perfect_tile", f"expected a loop of a known extent, got one of {extent}", loop)
    if count < 1 or (most < 1 and most != -1):
        refuse("sample_perfect_tile", f"expected a count and a limit of at least 1, got {count} and {most}", loop)
    if decision is not None:
        numbers = [integer("sample_perfect_tile", "decision", number) for number in decision]
        return _repaired(extent, numbers, count, loop)
    for _ in range(_TRIES):
        factors = _drawn(draws, extent, count)
        if most == -1 or factors[-1] <= most:
            return factors
    last = max(number for number in range(1, most + 1) if extent % number == 0)
    return [*_drawn(draws, extent // last, count - 1), last] if count > 1 else [extent]


def _drawn(draws: Random, extent: int, count: int) -> list[int]:
    """Numbers whose product is an extent: each of its prime factors is in one of them."""
    factors, rest, prime = [1] * count, extent, 2
    while rest > 1:
        if prime * prime > rest:
            prime = rest
        while rest % prime == 0:
            factors[draws.randrange(count)] *= prime
            rest //= prime
        prime += 1
    return factors


def _repaired(extent: int, decision: list[int], count: int, loop: ForOp) -> list[int]:
    """A decision that fits an extent: from the last on, a number that does not divide what is left becomes that."""
    if len(decision) != count or min(decision) < 1:
        refuse("sample_perfect_tile", f"expected {count} positive numbers, got {decision}", loop)
    factors: list[int] = []
    for number in reversed(decision[1:]):
        rest = extent // prod(factors)
        factors.append(number if rest % number == 0 else rest)
    return [extent // prod(factors), *reversed(factors)]
