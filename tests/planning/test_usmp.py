"""Memory planning over pools: nothing overlaps that must not, whatever the algorithm."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.planning.usmp import ALGORITHMS, BufferInfo, Plan, PoolInfo, hill_climb, plan_pools, pool_sizes
from whence.support.errors import PipelineError

POOL = PoolInfo("global")


def chain(sizes: list[int], *pools: PoolInfo) -> list[BufferInfo]:
    """Buffers each of which is in use together with the next one."""
    names = [f"b{i}" for i in range(len(sizes))]
    return [
        BufferInfo(name, size, pools or (POOL,), conflicts=frozenset(names[i + 1 : i + 2]))
        for i, (name, size) in enumerate(zip(names, sizes, strict=True))
    ]


@st.composite
def problems(draw: st.DrawFn) -> list[BufferInfo]:
    count = draw(st.integers(1, 12))
    small = PoolInfo("small", draw(st.integers(0, 200)))
    names = [f"b{i}" for i in range(count)]
    return [
        BufferInfo(
            name,
            draw(st.integers(0, 100)),
            draw(st.sampled_from([(POOL,), (small, POOL)])),
            draw(st.sampled_from([1, 4, 16, 64])),
            draw(st.frozensets(st.sampled_from(names), max_size=4)) - {name},
        )
        for name in names
    ]


def check(buffers: list[BufferInfo], plan: Plan) -> None:
    """The plan is one."""
    for buffer in buffers:
        at = plan[buffer.name]
        assert at.pool in buffer.pool_candidates
        assert at.byte_offset % buffer.alignment == 0
        assert at.pool.size_hint_bytes in (-1, max(at.pool.size_hint_bytes, at.byte_offset + buffer.size_bytes))
        for other in buffers:
            there = plan[other.name]
            if at.pool == there.pool and (other.name in buffer.conflicts or buffer.name in other.conflicts):
                apart = at.byte_offset + buffer.size_bytes <= there.byte_offset
                assert apart or there.byte_offset + other.size_bytes <= at.byte_offset


def total(buffers: list[BufferInfo], plan: Plan) -> int:
    return sum(pool_sizes(buffers, plan).values())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=30, deadline=None)
@given(buffers=problems())
def test_plans_keep_conflicting_buffers_apart(algorithm: str, buffers: list[BufferInfo]):
    plan = plan_pools(buffers, algorithm)
    check(buffers, plan)
    assert plan == plan_pools(buffers, algorithm)


@settings(max_examples=30, deadline=None)
@given(buffers=problems())
def test_hill_climb_is_never_worse_than_greedy(buffers: list[BufferInfo]):
    climbed = total(buffers, hill_climb(buffers))
    assert climbed <= total(buffers, plan_pools(buffers, "greedy_by_size"))
    assert climbed <= total(buffers, plan_pools(buffers, "greedy_by_conflicts"))


@pytest.mark.parametrize(
    ("algorithm", "size"), [("greedy_by_size", 150), ("greedy_by_conflicts", 230), ("hill_climb", 150)]
)
def test_size_of_a_chain(algorithm: str, size: int):
    """Its two largest neighbours are the least it takes; by conflicts, inner buffers come first, and are in the way."""
    buffers = chain([100, 50, 80, 30, 60])
    plan = plan_pools(buffers, algorithm)
    check(buffers, plan)
    assert total(buffers, plan) == size


def test_hill_climb_finds_what_greedy_misses():
    """The large buffers leave a hole in the middle unless the small one lies between them."""
    names = {"a": "bc", "b": "d", "c": "de", "d": "f", "e": "f", "f": ""}
    sizes = dict(zip("abcdef", [20, 12, 36, 24, 52, 12], strict=True))
    buffers = [BufferInfo(n, sizes[n], (POOL,), conflicts=frozenset(names[n])) for n in names]
    greedy = min(total(buffers, plan_pools(buffers, name)) for name in ("greedy_by_size", "greedy_by_conflicts"))
    lower = max(sizes[n] + sizes[m] for n in names for m in names[n])
    assert lower <= total(buffers, hill_climb(buffers)) <= greedy


@pytest.mark.parametrize("algorithm", ["greedy_by_size", "hill_climb"])
def test_the_first_pool_with_room_is_taken(algorithm: str):
    fast, slow = PoolInfo("fast", 100), PoolInfo("slow")
    plan = plan_pools(chain([90, 60, 90], fast, slow), algorithm)
    assert [plan[f"b{i}"].pool.name for i in range(3)] == ["fast", "slow", "fast"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_room(algorithm: str):
    fast, slow = PoolInfo("fast", 100), PoolInfo("slow", 50)
    with pytest.raises(PipelineError) as caught:
        plan_pools(chain([90, 60], fast, slow), algorithm)
    text = str(caught.value)
    assert text == (
        "usmp: expected room for the 60 bytes of buffer 'b1', got 10 of 100 in pool 'fast', 50 of 50 in pool 'slow'"
    )


def test_bad_input():
    with pytest.raises(PipelineError, match="among greedy_by_size, greedy_by_conflicts, hill_climb, got 'best'"):
        plan_pools([], "best")
    with pytest.raises(PipelineError, match="expected a pool for buffer 'a', got none"):
        plan_pools([BufferInfo("a", 4, ())])
    with pytest.raises(PipelineError, match="different names"):
        plan_pools([BufferInfo("a", 4, (POOL,))] * 2)
    with pytest.raises(PipelineError, match="of buffer 'a', got 4 bytes aligned to 0"):
        plan_pools([BufferInfo("a", 4, (POOL,), 0)])
