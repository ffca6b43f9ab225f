"""Which extents of values differ between calls, as inputs say, what is compiled, and how loops pass values on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ..values.open_specs import OPEN, OpenSpec
from .flow import CARRIED, Region, Step

Axes = tuple[int, ...]


class Origins:
    """The regions of a program, and what is known of the values in them.

    inputs: those of the main region.
    """

    def __init__(self, region: Region, inputs: Sequence[OpenSpec]):
        self._main = region
        self._inputs = {spec.name: spec for spec in inputs}
        self._owners: dict[Region, tuple[Region, Step]] = {}
        self.open: dict[tuple[Region, str], Axes] = {}
        """Values that programs for many sizes gave, and the axes whose extents differ between calls; of those that
        follow from sizes alone, the elements that do, by their places."""

    def names(self, region: Region, name: str) -> Mapping[int, str | None]:
        """Return the model's names of the extents of a value."""
        spec = self._inputs.get(name) if self._home(region, name) is self._main else None
        return defaultdict(lambda: None, {} if spec is None else enumerate(spec.names))

    def axes(self, region: Region, name: str) -> Axes | None:
        """The open axes of what a region calls `name`; None where nobody knows which are open."""
        home = self._home(region, name)
        if home is None:
            return ()
        if (axes := self.open.get((home, name))) is not None:
            return axes
        for step in home.steps:
            if name in step.outputs:
                return self._left(home, step, step.outputs.index(name))
        if home is not self._main:
            return self._entering(home, home.inputs.index(name))
        spec = self._inputs.get(name)
        if spec is None or spec.kind != "tensor" or not spec.ranked:
            return None
        return tuple(axis for axis, extent in enumerate(spec.shape) if extent == OPEN)

    def _home(self, region: Region, name: str) -> Region | None:
        """The region that makes a value or takes it in; None of a constant."""
        around: Region | None = region
        while around is not None:
            if name in around.inputs or any(name in step.outputs for step in around.steps):
                return around
            around = around.parent
        return None

    def _owner(self, body: Region) -> tuple[Region, Step]:
        """The step that runs a body, and its region."""
        if body not in self._owners:
            # Steps may have been put in the place of others since this was asked last.
            stack = [self._main]
            while stack:
                region = stack.pop()
                for step in region.steps:
                    self._owners |= dict.fromkeys(step.bodies.values(), (region, step))
                    stack += step.bodies.values()
        return self._owners[body]

    def _left(self, region: Region, step: Step, at: int) -> Axes | None:
        """Of output `at` of a step."""
        if step.renames:
            return self.axes(region, step.inputs[0])
        if step.kind == "If":
            return _joined([self.axes(body, body.outputs[at]) for body in step.bodies.values()])
        if step.kind not in CARRIED:
            return None
        body, (begin, _, leaving) = step.bodies["body"], CARRIED[step.kind]
        inner = self.axes(body, body.outputs[leaving + at])
        if at < step.carried:
            first = step.inputs[begin + at]
            return _joined([self.axes(region, first) if first else None, inner])
        axis = (step.attributes.get("scan_output_axes") or [0] * len(step.outputs))[at - step.carried]
        return None if inner is None or axis < 0 else (axis, *(other + (other >= axis) for other in inner))

    def _entering(self, body: Region, at: int) -> Axes | None:
        """Of input `at` of the body of a step, as it is when it runs first."""
        region, step = self._owner(body)
        if step.kind not in CARRIED:
            return self.axes(region, step.inputs[1 + at])
        begin, entering, _ = CARRIED[step.kind]
        if at < entering:
            return ()
        name = step.inputs[begin + at - entering]
        outer = self.axes(region, name) if name else None
        if outer is None or at - entering < step.carried:
            return outer
        axis = (step.attributes.get("scan_input_axes") or [0] * len(body.inputs))[at - step.carried]
        return None if axis < 0 else tuple(other - (other > axis) for other in outer if other != axis)


def _joined(axes: Sequence[Axes | None]) -> Axes | None:
    """Those that are open in any of the values that one may be."""
    certain = [open_axes for open_axes in axes if open_axes is not None]
    return tuple(sorted({axis for open_axes in certain for axis in open_axes})) if certain else None
