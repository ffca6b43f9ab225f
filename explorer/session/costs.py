"""An estimate of what a schedule costs, by rule: for comparing schedules, and no substitute for measuring them.

    seconds = max(cycles / clock, bytes / bandwidth)

*Cycles* add up over the stages. The body of a stage runs once for each iteration of the loops around it, for as many
points as a vector has lanes, and takes as many cycles as the busiest part of a core: two vector operations in a cycle,
a multiply-add counted once; two loads, of which those that do not change in unrolled loops are made once; one store,
where no reduction keeps its sums in registers; four cycles for each addition that waits for the one before, divided by
the unrolled loops over data; one cycle to count a loop that is not unrolled. Iterations of the outermost parallel loop
are shared out over the threads.

*Bytes* are those that pass between memory and the second level of the cache: each stage keeps there what the largest
part of its loops that fits touches, and fetches it as often as the loops outside change it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ...dialects.sizes.kernel import nominal
from ...support.machine import Machine
from ...te.schedule.bounds import Bounds
from ...te.schedule.counts import Access, Nest, body_of, span
from ...te.schedule.itervar import IterVar
from ...te.schedule.schedule import Schedule
from ...te.schedule.stage_state import StageState
from .films import Cost

CLOCK = 2.5e9
"""Cycles in a second: no record of a machine says."""
BANDWIDTH = 20e9
"""Bytes in a second from beyond the second level of the cache, of one core."""
_LATENCY = 4
"""Cycles from the begin of an addition of floats to its result."""
_WAKING = 5e-6
"""Seconds until threads have begun a parallel loop."""
_VECTOR_PRAGMA = "pragma_vector_reduction"


class CostModel:
    """Estimates schedules for one machine and a number of threads."""

    def __init__(self, machine: Machine, threads: int):
        self.machine = machine
        self.threads = max(1, threads)

    def __call__(self, schedule: Schedule, bounds: Mapping[StageState, Bounds]) -> Cost | None:
        """The estimate for a schedule of which these are the bounds; None where stages are no computes."""
        if any(not stage.is_compute for stage in schedule.stages):
            return None
        inlined = {stage.compute for stage in schedule.stages if stage.inlined}
        nests = [
            Nest(stage, bounds[stage], body_of(stage.compute, inlined.__contains__))
            for stage in schedule.stages
            if not stage.inlined
        ]
        near = {write.tensor for nest in nests if self._is_near(nest) for write in nest.body.writes}
        moved = sum(nest.traffic(self.machine.l2, near) for nest in nests)
        seconds = sum(map(self._seconds, nests))
        return Cost(max(seconds, moved / BANDWIDTH), sum(nest.operations for nest in nests), moved, seconds)

    def _seconds(self, nest: Nest) -> float:
        """The seconds of a stage's body in its loops."""
        own, extent = nest.own, nest.extent
        tail: list[IterVar] = []
        for axis in reversed(own):
            if axis.kind not in ("vectorized", "unrolled") and extent[axis] > 1:
                break
            tail.append(axis)
        vectors = [axis for axis in own if axis.kind == "vectorized" or _VECTOR_PRAGMA in axis.hints]
        vector = vectors[-1] if vectors else None
        lanes = min(self.machine.lanes(nest.body.writes[0].width), extent[vector]) if vector is not None else 1
        unrolled = [axis for axis in tail if axis is not vector]
        copies = prod(extent[axis] for axis in unrolled)
        if vector is not None and vector in tail:
            copies *= -(-extent[vector] // lanes)
        loads = sum(self._loads(nest, access, unrolled, vector, lanes) for access in nest.body.reads) / copies
        waiting, stores = 0.0, 1.0
        if nest.stage.reduce_axes:
            rest = [axis for axis in own if axis not in tail and extent[axis] > 1]
            sums = copies // prod(extent[axis] for axis in unrolled if axis.reduce)
            kept = bool(rest) and rest[-1].reduce and sums <= self.machine.vector_registers
            waiting = _LATENCY / max(sums, 1) if rest and rest[-1].reduce and vector not in rest else 0.0
            stores = 0.0 if kept else 1.0
            loads += 0.0 if kept else 1.0
        cycles = max(nest.body.operations / 4, loads / 2, stores, waiting, 1 / copies)
        return nest.iterations / lanes * cycles / CLOCK / self._speedup(nest) + self._start(nest)

    @staticmethod
    def _loads(
        nest: Nest,
        access: Access,
        unrolled: Sequence[IterVar],
        vector: IterVar | None,
        lanes: int,
    ) -> int:
        """The loads of a tensor in one pass of the loops that are not unrolled."""
        extent = nest.extent
        count = prod(extent[axis] for axis in unrolled if access.elements(nest.own_spans([axis])) > 1)
        if vector is None or access.elements(spans := nest.own_spans([vector])) == 1:
            return count
        # Neighbours are one load, elements further apart one for each.
        together = not access.point or span(access.point[-1], spans) == access.elements(spans)
        return count * (-(-extent[vector] // lanes)) * (1 if together else lanes)

    def _speedup(self, nest: Nest) -> float:
        """By how much threads make the outermost parallel loop faster."""
        parallel = (e for e, kind in zip(nest.extents, nest.kinds, strict=True) if kind == "parallel" and e > 0)
        passes = next(parallel, 1)
        return passes / -(-passes // self.threads)

    def _start(self, nest: Nest) -> float:
        begins = [axis for axis in nest.own if axis.kind == "parallel"]
        return _WAKING if begins and self.threads > 1 else 0.0

    def _is_near(self, nest: Nest) -> bool:
        """Return whether what a stage computes stays in the cache until it is read: no result, and small enough."""
        if nest.stage.is_output:
            return False
        points = prod(nominal(part.extent) for part in nest.bounds.region)
        return points * sum(write.width for write in nest.body.writes) <= self.machine.l2
