"""Random ONNX programs give what the references give; `tests/support/random_programs.py` runs thousands more."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from random_programs import RECIPES, check, random_program

SEEDS = range(100)
CHUNKS = 5


@cache
def seeds() -> list[int]:
    """Of these seeds as few as have all their operators: long programs rather than short ones."""
    programs = {seed: random_program(seed) for seed in SEEDS}
    times = Counter(op for program in programs.values() for op in program.operators)
    for seed in sorted(SEEDS, key=lambda seed: len(programs[seed].nodes)):
        if all(times[op] > 1 for op in programs[seed].operators):
            times.subtract(programs.pop(seed).operators)
    return list(programs)


def test_programs_are_of_many_operators():
    assert len(RECIPES) >= 120
    assert random_program(3).model()[0] == random_program(3).model()[0]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int):
    for place, seed in enumerate(seeds()[chunk::CHUNKS]):
        check(seed, (3,) if place else (3, 0))
