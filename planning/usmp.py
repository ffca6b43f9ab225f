"""Unified static memory planning: where in which pool of memory each buffer lies.

Buffers that are in use at the same time conflict, and must not overlap; all others may. The algorithms are those of
TVM's USMP: each places one buffer after the other, in the first pool where it fits, at the lowest offset that is free
of conflicts; they differ in the order of the buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, TypeAlias

from ..support.errors import PipelineError

UNLIMITED = -1
"""The size hint of a pool that grows as needed."""


@dataclass(frozen=True)
class PoolInfo:
    """A pool of memory, aligned for every possible buffer."""

    name: str
    size_hint_bytes: int = UNLIMITED
    """Its size; -1: as large as needed."""


@dataclass(frozen=True)
class BufferInfo:
    """A buffer to be placed."""

    name: str
    size_bytes: int
    pool_candidates: tuple[PoolInfo, ...]
    """The pools for it; the first one with room is taken."""
    alignment: int = 1
    conflicts: frozenset[str] = frozenset()
    """The names of buffers in use at the same time. One of two that says so is enough."""


@dataclass(frozen=True)
class PoolAllocation:
    """The allocation of a buffer."""

    pool: PoolInfo
    byte_offset: int


Plan: TypeAlias = dict[str, PoolAllocation]
Algorithm: TypeAlias = Callable[[Sequence[BufferInfo]], Plan]


def _neighbours(buffers: Sequence[BufferInfo]) -> dict[str, set[str]]:
    """Conflicts by name, both ways.

    Raises PipelineError when a name is given twice, a size or alignment is none, or there is no pool to choose from.
    """
    neighbours: dict[str, set[str]] = {buffer.name: set() for buffer in buffers}
    if len(neighbours) != len(buffers):
        raise PipelineError("usmp: expected buffers of different names")
    for buffer in buffers:
        if buffer.size_bytes < 0 or buffer.alignment < 1:
            request = f"{buffer.size_bytes} bytes aligned to {buffer.alignment}"
            raise PipelineError(f"usmp: expected a size and an alignment of buffer '{buffer.name}', got {request}")
        if not buffer.pool_candidates:
            raise PipelineError(f"usmp: expected a pool for buffer '{buffer.name}', got none")
        for other in buffer.conflicts & neighbours.keys():
            neighbours[buffer.name].add(other)
            neighbours[other].add(buffer.name)
    return neighbours


def _place(order: Sequence[BufferInfo], neighbours: Mapping[str, set[str]]) -> Plan:
    """Place buffers in this order.

    Raises PipelineError when no pool has room for one; the text names the last one tried.
    """
    plan: Plan = {}
    sizes = {buffer.name: buffer.size_bytes for buffer in order}
    for buffer in order:
        placed = [(name, plan[name]) for name in neighbours[buffer.name] if name in plan]
        for pool in buffer.pool_candidates:
            spans = sorted((at.byte_offset, at.byte_offset + sizes[name]) for name, at in placed if at.pool == pool)
            offset = _gap(spans, buffer)
            if pool.size_hint_bytes == UNLIMITED or offset + buffer.size_bytes <= pool.size_hint_bytes:
                plan[buffer.name] = PoolAllocation(pool, offset)
                break
        else:
            raise _no_room(buffer, plan, sizes, neighbours)
    return plan


def _gap(spans: Sequence[tuple[int, int]], buffer: BufferInfo) -> int:
    """The lowest aligned offset at which the buffer meets none of the sorted spans."""
    offset = 0
    for start, end in spans:
        if offset + buffer.size_bytes <= start:
            break
        if end > offset:
            offset = -(-end // buffer.alignment) * buffer.alignment
    return offset


def _no_room(
    buffer: BufferInfo, plan: Plan, sizes: Mapping[str, int], neighbours: Mapping[str, set[str]]
) -> PipelineError:
    tried: list[str] = []
    for pool in buffer.pool_candidates:
        ends = [
            plan[name].byte_offset + sizes[name]
            for name in neighbours[buffer.name]
            if name in plan and plan[name].pool == pool
        ]
        free = max(0, pool.size_hint_bytes - max(ends, default=0))
        tried.append(f"{free} of {pool.size_hint_bytes} in pool '{pool.name}'")
    expected = f"room for the {buffer.size_bytes} bytes of buffer '{buffer.name}'"
    return PipelineError(f"usmp: expected {expected}, got {', '.join(tried)}")


def _by_size(buffers: Sequence[BufferInfo], neighbours: Mapping[str, set[str]]) -> list[BufferInfo]:
    return sorted(buffers, key=lambda b: (-b.size_bytes, -len(neighbours[b.name]), b.name))


def _by_conflicts(buffers: Sequence[BufferInfo], neighbours: Mapping[str, set[str]]) -> list[BufferInfo]:
    return sorted(buffers, key=lambda b: (-len(neighbours[b.name]), -b.size_bytes, b.name))


def greedy_by_size(buffers: Sequence[BufferInfo]) -> Plan:
    """Large buffers first; of equals, those with more conflicts.

    Raises PipelineError when no pool has room for a buffer.
    """
    neighbours = _neighbours(buffers)
    return _place(_by_size(buffers, neighbours), neighbours)


def greedy_by_conflicts(buffers: Sequence[BufferInfo]) -> Plan:
    """Buffers with many conflicts first; of equals, large ones.

    Raises PipelineError when no pool has room for a buffer.
    """
    neighbours = _neighbours(buffers)
    return _place(_by_conflicts(buffers, neighbours), neighbours)


def pool_sizes(buffers: Sequence[BufferInfo], plan: Plan) -> dict[PoolInfo, int]:
    """The bytes that a plan needs of each pool."""
    needed: dict[PoolInfo, int] = {}
    for buffer in buffers:
        at = plan[buffer.name]
        needed[at.pool] = max(needed.get(at.pool, 0), at.byte_offset + buffer.size_bytes)
    return needed


def hill_climb(buffers: Sequence[BufferInfo], *, attempts: int = 500, seed: int = 0) -> Plan:
    """The better greedy plan, and from there: swap, in its order, a buffer at the top of a pool with one under it.

    A swap stays when the plan does not get larger; with a probability that sinks to 0 also when it does. The smallest
    plan seen is the result: no larger than that of a greedy algorithm that found room. The same input gives the same
    plan. Raises PipelineError when no order that was tried has room for all.
    """
    neighbours = _neighbours(buffers)
    random = Random(seed)
    starts = [_by_size(buffers, neighbours), _by_conflicts(buffers, neighbours)]
    tries = [_try(order, neighbours) for order in starts]
    placements = [attempt for attempt in tries if isinstance(attempt, _Placed)]
    best = current = min(placements, key=lambda attempt: attempt.total, default=None)
    order = current.order if current is not None else starts[0]
    for attempt in range(attempts if len(order) > 1 else 0):
        placed = _try(_swapped(order, current.plan if current is not None else None, neighbours, random), neighbours)
        if isinstance(placed, PipelineError):
            continue
        if current is None or placed.total <= current.total or random.random() < 0.1 * (1 - attempt / attempts):
            current, order = placed, placed.order
        if best is None or placed.total < best.total:
            best = placed
    if best is None:
        raise next(attempt for attempt in tries if isinstance(attempt, PipelineError))
    return best.plan


class _Placed(NamedTuple):
    """A plan, the order that led to it, and its bytes."""

    order: list[BufferInfo]
    plan: Plan
    total: int


def _try(order: list[BufferInfo], neighbours: Mapping[str, set[str]]) -> _Placed | PipelineError:
    try:
        plan = _place(order, neighbours)
    except PipelineError as error:
        return error
    return _Placed(order, plan, sum(pool_sizes(order, plan).values()))


def _swapped(
    order: Sequence[BufferInfo], plan: Plan | None, neighbours: Mapping[str, set[str]], random: Random
) -> list[BufferInfo]:
    """The order with two buffers swapped: one that ends highest in its pool, and one it had to make room for."""
    rank = {buffer.name: i for i, buffer in enumerate(order)}
    a, b = random.sample(range(len(order)), 2)
    if plan is not None:
        ends = [(plan[buffer.name].byte_offset + buffer.size_bytes, buffer.name) for buffer in order]
        top = max(ends)[0]
        a = rank[random.choice([name for end, name in ends if end == top])]
        earlier = sorted(rank[name] for name in neighbours[order[a].name] if rank[name] < a)
        b = random.choice(earlier) if earlier else random.randrange(len(order))
    swapped = list(order)
    swapped[a], swapped[b] = swapped[b], swapped[a]
    return swapped


ALGORITHMS: Mapping[str, Algorithm] = {
    "greedy_by_size": greedy_by_size,
    "greedy_by_conflicts": greedy_by_conflicts,
    "hill_climb": hill_climb,
}
"""The values of TVM's option `tir.usmp.algorithm`."""


def algorithm_named(name: str) -> Algorithm:
    """The algorithm of a name; raises PipelineError when there is none."""
    if name not in ALGORITHMS:
        raise PipelineError(f"usmp: expected an algorithm among {', '.join(ALGORITHMS)}, got '{name}'")
    return ALGORITHMS[name]


def plan_pools(buffers: Sequence[BufferInfo], algorithm: str = "greedy_by_size") -> Plan:
    """Return the allocation of each buffer by name. Raises PipelineError for an unknown algorithm, and if no pool has
    room for a buffer.
    """
    return algorithm_named(algorithm)(buffers)
