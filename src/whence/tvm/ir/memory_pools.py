"""The pools of memory of a planned program, by TVM's names: `relay.build(mod, workspace_memory_pools=..)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whence.planning.usmp import UNLIMITED
from whence.planning.usmp import PoolInfo as PoolInfo


@dataclass(frozen=True)
class PoolInfoProperties:
    """The size of a pool, and facts about its memory that the planner does not read."""

    size_hint_bytes: int = UNLIMITED
    """Its size; -1: as large as needed."""
    clock_frequency_hz: int = -1
    read_bandwidth_bytes_per_cycle: int = -1
    write_bandwidth_bytes_per_cycle: int = -1
    read_latency_cycles: int = 0
    write_latency_cycles: int = 0
    target_burst_bytes: int = 1


@dataclass(frozen=True, init=False)
class WorkspacePoolInfo(PoolInfo):
    """A pool for intermediate tensors and workspaces of kernels."""

    targets: tuple[object, ...]
    properties: PoolInfoProperties

    def __init__(
        self, pool_name: str, targets: Sequence[object] = (), pool_info_properties: PoolInfoProperties | None = None
    ):
        properties = pool_info_properties or PoolInfoProperties()
        # As frozen dataclasses set their fields.
        values = {"name": pool_name, "size_hint_bytes": properties.size_hint_bytes}
        for key, value in {**values, "targets": tuple(targets), "properties": properties}.items():
            object.__setattr__(self, key, value)

    @property
    def pool_name(self) -> str:
        return self.name


class ConstantPoolInfo(WorkspacePoolInfo):
    """A pool for constants, as a record: parameters of a program lie in its own tensors."""


class WorkspaceMemoryPools(list[PoolInfo]):
    """The pools of a program, first choice first."""

    @property
    def pools(self) -> list[PoolInfo]:
        return self


class ConstantMemoryPools(WorkspaceMemoryPools):
    """The pools for constants, which `relay.build` accepts and does not read."""


__all__ = [
    "ConstantMemoryPools",
    "ConstantPoolInfo",
    "PoolInfo",
    "PoolInfoProperties",
    "WorkspaceMemoryPools",
    "WorkspacePoolInfo",
]
