"""Steps of the language: functions as values, tuples, data types and references; tensors in stretches.

The values of a call, including its branches and clauses, are in one environment: names are unique in a function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Protocol, cast

from ...support.dtypes import Array
from ...support.errors import FrontendError, expectation
from .flow import Adt, Closure, Environment, Reference, Region, Run, Step, Stretch, Value
from .frames import Frame, Machine
from .host import Task
from .shape_patterns import Families, Kept, Pattern

Values = dict[str, Value]


@dataclass(eq=False)
class Instruction(Step, ABC):
    """A step that defines what it does, in `run`."""

    dying: tuple[str, ...] = ()
    """Values that nothing reads after it, nor while a region runs for it."""

    @property
    def pure(self) -> bool:
        """Return whether it can be removed when nobody reads its outputs."""
        return True

    @abstractmethod
    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> Frame | None:
        """Add the outputs to the values, or return the frame of a region that computes them."""


@dataclass(eq=False)
class Native(Instruction):
    """Tensor operators between other steps, compiled for the shapes they meet."""

    open: tuple[int, ...] = ()
    """The positions of inputs whose shape only a call decides."""
    declared: Pattern | None = None
    """The pattern of their extents by their types, if some are open."""
    fixed: Stretch | None = None
    """The compiled code, if no input is open."""
    kept: Families | None = None
    """The compiled code, if some are."""

    @property
    def compiled(self) -> bool:
        """Return whether there is compiled code, for any shapes."""
        return self.fixed is not None or self.kept is not None

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        arrays: list[Any] = [values[name] for name in self.inputs]
        stretch = self.fixed or machine.stretch(self, arrays)
        try:
            outputs = stretch.launch(arrays, run)
        except FrontendError as error:
            raise FrontendError(f"{error} ({self.layer})") from None
        for name, array in zip(self.outputs, outputs, strict=True):
            values[name] = array


@dataclass(eq=False)
class Computed(Instruction):
    """An operator whose values decide the shape of its result, which Python does."""

    task: Task | None = None

    def run(self, values: Values, frame: Frame, machine: LanguageMachine, run: Run) -> None:
        assert self.task is not None
        values.update(zip(self.outputs, self.task.results([values[name] for name in self.inputs]), strict=True))


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
    """The values around it that each function reads."""

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
    """Write a new value to a cell; the output is the empty tuple."""

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
    """The values whose last reader would have been in the other region."""

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
    """The form that a value must have, and the parts of it that the clause binds.

    The value and the parts in it have numbers: 0 is the value, then come the fields of the part that is opened first.
    """

    opened: tuple[tuple[int, int | None], ...]
    """The number of each part to open, and the tag that it must have; None for a tuple."""
    bound: tuple[int, ...]
    """The numbers of the parts that the inputs of the region get."""


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
    """Return the value and its parts by the numbers of the clause; None if the value does not fit."""
    parts: list[Any] = [value]
    for number, tag in clause.opened:
        part = parts[number]
        if tag is None:
            parts += part
        elif part.tag == tag:
            parts += part.fields
        else:
            return None
    return parts


class Specialise(Protocol):
    """A compiler of the code of a step for arrays of these shapes."""

    def __call__(self, step: Native, arrays: Sequence[Array]) -> Stretch: ...


class Generalise(Protocol):
    """A compiler of the code of a step for arrays of all shapes of a pattern, which these arrays fit.

    sizes: the extents of open inputs, in the order of the pattern. Returns None if there is no such program.
    """

    def __call__(
        self, step: Native, arrays: Sequence[Array], pattern: Pattern, sizes: Sequence[int]
    ) -> Stretch | None: ...


class LanguageMachine(Machine):
    """A machine that runs programs of the language; safe to use from several threads at once.

    generalise: None to compile a program for every shape.
    limit: the number of stretches to keep for each step; the least recently used go first.
    max_depth: the number of calls that may wait for another; calls in tail position do not wait.
    """

    def __init__(self, specialise: Specialise, generalise: Generalise | None, limit: int, max_depth: int):
        self.limit = limit
        self.max_depth = max_depth
        self._specialise = specialise
        self._generalise = generalise
        self._lock = Lock()
        self._met: dict[Native, None] = {}

    @property
    def stretches(self) -> list[Stretch]:
        """The compiled code that is kept, by the order of first runs of its steps, the least recently used first."""
        with self._lock:
            return [stretch for step in self._met if step.kept is not None for stretch in step.kept.stretches]

    @property
    def entries(self) -> list[Kept]:
        """The compiled code that is kept, with what it is for and the step that it is of."""
        with self._lock:
            return [
                replace(entry, step=step) for step in self._met if step.kept is not None for entry in step.kept.entries
            ]

    def restore(self, entries: Sequence[Kept]) -> None:
        """Keep code, too, that was compiled elsewhere, for the steps that the entries name."""
        for entry in entries:
            step = cast(Native, entry.step)
            self._met[step] = None
            step.kept = step.kept or Families(self.limit)
            step.kept.restore([entry])
            if not step.open:
                step.fixed = entry.stretch

    def run(self, region: Region, values: Mapping[str, Value], run: Run) -> list[Value]:
        """Return the outputs of a region for the values of its inputs and of other names that it reads."""
        return self.execute(Frame(region, Environment(region, dict(values))), run)

    def advance(self, frame: Frame, step: Any, run: Run) -> Frame | None:
        # The step is an instruction; checking that would take as long as some instructions.
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

    def called(self, step: Step, name: str, frame: Frame, region: Region, arguments: Values) -> Frame:
        """Return the frame of a called region; raises FrontendError when too many calls wait."""
        depth = frame.depth if step.tail else frame.depth + 1
        if depth > self.max_depth:
            expected = f"at most {self.max_depth} calls that wait for another (relay.vm.max_depth)"
            raise FrontendError(expectation(f"call of '{name}'", expected, "more", step.layer))
        return Frame(region, Environment(region, arguments), depth)

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
