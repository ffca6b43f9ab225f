"""Offsets of buffers and workspaces in the arena: numbers, or for open sizes values of the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import cast

from ..dialects.sizes import Ranges, Size, bounds
from ..provenance.span import fuse
from ..runtime.program.sizes import Number, Value
from ..runtime.values.tensors import ALIGNMENT
from .lifetimes import Lifetimes, Plan, Step
from .plan import plan_lifetimes
from .pools import Pools, plan_in_pools
from .size_values import Group, SizeValues
from .symbolic_plan import Groups, plan_groups

SYMBOLIC = "symbolic"
"""The name of the plan of a program with sizes."""


@dataclass(frozen=True)
class Placed:
    """The arena bytes at which things begin."""

    buffers: Mapping[int, Number]
    workspaces: Sequence[Number | None]
    """Per step; None for a step without one."""
    plan: Plan
    end: int = 0
    """In a program with sizes the number of the value at which the arena ends."""


def placed(steps: Sequence[Step[Size]], outside: Set[int], values: SizeValues, pools: Pools | None) -> Placed:
    """Places for what `steps` write, except the buffers `outside` the arena."""
    if values.symbols:
        return _in_groups(steps, outside, values)
    lifetimes = Lifetimes.of(cast("Sequence[Step[int]]", steps), outside)
    if pools is not None and pools.algorithm is not None:
        plan = plan_in_pools(lifetimes, pools)
    else:
        plan = plan_lifetimes(lifetimes)
    return Placed(plan.offsets, [at if at >= 0 else None for at in plan.workspaces], plan)


def _in_groups(steps: Sequence[Step[Size]], outside: Set[int], values: SizeValues) -> Placed:
    groups = plan_groups(steps, outside, values.ranges)
    starts: list[Value] = []
    end = values.number(0, fuse(location for block in groups.places[:1] for location in block.locations))
    for block in groups.places:
        starts.append(Value(end))
        location = fuse(dict.fromkeys(block.locations))
        members = tuple(values.number(size, location) for size in block.sizes.values())
        end = values.end_of(Group(end, members), location)
    plan = Plan({}, (-1,) * len(steps), _most(groups, values.ranges), 0, SYMBOLIC, ())
    buffers = {buffer: starts[at] for buffer, at in groups.buffers.items()}
    return Placed(buffers, [None if at is None else starts[at] for at in groups.workspaces], plan, end)


def _most(groups: Groups, ranges: Ranges) -> int:
    """The bytes of the arena for the largest sizes in range; 0 where one of them has no bound."""
    total = 0
    for block in groups.places:
        highest = [bounds(size, ranges)[1] for size in block.sizes.values()]
        finite = [high for high in highest if high is not None]
        if len(finite) < len(highest):
            return 0
        total += -(-max(finite) // ALIGNMENT) * ALIGNMENT
    return total
