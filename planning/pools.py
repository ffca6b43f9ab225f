"""Unified static memory planning of a program: its buffers and workspaces in pools of memory, by one algorithm.

The algorithms and the options are those of TVM's USMP; `usmp.py` holds the algorithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..provenance.diagnostics import describe
from ..runtime.values.tensors import ALIGNMENT
from ..support.context import PassContext
from ..support.errors import PipelineError
from .lifetimes import DEFAULT_POOL, Life, Lifetimes, Plan, PoolUse
from .usmp import UNLIMITED, BufferInfo, PoolInfo, algorithm_named, plan_pools

_SPELLED = 6
"""The number of buffers that an error names."""


@dataclass(frozen=True)
class Pools:
    """The requests of a compilation to its memory plan."""

    algorithm: str | None = None
    """One of USMP's algorithms; None for the best."""
    pools: tuple[PoolInfo, ...] = ()
    """The pools for buffers, first choice first; empty for a pool that grows as needed."""

    @staticmethod
    def current(pools: Sequence[PoolInfo] = ()) -> Pools:
        """Read the options `tir.usmp.enable` and `tir.usmp.algorithm` of the current PassContext.

        pools: asking for them enables USMP. Raises PipelineError for an unknown algorithm and for pools that are none.
        """
        options = PassContext.current()
        algorithm = str(options.option("tir.usmp.algorithm"))
        algorithm_named(algorithm)
        names = [pool.name for pool in pools]
        if len(set(names)) != len(names):
            raise PipelineError(f"workspace_memory_pools: expected different names, got {', '.join(names)}")
        for pool in pools:
            if pool.size_hint_bytes < 0 and pool.size_hint_bytes != UNLIMITED:
                what = f"a size, or {UNLIMITED} for any, of pool '{pool.name}'"
                raise PipelineError(f"workspace_memory_pools: expected {what}, got {pool.size_hint_bytes}")
        enabled = bool(pools) or options.option("tir.usmp.enable") is True
        return Pools(algorithm if enabled else None, tuple(pools))


def plan_in_pools(lifetimes: Lifetimes, asked: Pools) -> Plan:
    """Plan all offsets by the requested algorithm.

    Raises PipelineError when the pools are too small; the text says what is needed, what is there, and which layers'
    buffers live when the most bytes do.
    """
    assert asked.algorithm is not None
    if not asked.pools:
        return place(lifetimes, asked.algorithm)
    try:
        return place(lifetimes, asked.algorithm, asked.pools)
    except PipelineError as error:
        raise PipelineError(_too_small(lifetimes, asked)) from error


def place(lifetimes: Lifetimes, algorithm: str, pools: Sequence[PoolInfo] = (PoolInfo(DEFAULT_POOL),)) -> Plan:
    """The plan of an algorithm of USMP; its pools lie in the arena one after the other.

    Raises PipelineError when the pools are too small.
    """
    # Names sort as lives do, so that ties are broken in the order of execution.
    digits = len(str(len(lifetimes.lives)))
    names = [f"{index:0{digits}}" for index in range(len(lifetimes.lives))]
    conflicts: list[frozenset[str]] = []
    live: list[int] = []
    for index, life in enumerate(lifetimes.lives):
        live = [other for other in live if lifetimes.lives[other].last >= life.first]
        conflicts.append(frozenset(names[other] for other in live))
        live.append(index)
    buffers = [
        BufferInfo(name, life.size, tuple(pools), ALIGNMENT, meets)
        for name, life, meets in zip(names, lifetimes.lives, conflicts, strict=True)
    ]
    placement = plan_pools(buffers, algorithm)
    used = dict.fromkeys(pools, 0)
    for name, life in zip(names, lifetimes.lives, strict=True):
        used[placement[name].pool] = max(used[placement[name].pool], placement[name].byte_offset + life.size)
    starts: dict[PoolInfo, int] = {}
    for pool in used:
        starts[pool] = sum(used[earlier] for earlier in starts)
    offsets = [starts[placement[name].pool] + placement[name].byte_offset for name in names]
    return Plan.of(
        lifetimes, offsets, algorithm, [PoolUse(pool.name, used[pool], pool.size_hint_bytes) for pool in pools]
    )


def _too_small(lifetimes: Lifetimes, asked: Pools) -> str:
    assert asked.algorithm is not None
    needed = place(lifetimes, asked.algorithm)
    live = lifetimes.live()
    step = live.index(max(live))
    there = ", ".join(f"{pool.size_hint_bytes} in pool '{pool.name}'" for pool in asked.pools)
    at_peak = sorted(lifetimes.at(step), key=lambda life: -life.size)
    shown = [f"{life.size} bytes of {_who(lifetimes, life)}" for life in at_peak[:_SPELLED]]
    if rest := at_peak[_SPELLED:]:
        shown.append(f"{sum(life.size for life in rest)} bytes of {len(rest)} more")
    return (
        f"usmp: expected a workspace of {needed.arena_bytes} bytes ({asked.algorithm}; no plan takes less than "
        f"{needed.peak_bytes}), got {there}; at the peak, in {_step(lifetimes, step)}, live: {'; '.join(shown)}"
    )


def _step(lifetimes: Lifetimes, index: int) -> str:
    return lifetimes.steps[index].name or f"step {index}"


def _who(lifetimes: Lifetimes, life: Life) -> str:
    """`fused_nn_conv2d (layer 'conv1', net.onnx node 0)`: who writes a buffer, or whose workspace it is."""
    where = describe(lifetimes.steps[life.first].location)
    prefix = "the workspace of " if life.buffer is None else ""
    return f"{prefix}{_step(lifetimes, life.first)}{f' ({where})' if where else ''}"
