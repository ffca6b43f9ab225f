"""Exported programs in which values decide: steps to interpret, and native code for the stretches between them.

The archive holds, beside the thread pool, an archive as of any model for each native program, `0.tar` and so on, and
the package `whence_program`: the steps as `interpreting/written.py` writes them, with the arrays that they read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, takewhile
from os import PathLike, fspath
from typing import Any, NoReturn

from ...support.doors import door, doors
from ...support.dtypes import Array
from ...support.errors import FrontendError, PipelineError, expectation
from ..interpreting import language
from ..interpreting.flow import Region, Run, Stretch, Value
from ..interpreting.interpreter import Interpreter
from ..interpreting.language_program import LanguageProgram, Visit
from ..interpreting.shape_patterns import Kept
from ..interpreting.written import LanguageSteps, ModelSteps, read
from ..program.calls import Calls
from ..program.executor import Runner
from ..program.inputs import in_order
from ..program.random_state import RandomState
from ..program.threads import ThreadPool
from ..values.open_specs import OpenSpec
from ..values.values import described
from .loaded import PROGRAM, UNREADABLE, load_archive, members_of, package_of
from .opened import POOL_OBJECT, linked_pool
from .package import Package
from .sealed import open_sealed


@dataclass(frozen=True)
class ShippedProgram:
    """The subject of the package."""

    objects: list[dict[str, Any]]
    """The parts of the program, as `written` returns them."""
    seed: int | None
    """The seed of random numbers; None for one that the system gives."""
    limited: tuple[str, ...]
    """A line for each layer from which on there is no code for all sizes, or none at all."""


class LoadedProgram(Calls):
    """An exported program, ready to run. Safe to use from several threads at once."""

    name: str = ""
    """The name of the file."""
    limited: tuple[str, ...] = ()
    """A line for each layer from which on the file has no code for all sizes, or none at all.

    A call that gets there raises FrontendError with the layer.
    """
    _random: RandomState

    def __reduce__(self) -> NoReturn:
        """Raise PipelineError: send or copy the file that the program came from instead."""
        expected = "the file that export_library wrote, for load_program to read"
        raise PipelineError(expectation("pickle, copy", expected, "a loaded program"))

    @property
    @abstractmethod
    def inputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each input; an extent that is open is None or a name."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each output."""

    @property
    @abstractmethod
    def stretches(self) -> list[Stretch]:
        """The compiled code in the file; the report of each is the number of its native program there."""

    @property
    @abstractmethod
    def last(self) -> list[Stretch]:
        """The compiled code that the last call ran, in order."""

    def reset(self) -> None:
        """Restart the random numbers of the program, if it draws any."""
        self._random.reset()

    @abstractmethod
    def call(self, inputs: Mapping[str, Any] | Sequence[Any], visit: Visit | None = None) -> Sequence[Any]:
        """Return the outputs for inputs by name or in order; see `invoke`."""

    def _results(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        return self.call(inputs)

    def constructor(self, name: str) -> Any:
        """Return a function that makes values of a data type: `program.constructor("Cons")(head, tail)`."""
        raise FrontendError(f"expected a constructor among none, got {name!r}")

    @abstractmethod
    def invoke(self, name: str, *arguments: Any, visit: Visit | None = None) -> Any:
        """Call a function of the program with values in order; a model has the function `main`.

        visit: called after each kernel call, with the stretch, the call and its seconds.
        """


@contextmanager
def _fitting(name: str) -> Generator[None]:
    """Tell of steps that do not fit together, which the checks of a file do not see, with its name."""
    try:
        yield
    except (AssertionError, *UNREADABLE) as error:
        expected = "a program as export_library writes it"
        actual = f"steps that do not fit together ({type(error).__name__}: {error})"
        raise FrontendError(expectation(name, expected, actual)) from error


@doors()
class LoadedSteps(LoadedProgram):
    """A model that an interpreter runs."""

    def __init__(self, steps: ModelSteps, pool: ThreadPool):
        self._steps, self._pool = steps, pool
        self._interpreter = Interpreter(steps.region, steps.inputs, _unknown_stretch, None, len(steps.kept))
        self._interpreter.restore(steps.kept)
        self._last: list[Stretch] = []

    @property
    def inputs(self) -> tuple[OpenSpec, ...]:
        return self._steps.inputs

    @property
    def outputs(self) -> tuple[OpenSpec, ...]:
        return self._steps.outputs

    def call(self, inputs: Mapping[str, Any] | Sequence[Any], visit: Visit | None = None) -> Sequence[Any]:
        run = Run(self._pool, visit)
        with _fitting(self.name):
            results = self._interpreter.call(inputs, run)
        self._last = list(run.visited)
        return results

    @property
    def stretches(self) -> list[Stretch]:
        return self._interpreter.stretches

    @property
    def last(self) -> list[Stretch]:
        return self._last

    def invoke(self, name: str, *arguments: Any, visit: Visit | None = None) -> Any:
        if name != "main":
            raise FrontendError(f"expected a function among main, got {name!r}")
        results = tuple(self.call(arguments, visit))
        return results[0] if len(results) == 1 else results


@doors()
class LoadedLanguage(LoadedProgram):
    """A program that the virtual machine runs."""

    def __init__(self, steps: LanguageSteps, pool: ThreadPool):
        machine = language.LanguageMachine(_unknown_code, None, len(steps.kept), steps.max_depth)
        machine.restore(steps.kept)
        self._program = LanguageProgram(steps.functions, steps.constructors, machine, pool)

    @property
    def inputs(self) -> tuple[OpenSpec, ...]:
        return self._program.inputs

    @property
    def outputs(self) -> tuple[OpenSpec, ...]:
        return self._program.outputs

    def constructor(self, name: str) -> Any:
        return self._program.constructor(name)

    def call(self, inputs: Mapping[str, Any] | Sequence[Any], visit: Visit | None = None) -> Sequence[Any]:
        results = self.invoke("main", *in_order(self.inputs, inputs), visit=visit)
        return (results,) if len(self._names) == 1 else results

    @property
    def stretches(self) -> list[Stretch]:
        return self._program.machine.stretches

    @property
    def last(self) -> list[Stretch]:
        return self._program.last

    def invoke(self, name: str, *arguments: Any, visit: Visit | None = None) -> Any:
        with _fitting(self.name):
            return self._program.invoke(name, arguments, visit)


@dataclass(frozen=True)
class ProgramFile:
    """The parts of a file that holds a program, which are verified."""

    name: str
    """The name that errors show."""
    members: Mapping[str, memoryview]
    package: Package

    def programs(self) -> Sequence[tuple[memoryview, str]]:
        """Return the archives of the native programs, by their numbers, with their names."""
        names = takewhile(self.members.__contains__, (f"{number}.tar" for number in count()))
        return [(self.members[member], f"{self.name}: {member}") for member in names]

    def packages(self) -> Sequence[Package]:
        """Return the packages of the native programs, by their numbers; raises FrontendError for other bytes."""
        return [package_of(content, name) for content, name in self.programs()]


def program_file(path: str | PathLike[str]) -> ProgramFile | None:
    """Return a file that holds a program in which values decide; None for a model that is one native call.

    Raises FrontendError if it is damaged.
    """
    name = fspath(path)
    content = open_sealed(path)
    if bytes(content[:4]) == b"\x7fELF":
        return None
    try:
        members = members_of(content)
        return ProgramFile(name, members, Package.of(members[PROGRAM], name)) if PROGRAM in members else None
    except UNREADABLE as error:
        raise FrontendError(expectation(name, "a program as a .tar file", f"another kind ({error})")) from error


@door()
def load_program(path: str | PathLike[str], threads: int | None = None) -> LoadedProgram:
    """Load a program in which values decide, which `export_library` wrote to a .tar file.

    threads: the number of threads, as in `whence.compile`. The whole file is verified before any of it is used, then
    linked, without a compiler. Raises FrontendError when it is damaged or no such file, PipelineError when its code is
    for another machine.
    """
    if (file := program_file(path)) is None:
        actual = "one that is a single native call, which whence.runtime.load_module loads"
        raise FrontendError(expectation(fspath(path), "a program in which values decide", actual))
    return load_file(file, threads)


def load_file(file: ProgramFile, threads: int | None = None) -> LoadedProgram:
    """Load the program in a file that was read; arguments and errors as those of `load_program`."""
    try:
        about = file.package.about(ShippedProgram)
        steps = read(about.objects, file.package.params())
        random = RandomState(about.seed)
        runners = [_runner(*program, random) for program in file.programs()]
        steps.kept = tuple(_runnable(entry, runners) for entry in steps.kept)
        pool = ThreadPool(linked_pool(file.members[POOL_OBJECT]), threads)
        program = LoadedSteps(steps, pool) if isinstance(steps, ModelSteps) else LoadedLanguage(steps, pool)
    except UNREADABLE as error:
        raise FrontendError(expectation(file.name, "a program as a .tar file", f"another kind ({error})")) from error
    program.name, program.limited, program._random = file.name, about.limited, random  # pyright: ignore[reportPrivateUsage]
    return program


def _runner(content: memoryview, name: str, random: RandomState) -> Runner:
    """Return the native program of an archive, which draws from `random`."""
    package, model, linked = load_archive(content, name)
    runner = Runner(model.program, package.params(), linked.code)
    runner.share(random)
    return runner


def _runnable(entry: Kept, runners: Sequence[Runner]) -> Kept:
    """Return an entry whose stretch runs its native program."""
    if entry.program is None:
        return entry
    runner = runners[entry.program]
    fits = runner.takes if entry.pattern is not None else None
    return replace(entry, stretch=replace(entry.stretch, runner=runner, report=entry.program, fits=fits))


def _unknown_stretch(region: Region, at: int, values: Mapping[str, Value]) -> Stretch:
    """Raise FrontendError for values that the file has no code for."""
    given = [f"{_shown(value)} '{name}'" for name, value in values.items()]
    raise _without_code(region.steps[at].layer, given)


def _unknown_code(step: language.Native, arrays: Sequence[Array]) -> Stretch:
    """Raise FrontendError for arrays that the file has no code for."""
    given = [f"{_shown(array)} '{name}'" for name, array in zip(step.inputs, arrays, strict=True)]
    raise _without_code(step.layer, given)


def _without_code(layer: str, given: Sequence[str]) -> FrontendError:
    expected = "values that the file has code for: it was exported after calls without such"
    return FrontendError(expectation("run", expected, ", ".join(given) or "none", f"layer '{layer}'"))


def _shown(value: Any) -> str:
    array = getattr(value, "array", value)
    return described(array.shape, array.dtype) if hasattr(array, "dtype") else f"a {type(value).__name__}"
