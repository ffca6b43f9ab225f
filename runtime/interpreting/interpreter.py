"""The interpreter: it runs If, Loop and Scan; any run of other steps is a *stretch* of native code.

When the interpreter first comes to a stretch, `specialise` compiles it for the shapes of its values. When it comes
again with other shapes, `generalise` compiles it for all shapes that differ in the same extents. A stretch that reads
inputs of the model, or results of programs for many sizes, is generalised at once. A stretch that cannot be
generalised is specialised for each shape. Values that iterations of a loop change are not known (`control.py`), so
code does not depend on the number of iterations. The compiler finds the end of a stretch: it ends before a step that
needs a value computed in it (such as the shape of a Reshape), and after one whose values decide the size of its result
(such as NonZero).
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from threading import Lock
from typing import Any, Protocol, cast
from weakref import WeakSet

import numpy as np

from ...support.errors import FrontendError
from ..program.inputs import accepted
from ..values.open_specs import OPEN, OpenSpec
from .control import CONTROL, NEVER_COMPILED
from .flow import Environment, Known, Region, Run, Step, Stretch, Value, released, tensor
from .frames import Frame, Machine
from .host import is_hosted
from .open_extents import Origins
from .shape_patterns import Families, Kept, Pattern, kind_of, places_of_sizes


class Demand(Exception):
    """A request: a stretch cannot begin unless the value of `name` is known."""

    def __init__(self, name: str):
        super().__init__(name)
        self.name = name


class Specialise(Protocol):
    """A compiler of the stretch of a region from step `at` on, for values.

    It depends on their shapes and dtypes, and on the elements of `Known` ones. The `next` of the result is the step at
    `at` itself if that cannot be compiled. Raises Demand.
    """

    def __call__(self, region: Region, at: int, values: Mapping[str, Value]) -> Stretch: ...


class Generalise(Protocol):
    """A compiler as `Specialise`, for all values that differ from these only in sizes, within a pattern.

    sizes: the sizes of `values`, in the order of the pattern. whole: refuse a stretch that is shorter than the one for
    these sizes. Returns None if there is no such program. Raises Demand.
    """

    def __call__(
        self, region: Region, at: int, values: Mapping[str, Value], pattern: Pattern, sizes: Sequence[int], whole: bool
    ) -> Stretch | None: ...


class Interpreter(Machine):
    """An interpreter of a region; safe to use from several threads at once.

    inputs: the inputs of the region.
    generalise: None to compile a program for every shape.
    limit: the number of stretches to keep; the least recently used go first.
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
        self.inputs = tuple(inputs)
        self._origins = Origins(region, inputs)
        self._specialise = specialise
        self._generalise = generalise
        self._settled: WeakSet[Stretch] = WeakSet()
        self._lock = Lock()
        self._families = Families(limit)

    @property
    def limit(self) -> int:
        """The number of stretches that are kept."""
        return self._families.limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._families.limit = limit

    @property
    def stretches(self) -> list[Stretch]:
        """The compiled stretches that are kept, in the order of first use."""
        with self._lock:
            return self._families.stretches

    @property
    def entries(self) -> list[Kept]:
        """The compiled stretches that are kept, with what they are for; the first part of a kind is the first step."""
        with self._lock:
            return self._families.entries

    def restore(self, entries: Sequence[Kept]) -> None:
        """Keep stretches, too, that were compiled elsewhere for the same region."""
        self._families.restore(entries)

    def is_settled(self, stretch: Stretch) -> bool:
        """Return whether all that a stretch reads was of shapes that no call changes, as far as that is known."""
        return stretch in self._settled

    def call(self, given: Mapping[str, Any] | Sequence[Any], run: Run) -> list[Any]:
        """Run the region for the arguments of a call, and return results that are the caller's own.

        Raises FrontendError when the inputs do not accept the arguments, and with their shapes when a step does not.
        """
        values: dict[str, Value] = self.accepted(given)
        try:
            results = self.run(values, run)
        except FrontendError as error:
            opened = [spec for spec in self.inputs if spec.kind == "tensor" and OPEN in spec.shape]
            shapes = "; ".join(f"{spec} of shape {list(np.shape(cast(Any, values[spec.name])))}" for spec in opened)
            raise FrontendError(f"{error}, for {shapes}" if opened else str(error)) from error
        return released(results, values.values())

    def accepted(self, given: Mapping[str, Any] | Sequence[Any]) -> dict[str, Value]:
        """Return the arguments of a call by name, as the inputs accept them; raises FrontendError."""
        return dict(zip((spec.name for spec in self.inputs), accepted(self.inputs, given), strict=True))

    def run(self, inputs: Mapping[str, Value], run: Run) -> list[Value]:
        """Run the region and return its outputs."""
        return self.execute(Frame(self.region, Environment(self.region, dict(inputs))), run)

    def advance(self, frame: Frame, step: Step, run: Run) -> Frame | None:
        region, values, at = frame.region, frame.values, frame.at
        stretch = self._stretch(region, at, values)
        # The compiler may have replaced the step by others.
        step = region.steps[at]
        if stretch.next is step:
            frame.control = CONTROL[step.kind](step, values)
            return self._controlled(frame, None)
        stretch.run(values, run)
        _move(frame, len(region.steps) if stretch.next is None else region.steps.index(stretch.next, at))
        return None

    def resume(self, frame: Frame, results: list[Value]) -> Frame | None:
        return self._controlled(frame, results)

    def _controlled(self, frame: Frame, results: list[Value] | None) -> Frame | None:
        """Continue the current step; return the frame of the body that it runs next, or None when it is done."""
        assert frame.control is not None
        try:
            inner = next(frame.control) if results is None else frame.control.send(results)
        except StopIteration as stop:
            frame.control = None
            step = frame.region.steps[frame.at]
            frame.values.values.update(zip(step.outputs, stop.value, strict=False))
            _move(frame, frame.at + 1)
            return None
        return Frame(inner.region, inner, frame.depth)

    def _stretch(self, region: Region, at: int, values: Environment) -> Stretch:
        step = region.steps[at]
        if step.kind in NEVER_COMPILED:
            return Stretch(step, (), {}, None)
        while True:
            inputs = values.among(region.taken(at, NEVER_COMPILED))
            hosted = tuple([name for name, value in inputs.items() if is_hosted(value)])
            for name in hosted:
                del inputs[name]
            for name in step.demanded:
                if name in inputs:
                    inputs[name] = _known(inputs[name])
            sizes: list[int] = []
            kind: Hashable = (step, hosted, *[kind_of(value, sizes) for value in inputs.values()])
            with self._lock:
                try:
                    return self._compiled(region, at, values, inputs, kind, tuple(sizes))
                except Demand as demand:
                    if demand.name not in inputs or demand.name in step.demanded:
                        raise
                    step.demanded.add(demand.name)

    def _compiled(
        self,
        region: Region,
        at: int,
        values: Environment,
        inputs: Mapping[str, Value],
        kind: Hashable,
        sizes: tuple[int, ...],
    ) -> Stretch:
        """Return the stretch for values of a kind and sizes, compiled unless it is kept already."""
        if (kept := self._families.kept(kind, sizes)) is not None:
            return kept

        def specialise() -> Stretch:
            stretch = self._specialise(region, at, inputs)
            if all(self._origins.axes(region, name) == () for name in inputs):
                self._settled.add(stretch)
                self._note_open(region, stretch)
            return stretch

        def generalise(pattern: Pattern, declared: bool) -> Stretch | None:
            if self._generalise is None:
                return None
            stretch = self._generalise(region, at, inputs, pattern, sizes, declared)
            if stretch is not None:
                self._note_open(region, stretch)
            return stretch

        def declare() -> list[Pattern]:
            # Computed values are open, too, unless an operator refuses that.
            computed = {name for name in inputs if not isinstance(values[name], Known)}
            patterns = [self._declared(region, inputs, sizes, computed, opened) for opened in (True, False)]
            return [pattern for pattern in patterns if pattern is not None]

        return self._families.stretch(
            kind, sizes, declare, specialise, generalise, lambda stretch: stretch.takes(values)
        )

    def _note_open(self, region: Region, stretch: Stretch) -> None:
        self._origins.open.update({(region, name): axes for name, axes in stretch.open.items()})

    def _declared(
        self,
        region: Region,
        inputs: Mapping[str, Value],
        sizes: Sequence[int],
        computed: Container[str],
        opened: bool,
    ) -> Pattern | None:
        """Return the pattern of values of these sizes by the open axes of inputs and of compiled code.

        It is None if these axes are not known. computed: the values that are known only because a step needs them;
        `opened` says if all of their elements are open.
        """
        names: list[str | None] = []
        for name, value in inputs.items():
            axes = self._origins.axes(region, name)
            if isinstance(value, Known):
                kind_of(value, numbers := list[int]())
                places = places_of_sizes(value.array) if numbers else ()
                open_ = (places if opened else ()) if name in computed else axes or ()
                names += [f"{name}_{at}" if at in open_ else None for at in places]
            elif isinstance(value, np.ndarray) and axes is not None:
                called = self._origins.names(region, name)
                names += [(called[at] or f"{name}_{at}") if at in axes else None for at in range(value.ndim)]
            else:
                return None
        return Pattern.named(names, sizes)


def _move(frame: Frame, to: int) -> None:
    """Continue with another step; drop the values that no step reads from there on."""
    for name in frame.region.dead(frame.at, to):
        frame.values.values.pop(name, None)
    frame.at = to


def _known(value: Value) -> Value:
    if isinstance(value, list):
        return [_known(item) for item in value]
    return value if value is None or isinstance(value, Known) else Known(tensor(value, ""))
