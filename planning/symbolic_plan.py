"""The memory plan of a program with sizes: which buffers share their place in the arena, whatever the sizes are.

Buffers that never live at once share a *group*, as long as its greatest member. So offsets are sums of maxima: formulas
of the sizes. In the order of execution a buffer takes the free group that fits it best for nominal sizes.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr

from ..dialects.sizes import Ranges, Size, evaluate, symbols_of
from .lifetimes import Step, last_uses

NOMINAL = 128
"""The value assumed for a symbol, within its range, where sizes are compared."""


@dataclass
class Place:
    """A group: its members' bytes, each once."""

    sizes: dict[str, Size] = field(default_factory=dict[str, "Size"])
    locations: list[LocationAttr] = field(default_factory=list[LocationAttr])
    nominal: int = 0

    def add(self, size: Size, nominal: int, location: LocationAttr) -> None:
        self.sizes[str(size)] = size
        self.locations.append(location)
        self.nominal = max(self.nominal, nominal)


@dataclass(frozen=True)
class Groups:
    """The group of each buffer, and of each step's workspace."""

    places: list[Place]
    buffers: dict[int, int]
    workspaces: list[int | None]


def plan_groups(steps: Sequence[Step[Size]], outside: Set[int], ranges: Ranges) -> Groups:
    """Groups for what `steps` write, except the buffers `outside` the arena."""
    dies = last_uses(steps)
    groups = Groups([], {}, [])
    free: set[int] = set()
    for number, step in enumerate(steps):
        for buffer, size in step.outputs:
            if buffer not in outside:
                groups.buffers[buffer] = _taken(groups.places, free, size, _nominal(size, ranges), step.location)
        scratch = None
        if not (isinstance(step.workspace, int) and step.workspace == 0):
            scratch = _taken(groups.places, free, step.workspace, _nominal(step.workspace, ranges), step.location)
            free.add(scratch)
        groups.workspaces.append(scratch)
        for buffer in {*step.inputs, *(buffer for buffer, _ in step.outputs)}:
            if dies.get(buffer) == number and buffer in groups.buffers:
                free.add(groups.buffers[buffer])
    return groups


def _taken(places: list[Place], free: set[int], size: Size, nominal: int, location: LocationAttr) -> int:
    """The group for a buffer, which is not free any more: the smallest that is large enough, else the largest."""
    enough = [at for at in free if places[at].nominal >= nominal]
    if enough:
        at = min(enough, key=lambda at: (places[at].nominal, at))
    elif free:
        at = max(free, key=lambda at: (places[at].nominal, -at))
    else:
        places.append(Place())
        at = len(places) - 1
    free.discard(at)
    places[at].add(size, nominal, location)
    return at


def _nominal(size: Size, ranges: Ranges) -> int:
    values: dict[str, int] = {}
    for name in symbols_of(size):
        low, high = ranges.get(name, (0, None))
        values[name] = max(low or 0, NOMINAL if high is None else min(NOMINAL, high))
    return evaluate(size, values)
