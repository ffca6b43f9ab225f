"""The memory that a program takes, and for what."""

from __future__ import annotations

from dataclasses import dataclass

from .artifact import Assembly
from .lifetimes import PoolUse


@dataclass(frozen=True)
class MemoryInfo:
    """Bytes that a program takes. The workspace is one per concurrent run, the constants are shared."""

    workspace_bytes: int
    """Intermediate tensors and kernels' workspaces, as planned."""
    peak_bytes: int
    """The most of them that live at once: no plan takes less."""
    io_bytes: int
    """Inputs and outputs."""
    constant_bytes: int
    """Parameters."""
    algorithm: str
    """The algorithm that planned the workspace: one of USMP's, or `in_order`."""
    pools: tuple[PoolUse, ...]
    """The use of each pool by the plan."""

    @staticmethod
    def of(assembly: Assembly) -> MemoryInfo:
        """Return the memory that a program takes."""
        plan = assembly.plan
        return MemoryInfo(
            plan.arena_bytes,
            plan.peak_bytes,
            sum(spec.nbytes for spec in (*assembly.inputs, *assembly.outputs)),
            sum(array.nbytes for array in assembly.params),
            plan.algorithm,
            plan.pools,
        )

    def __str__(self) -> str:
        """`workspace 3211264 bytes (greedy_by_size; 3010560 live at the peak), ..`."""
        text = (
            f"workspace {self.workspace_bytes} bytes ({self.algorithm}; {self.peak_bytes} live at the peak), "
            f"inputs and outputs {self.io_bytes}, constants {self.constant_bytes}"
        )
        sized = [pool for pool in self.pools if pool.size_hint_bytes >= 0 or len(self.pools) > 1]
        shown = [
            f"{pool.used_bytes}{f' of {pool.size_hint_bytes}' if pool.size_hint_bytes >= 0 else ''} "
            f"in pool '{pool.name}'"
            for pool in sized
        ]
        return f"{text}; {', '.join(shown)}" if shown else text
