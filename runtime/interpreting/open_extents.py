"""Extents that differ between calls, by the inputs, the compiled code, and the loops that pass values on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ..values.open_specs import OPEN, OpenSpec
from .flow import CARRIED, Region, Step

Axes = tuple[int, ...]


class Origins:
    """The regions of a program, and the open axes of the values in them.

    inputs: the inputs of the main region.
    """

    def __init__(self, region: Region, inputs: Sequence[OpenSpec]):
        self._main = region
        self._inputs = {spec.name: spec for spec in inputs}
        self._owners: dict[Region, tuple[Region, Step]] = {}
        self.open: dict[tuple[Region, str], Axes] = {}
        """The results of programs for many sizes, and the axes whose extents differ between calls; for results that
        follow from sizes alone, the positions of the elements that differ."""

    def names(self, region: Region, name: str) -> Mapping[int, str | None]:
        """Return the model's names of the extents of a value."""
        spec = self._inputs.get(name) if self._home(region, name) is self._main else None
        return defaultdict(lambda: None, {} if spec is None else enumerate(spec.names))

    def axes(self, region: Region, name: str) -> Axes | None:
        """Return the open axes of the value that a region calls `name`; None if they are not known."""
        home = self._home(region, name)
        if home is None:
            return ()
        if (axes := self.open.get((home, name))) is not None:
            return axes
        for step in home.steps:
            if name in step.outputs:
                return self._output_axes(home, step, step.outputs.index(name))
        if home is not self._main:
            return self._input_axes(home, home.inputs.index(name))
        spec = self._inputs.get(name)
        if spec is None or spec.kind != "tensor" or not spec.ranked:
            return None
        return tuple(axis for axis, extent in enumerate(spec.shape) if extent == OPEN)

    def _home(self, region: Region, name: str) -> Region | None:
        """Return the region that computes a value or has it as an input; None for a constant."""
        around: Region | None = region
        while around is not None:
            if name in around.inputs or any(name in step.outputs for step in around.steps):
                return around
            around = around.parent
        return None

    def _owner(self, body: Region) -> tuple[Region, Step]:
        """Return the step that runs a body, with its region."""
        if body not in self._owners:
            # The compiler may have replaced steps since this was last built.
            stack = [self._main]
            while stack:
                region = stack.pop()
                for step in region.steps:
                    self._owners |= dict.fromkeys(step.bodies.values(), (region, step))
                    stack += step.bodies.values()
        return self._owners[body]

    def _output_axes(self, region: Region, step: Step, at: int) -> Axes | None:
        """Return the open axes of output `at` of a step."""
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

    def _input_axes(self, body: Region, at: int) -> Axes | None:
        """Return the open axes of input `at` of the body of a step, in its first run."""
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
    """Return the axes that are open in any of several values; None if nothing is known of any."""
    certain = [open_axes for open_axes in axes if open_axes is not None]
    return tuple(sorted({axis for open_axes in certain for axis in open_axes})) if certain else None
