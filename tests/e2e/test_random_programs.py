"""Random ONNX programs give what the references give; `tests/support/random_programs.py` runs thousands more."""

from __future__ import annotations

import pytest
from random_programs import RECIPES, check, random_program

SEEDS = (*range(100), 77092, 77277)
"""The last two read one tensor as both operands of a convolution, and a float beside its cast."""
CHUNKS = 5


def test_programs_are_of_many_operators():
    assert len(RECIPES) >= 120
    assert random_program(3).model()[0] == random_program(3).model()[0]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int):
    for seed in SEEDS[chunk::CHUNKS]:
        check(seed, (3, 0) if seed % 10 == 0 else (3,))
