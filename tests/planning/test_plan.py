"""The memory plan: live buffers never overlap, and the arena is close to the least possible."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.planning.lifetimes import Plan, Step
from whence.planning.plan import plan


def _rounded(size: int) -> int:
    return -(-size // 64) * 64


def _check(steps: list[Step[int]], outside: frozenset[int], result: Plan) -> int:
    """Compare with a map of the arena's 64-byte blocks, replayed step by step; returns the peak of live bytes."""
    sizes = {buffer: _rounded(size) for step in steps for buffer, size in step.outputs if buffer not in outside}
    last = {buffer: index for index, step in enumerate(steps) for buffer, _ in step.outputs}
    last |= {buffer: index for index, step in enumerate(steps) for buffer in step.inputs}
    assert result.offsets.keys() == sizes.keys()
    owner = np.full(result.arena_bytes // 64 + 1, -1)
    peak = live = 0

    def claim(offset: int, size: int, name: int) -> None:
        assert offset >= 0
        assert offset % 64 == 0
        assert offset + size <= result.arena_bytes
        blocks = owner[offset // 64 : (offset + size) // 64]
        assert (blocks == -1).all()
        blocks[:] = name

    for index, step in enumerate(steps):
        for buffer, _ in step.outputs:
            if buffer in sizes:
                claim(result.offsets[buffer], sizes[buffer], buffer)
                live += sizes[buffer]
        scratch, at = _rounded(step.workspace), result.workspaces[index]
        if scratch:
            claim(at, scratch, 1 << 30)
            owner[owner == 1 << 30] = -1
        else:
            assert at == -1
        peak = max(peak, live + scratch)
        for buffer, dies in last.items():
            if dies == index and buffer in sizes:
                assert (owner == buffer).sum() * 64 == sizes[buffer]
                owner[owner == buffer] = -1
                live -= sizes[buffer]
    assert (
        result.peak_bytes
        == peak
        <= result.arena_bytes
        <= sum(sizes.values()) + max((_rounded(step.workspace) for step in steps), default=0)
    )
    return peak


@st.composite
def _programs(draw: st.DrawFn) -> tuple[list[Step[int]], frozenset[int]]:
    steps: list[Step[int]] = []
    known = [-1]  # an input of the program
    for index in range(draw(st.integers(0, 25))):
        inputs = draw(st.lists(st.sampled_from(known), max_size=3))
        sizes = draw(st.lists(st.integers(0, 2000), max_size=2))
        outputs = tuple((index * 4 + k, size) for k, size in enumerate(sizes))
        known += [buffer for buffer, _ in outputs]
        steps.append(Step(tuple(inputs), outputs, draw(st.sampled_from([0, 0, 1, 64, 700]))))
    return steps, frozenset(draw(st.lists(st.sampled_from(known), max_size=3)))


@settings(deadline=None, max_examples=120)
@given(_programs())
def test_live_buffers_never_overlap(program: tuple[list[Step[int]], frozenset[int]]):
    steps, outside = program
    _check(steps, outside, plan(steps, outside))


def _chain(sizes: list[int]) -> list[Step[int]]:
    return [Step((index - 1,), ((index, size),)) for index, size in enumerate(sizes)]


@settings(deadline=None)
@given(st.lists(st.integers(1, 5000), min_size=2, max_size=30))
def test_chains_reach_the_lower_bound(sizes: list[int]):
    result = plan(_chain(sizes))
    bound = max(_rounded(a) + _rounded(b) for a, b in pairwise(sizes))
    assert result.arena_bytes == result.peak_bytes == bound


def test_residual_blocks_are_near_the_lower_bound():
    """The shape of ResNet-50: bottlenecks whose input lives until their end."""
    steps: list[Step[int]] = []
    current = -1
    for size, blocks in ((256 * 56 * 56, 3), (512 * 28 * 28, 4), (1024 * 14 * 14, 6), (2048 * 7 * 7, 3)):
        for block in range(blocks):
            base = len(steps)
            narrow = size // 4 * (4 if block == 0 else 1)
            steps.append(Step((current,), ((base, 4 * narrow),)))
            steps.append(Step((base,), ((base + 1, size),)))
            skip = current
            if block == 0:
                steps.append(Step((current,), ((base + 2, 4 * size),)))
                skip = base + 2
            current = len(steps)
            steps.append(Step((base + 1, skip), ((current, 4 * size),), workspace=1000))
    result = plan(steps)
    peak = _check(steps, frozenset(), result)
    assert result.arena_bytes <= 1.1 * peak


def test_outputs_of_the_program_lie_outside():
    steps = [Step((), ((0, 100),)), Step((0,), ((1, 100),)), Step((1,), ((2, 100),))]
    result = plan(steps, {2})
    assert result.offsets.keys() == {0, 1}
    assert result.arena_bytes == 256


def test_a_buffer_written_twice_is_an_error():
    with pytest.raises(ValueError, match="written once, got 0 again in step 1"):
        plan([Step((), ((0, 4),)), Step((), ((0, 4),))])


def test_a_long_chain():
    sizes = [64 * (1 + index * 7919 % 100) for index in range(20_000)]
    assert plan(_chain(sizes)).arena_bytes == max(a + b for a, b in pairwise(sizes))
