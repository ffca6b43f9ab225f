"""Steps of the language: functions as values, tuples, data types and references; tensors in stretches.

The values of one call are in one environment, those of its branches and clauses, too: names are unique in a function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol, cast

from ...support.dtypes import Array
from ...support.errors import FrontendError, expectation
from .flow import Adt, Closure, Environment, Reference, Region, Step, Stretch, Value
from .frames import Frame, Machine, Run
from .shape_patterns import Families, Pattern

Values = dict[str, Value]


@dataclass(eq=False)
class Instruction(Step, ABC):
    """A step that knows what it does."""

    dying: tuple[str, ...] = ()
    """Values that nothing reads after it, nor while a region runs for it."""

    @property
    def pure(self) -> bool:
        """Return whether it may go when nobody reads its outputs."""
        return True

    @abstractmethod
    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> Frame | None:
        """Put the outputs among the values, or have a region run that gives them."""


@dataclass(eq=False)
class Native(Instruction):
    """Tensor operators between other steps, compiled for the shapes they meet."""

    open: tuple[int, ...] = ()
    """Inputs whose shape only a call tells."""
    declared: Pattern | None = None
    """Their extents according to their types, where some are open."""
    fixed: Stretch | None = None
    """The compiled code, when no input is open."""
    kept: Families | None = None
    """The compiled code, when some are."""

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        arrays: list[Any] = [values[name] for name in self.inputs]
        stretch = self.fixed or machine.stretch(self, arrays)
        run.visited[stretch] = None
        assert stretch.runner is not None
        try:
            if (visit := run.visit) is None:
                outputs = stretch.runner.launch(arrays, run.pool, run.handle)
            else:
                outputs = stretch.runner.walk(arrays, run.pool, lambda call, seconds, _: visit(stretch, call, seconds))
        except FrontendError as error:
            raise FrontendError(f"{error} ({self.layer})") from None
        for name, array in zip(self.outputs, outputs, strict=True):
            values[name] = array


@dataclass(eq=False)
class Computed(Instruction):
    """An operator of which values decide the shape of the result: what it means, without code of its own."""

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        arrays: list[Any] = [values[name] for name in self.inputs]
        values.update(zip(self.outputs, machine.evaluate(self, arrays), strict=True))


@dataclass(eq=False)
class Literal(Instruction):
    """A constant."""

    array: Array | None = None

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        values[self.outputs[0]] = self.array


@dataclass(eq=False)
class MakeTuple(Instruction):
    """Its inputs as one value."""

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        values[self.outputs[0]] = tuple([values[name] for name in self.inputs])


@dataclass(eq=False)
class GetItem(Instruction):
    """A value of a tuple."""

    index: int = 0

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        values[self.outputs[0]] = cast("tuple[Value, ...]", values[self.inputs[0]])[self.index]


@dataclass(eq=False)
class Construct(Instruction):
    """A value of a data type."""

    tag: int = 0
    name: str = ""

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        values[self.outputs[0]] = Adt(self.tag, self.name, [values[name] for name in self.inputs])


@dataclass(eq=False)
class MakeClosures(Instruction):
    """Functions, each of which may read the others: an output for each name."""

    names: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()
    captured: tuple[tuple[str, ...], ...] = ()
    """The values around that each reads."""

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        closures = [Closure(name, region, {}) for name, region in zip(self.names, self.regions, strict=True)]
        for output, closure in zip(self.outputs, closures, strict=True):
            values[output] = closure
        for closure, names in zip(closures, self.captured, strict=True):
            closure.captured = {name: values[name] for name in names}


@dataclass(eq=False)
class Global(Instruction):
    """A function of the program as a value."""

    name: str = ""
    region: Region | None = None

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        assert self.region is not None
        values[self.outputs[0]] = Closure(self.name, self.region, {})


@dataclass(eq=False)
class CreateReference(Instruction):
    """A new cell."""

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        values[self.outputs[0]] = Reference(values[self.inputs[0]])


@dataclass(eq=False)
class ReadReference(Instruction):
    """Read the value that a cell holds now."""

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        values[self.outputs[0]] = cast(Reference, values[self.inputs[0]]).value


@dataclass(eq=False)
class WriteReference(Instruction):
    """Another value for a cell; gives the empty tuple."""

    @property
    def pure(self) -> bool:
        return False

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        cast(Reference, values[self.inputs[0]]).value = values[self.inputs[1]]
        values[self.outputs[0]] = ()


@dataclass(eq=False)
class Call(Instruction):
    """A call of a function of the program."""

    name: str = ""
    region: Region | None = None

    @property
    def pure(self) -> bool:
        return False

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> Frame:
        region = self.region
        assert region is not None
        arguments = dict(zip(region.inputs, [values[name] for name in self.inputs], strict=True))
        return machine.called(self, self.name, frame, region, arguments)


@dataclass(eq=False)
class Invoke(Instruction):
    """A call of a function value, the first input."""

    @property
    def pure(self) -> bool:
        return False

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> Frame:
        closure: Any = values[self.inputs[0]]
        arguments = closure.captured.copy()
        arguments.update(zip(closure.region.inputs, [values[name] for name in self.inputs[1:]], strict=True))
        return machine.called(self, closure.name, frame, closure.region, arguments)


@dataclass(eq=False)
class Choose(Instruction):
    """The first region if the input is true, else the second."""

    regions: tuple[Region, ...] = ()
    unread: tuple[tuple[str, ...], ...] = ()
    """Values that the other region alone would have been the last to read."""

    @property
    def pure(self) -> bool:
        return False

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> Frame:
        at = 0 if values[self.inputs[0]] else 1
        for name in self.unread[at]:
            del values[name]
        return Frame(self.regions[at], frame.values, frame.depth)


@dataclass(frozen=True)
class Clause:
    """The form that a value must have, and the parts that are taken out of it.

    The value and all that is opened in it are counted: 0 is the value, the fields of what is opened first come next.
    """

    opened: tuple[tuple[int, int | None], ...]
    """Number, and the tag it must have; None for a tuple."""
    bound: tuple[int, ...]
    """The numbers of what the region's own names stand for."""


@dataclass(eq=False)
class Match(Choose):
    """The region of the first clause that fits the input."""

    clauses: list[Clause] = field(default_factory=list[Clause])

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> Frame:
        value = values[self.inputs[0]]
        for at, clause in enumerate(self.clauses):
            if (parts := _fitting(value, clause)) is None:
                continue
            region = self.regions[at]
            for name, number in zip(region.inputs, clause.bound, strict=True):
                values[name] = parts[number]
            for name in self.unread[at]:
                del values[name]
            return Frame(region, frame.values, frame.depth)
        raise FrontendError(expectation("relay.match", "a value that a clause fits", repr(value), self.layer))


def _fitting(value: Value, clause: Clause) -> list[Any] | None:
    """The value and what is in it, as the clause counts; None when it does not fit."""
    parts: list[Any] = [value]
    for number, tag in clause.opened:
        inner = parts[number]
        if tag is None:
            parts += inner
        elif inner.tag == tag:
            parts += inner.fields
        else:
            return None
    return parts


class Specialise(Protocol):
    """The compiler: a stretch for arrays of the shapes of these."""

    def __call__(self, step: Native, arrays: Sequence[Array]) -> Stretch: ...


class Generalise(Protocol):
    """The compiler: a stretch for arrays of all shapes of a pattern, of which these are some.

    sizes: the extents of open inputs, in order, which the pattern is of. None where there is no such program.
    """

    def __call__(
        self, step: Native, arrays: Sequence[Array], pattern: Pattern, sizes: Sequence[int]
    ) -> Stretch | None: ...


class Evaluate(Protocol):
    """Computes the results of a step's operator for arrays."""

    def __call__(self, step: Computed, arrays: Sequence[Array]) -> Sequence[Array]: ...


class LanguageMachine(Machine):
    """Runs programs of the language; safe to use from several threads at once.

    generalise: None where every shape is to have a program of its own.
    limit: how many stretches are kept of one step, the least recently used go first.
    max_depth: how many calls may wait for another; those in tail position wait for none.
    """

    def __init__(
        self, specialise: Specialise, generalise: Generalise | None, evaluate: Evaluate, limit: int, max_depth: int
    ):
        self.evaluate = evaluate
        self.limit = limit
        self.max_depth = max_depth
        self._specialise = specialise
        self._generalise = generalise
        self._lock = Lock()
        self._met: dict[Native, None] = {}

    @property
    def stretches(self) -> list[Stretch]:
        """The compiled code that is kept: of the step that was met first first, the least recently used first."""
        with self._lock:
            return [stretch for step in self._met if step.kept is not None for stretch in step.kept.stretches]

    def run(self, region: Region, given: Mapping[str, Value], run: Run) -> list[Value]:
        """The outputs of a region, for its inputs and what else it reads."""
        return self.execute(Frame(region, Environment(region, dict(given))), run)

    def advance(self, frame: Frame, step: Any, run: Run) -> Frame | None:
        # An instruction; to look whether it is one takes as long as some of them.
        values = frame.values.values
        inner: Frame | None = step.run(values, frame, self, run)
        for name in step.dying:
            del values[name]
        if inner is None:
            frame.at += 1
        return inner

    def resume(self, frame: Frame, results: list[Value]) -> None:
        frame.values.values.update(zip(frame.region.steps[frame.at].outputs, results, strict=True))
        frame.at += 1

    def called(self, step: Step, name: str, frame: Frame, region: Region, given: Values) -> Frame:
        """The frame of a called region; raises FrontendError when too many calls wait."""
        depth = frame.depth if step.tail else frame.depth + 1
        if depth > self.max_depth:
            wanted = f"at most {self.max_depth} calls that wait for another (relay.vm.max_depth)"
            raise FrontendError(expectation(f"call of '{name}'", wanted, "more", step.layer))
        return Frame(region, Environment(region, given), depth)

    def stretch(self, step: Native, arrays: Sequence[Array]) -> Stretch:
        """Return the compiled code for arrays of these shapes."""
        sizes = tuple([extent for at in step.open for extent in arrays[at].shape])

        def specialise() -> Stretch:
            return self._specialise(step, arrays)

        def generalise(pattern: Pattern, declared: bool) -> Stretch | None:
            return None if self._generalise is None else self._generalise(step, arrays, pattern, sizes)

        with self._lock:
            self._met[step] = None
            if step.kept is None:
                step.kept = Families(self.limit)
            stretch = step.kept.stretch(
                tuple([arrays[at].ndim for at in step.open]),
                sizes,
                lambda: [] if step.declared is None else [step.declared],
                specialise,
                generalise,
                lambda candidate: candidate.fits is None or candidate.fits(arrays),
            )
            if not step.open:
                step.fixed = stretch
            return stretch
