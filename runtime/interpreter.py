"""The interpreter: If, Loop and Scan are done here; any run of other steps is a *stretch* of native code.

A stretch is compiled by `specialise` when the interpreter first comes to it, for the shapes that it meets; when it
comes again with other shapes, by `generalise`, for all shapes that differ in what differed so far. What reads inputs of
the model, and what programs for many sizes gave, is compiled by `generalise` at once. Where that cannot be, it is
specialised for each. How far a stretch goes is found when it is compiled: it ends before a step that needs a value
computed in it (such as the shape of a Reshape), and after one whose result only values size (such as NonZero).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from threading import Lock
from typing import Protocol

import numpy as np

from .control import CONTROL, NEVER_COMPILED
from .flow import Environment, Known, Region, Step, Stretch, Value, tensor
from .frames import Frame, Machine, Run
from .host import is_hosted
from .open_specs import OPEN, OpenSpec
from .shape_patterns import Families, Pattern, kind_of


class Demand(Exception):
    """A stretch cannot begin without the value of `name`."""

    def __init__(self, name: str):
        super().__init__(name)
        self.name = name


class Specialise(Protocol):
    """The compiler: the stretch of a region from step `at` on, for the values that there are.

    Their shapes and dtypes count, of `Known` ones the values. The result's `next` is the step at `at` when not even
    that can be compiled. Raises Demand.
    """

    def __call__(self, region: Region, at: int, values: Mapping[str, Value]) -> Stretch: ...


class Generalise(Protocol):
    """The compiler: as `Specialise`, for all values that differ from these in sizes only, as `pattern` says of them.

    sizes: those of `values`, which the pattern is of. whole: only if the stretch is not shorter than the one for these
    sizes. None where there is no such program. Raises Demand.
    """

    def __call__(
        self, region: Region, at: int, values: Mapping[str, Value], pattern: Pattern, sizes: Sequence[int], whole: bool
    ) -> Stretch | None: ...


class Interpreter(Machine):
    """Runs a region; safe to use from several threads at once.

    inputs: those of the region.
    generalise: None where every shape is to have a program of its own.
    limit: how many stretches are kept, the least recently used go first.
    """

    def __init__(
        self,
        region: Region,
        inputs: Sequence[OpenSpec],
        specialise: Specialise,
        generalise: Generalise | None,
        limit: int,
    ):
        self.region = region
        self._inputs = {spec.name: spec for spec in inputs}
        self._open: dict[tuple[Region, str], tuple[int, ...]] = {}
        """Values that programs for many sizes gave, and the axes whose extents differ between calls."""
        self._specialise = specialise
        self._generalise = generalise
        self._lock = Lock()
        self._families = Families(limit)

    @property
    def limit(self) -> int:
        """How many stretches are kept."""
        return self._families.limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._families.limit = limit

    @property
    def stretches(self) -> list[Stretch]:
        """What is compiled, in the order of first use as far as it is kept."""
        with self._lock:
            return self._families.stretches

    def run(self, inputs: Mapping[str, Value], run: Run) -> list[Value]:
        """The outputs."""
        return self.execute(Frame(self.region, Environment(self.region, dict(inputs))), run)

    def advance(self, frame: Frame, step: Step, run: Run) -> Frame | None:
        region, values, at = frame.region, frame.values, frame.at
        stretch = self._stretch(region, at, values)
        # Steps may have been put in the place of others by now.
        step = region.steps[at]
        if stretch.next is step:
            frame.control = CONTROL[step.kind](step, values)
            return self._controlled(frame, None)
        run.visited[stretch] = None
        stretch.run(values, run.pool, run.handle)
        _move(frame, len(region.steps) if stretch.next is None else region.steps.index(stretch.next, at))
        return None

    def resume(self, frame: Frame, results: list[Value]) -> Frame | None:
        return self._controlled(frame, results)

    def _controlled(self, frame: Frame, results: list[Value] | None) -> Frame | None:
        """Have the step that a frame is at go on; the frame of the body that it wants, or None when it is done."""
        assert frame.control is not None
        try:
            inner = next(frame.control) if results is None else frame.control.send(results)
        except StopIteration as done:
            frame.control = None
            step = frame.region.steps[frame.at]
            frame.values.values.update(zip(step.outputs, done.value, strict=False))
            _move(frame, frame.at + 1)
            return None
        return Frame(inner.region, inner, frame.depth)

    def _stretch(self, region: Region, at: int, values: Environment) -> Stretch:
        step = region.steps[at]
        if step.kind in NEVER_COMPILED:
            return Stretch(step, (), {}, None)
        while True:
            given = {name: v for name in region.reads(at) if not isinstance(v := values.find(name), type)}
            given = {name: value for name, value in given.items() if not is_hosted(value)}
            for name in step.demanded & given.keys():
                given[name] = _known(given[name])
            sizes: list[int] = []
            kind: Hashable = (step, *[(name, kind_of(value, sizes)) for name, value in given.items()])
            with self._lock:
                try:
                    return self._found(region, at, values, given, kind, tuple(sizes))
                except Demand as demand:
                    if demand.name not in given or demand.name in step.demanded:
                        raise
                    step.demanded.add(demand.name)

    def _found(
        self,
        region: Region,
        at: int,
        values: Environment,
        given: Mapping[str, Value],
        kind: Hashable,
        sizes: tuple[int, ...],
    ) -> Stretch:
        """What is compiled for values of a kind and sizes, made if it is not there."""

        def specialise() -> Stretch:
            return self._specialise(region, at, given)

        def generalise(pattern: Pattern) -> Stretch | None:
            if self._generalise is None:
                return None
            made = self._generalise(region, at, given, pattern, sizes, pattern is declared)
            if made is not None:
                self._open.update({(region, name): axes for name, axes in made.open.items()})
            return made

        declared = self._declared(region, given, sizes)
        return self._families.stretch(kind, sizes, declared, specialise, generalise, lambda found: found.takes(values))

    def _declared(self, region: Region, given: Mapping[str, Value], sizes: Sequence[int]) -> Pattern | None:
        """What is open of values of these sizes, as inputs say and what is compiled; None where nobody knows."""
        names: list[str | None] = []
        for name, value in given.items():
            if isinstance(value, Known):
                kind_of(value, numbers := list[int]())
                names += [None] * len(numbers)
            elif isinstance(value, np.ndarray) and (called := self._names(region, name, value.ndim)) is not None:
                names += called
            else:
                return None
        return Pattern.named(names, sizes)

    def _names(self, region: Region, name: str, rank: int) -> list[str | None] | None:
        """A name for each open extent of what a region calls `name`; None where nobody knows which are open."""
        around: Region | None = region
        while around is not None:
            if (axes := self._axes(around, name)) is not None:
                return [f"{name}_{axis}" if axis in axes else None for axis in range(rank)]
            if name in around.inputs or any(name in step.outputs for step in around.steps):
                break
            around = around.parent
        spec = self._inputs.get(name) if around is self.region else None
        if spec is None or spec.kind != "tensor" or not spec.ranked:
            return None
        dims = enumerate(zip(spec.shape, spec.names, strict=True))
        return [(called or f"{name}_{axis}") if extent == OPEN else None for axis, (extent, called) in dims]

    def _axes(self, region: Region, name: str) -> tuple[int, ...] | None:
        """The open axes of a value that a region computes, by a step of it or of the branches of one."""
        if (axes := self._open.get((region, name))) is not None:
            return axes
        for step in region.steps:
            if step.kind == "If" and name in step.outputs:
                at = step.outputs.index(name)
                inner = [self._axes(body, body.outputs[at]) for body in step.bodies.values()]
                found = [axes for axes in inner if axes is not None]
                return tuple(sorted({axis for axes in found for axis in axes})) if found else None
        return None


def _move(frame: Frame, to: int) -> None:
    """Go on with another step; what nobody reads from there on goes."""
    for name in frame.region.dead(frame.at, to):
        frame.values.values.pop(name, None)
    frame.at = to


def _known(value: Value) -> Value:
    if isinstance(value, list):
        return [_known(item) for item in value]
    return value if value is None or isinstance(value, Known) else Known(tensor(value, ""))
