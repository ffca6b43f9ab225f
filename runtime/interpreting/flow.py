"""Programs in which values decide some steps, as plain data: regions of steps, and values by name."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Protocol, TypeAlias

import numpy as np

from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..program.program import Call
from ..program.threads import ThreadPool
from ..values.tensors import Tensor


@dataclass(frozen=True, eq=False)
class Known:
    """An array that follows from shapes and constants alone, so that code may be specialised for its value."""

    array: Array


Value: TypeAlias = "Array | Known | list[Value] | dict[Any, Any] | tuple[Value, ...] | Adt | Reference | Closure | None"
"""A tensor, a sequence of values, a map, an optional without a value; a tuple, and the language's other values."""


class Adt:
    """A value of an algebraic data type: a constructor with its fields, under TVM's names."""

    __slots__ = ("fields", "name", "tag")

    def __init__(self, tag: int, name: str, fields: Sequence[Any] = ()):
        self.tag = tag
        """The position of the constructor among those of its type."""
        self.name = name
        """The name of the constructor."""
        self.fields = tuple(fields)

    @property
    def constructor(self) -> Adt:
        """The value itself, which has the constructor's `name_hint` and `tag`."""
        return self

    @property
    def name_hint(self) -> str:
        return self.name

    def __getitem__(self, index: int) -> Any:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __repr__(self) -> str:
        # Fields may nest deeply.
        return f"{self.name}({', '.join(f'{f.name}(..)' if isinstance(f, Adt) else repr(f) for f in self.fields)})"


class Reference:
    """A cell whose value changes."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class Closure:
    """A region, and the values that it captured where it was created."""

    __slots__ = ("captured", "name", "region")

    def __init__(self, name: str, region: Region, captured: dict[str, Value]):
        self.name = name
        self.region = region
        self.captured = captured


CARRIED = {"Loop": (2, 2, 1), "Scan": (0, 0, 0), "While": (0, 0, 0)}
"""The positions of the first carried value: in the inputs of the step, in the inputs and the outputs of its body."""


@dataclass(eq=False)
class Step:
    """A step of a region."""

    inputs: tuple[str, ...]
    """Names of values; "" for one that is omitted."""
    outputs: tuple[str, ...]
    layer: str
    """The name that errors show."""
    kind: str = ""
    """`If`, `Loop`, `Scan`, `While`, or `Host` for a step that Python does; empty for one that is compiled."""
    bodies: Mapping[str, Region] = field(default_factory=lambda: dict[str, "Region"]())
    attributes: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    source: object = None
    """The node of the frontend that this step is for."""
    demanded: set[str] = field(default_factory=lambda: set[str]())
    """Values for which a stretch from here is specialised."""
    tail: bool = False
    """True if its region returns exactly the results of the region that runs for it, and so need not wait for it."""
    renames: bool = False
    """True if its output is its input under another name."""

    def reads(self) -> set[str]:
        """Return the names of values that it, or a body of it, reads from its surroundings."""
        return {name for name in self.inputs if name}.union(*(body.free() for body in self.bodies.values()))

    @cached_property
    def unchanged(self) -> frozenset[int]:
        """The positions of carried values that no iteration changes."""
        body, (_, entering, leaving) = self.bodies["body"], CARRIED[self.kind]
        pairs = zip(body.inputs[entering:], body.outputs[leaving:], strict=False)
        same = (body.origin(after) == before for before, after in islice(pairs, self.carried))
        return frozenset(at for at, unchanged in enumerate(same) if unchanged)

    @property
    def carried(self) -> int:
        """The number of values that a loop carries from iteration to iteration."""
        return len(self.inputs) - CARRIED[self.kind][0] - int(self.attributes.get("num_scan_inputs", 0))


@dataclass(eq=False)
class Region:
    """A list of steps: the whole program, or a body of a step, which also sees the values around that step."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: list[Step]
    constants: Mapping[str, Array]
    """Values known before anything runs, by name; each is decoded on access."""
    parent: Region | None = None
    compiled: frozenset[str] | set[str] = frozenset()
    """The names of constants of which only compiled code has the values."""

    def __post_init__(self) -> None:
        self._reads: dict[int, tuple[str, ...]] = {}
        self._dying: list[list[str]] | None = None
        self._taken: dict[int, tuple[str, ...]] = {}
        self._dead: dict[tuple[int, int], Sequence[str]] = {}

    def splice(self, at: int, steps: Sequence[Step]) -> None:
        """Replace the step at `at` by `steps`."""
        self.steps[at : at + 1] = steps
        self._reads.clear()
        self._taken.clear()
        self._dead.clear()
        self._dying = None

    def free(self) -> set[str]:
        """Return the names of the values that it reads from around it."""
        return set(self.reads(0)) - set(self.inputs)

    def reads(self, at: int) -> tuple[str, ...]:
        """Return the names of earlier values that steps from `at` on, and the outputs, read."""
        if at not in self._reads:
            self._reads[at] = self._read(self.steps[at:], self.outputs)
        return self._reads[at]

    def taken(self, at: int, never: Container[str]) -> tuple[str, ...]:
        """Return the names of earlier values that steps read from `at` on, up to the first of a kind in `never`."""
        if at not in self._taken:
            end = next((k for k in range(at, len(self.steps)) if self.steps[k].kind in never), len(self.steps))
            self._taken[at] = self._read(self.steps[at:end], ())
        return self._taken[at]

    def _read(self, steps: Sequence[Step], outputs: Sequence[str]) -> tuple[str, ...]:
        """Return the names of earlier values that steps, and then outputs, read."""
        produced: set[str] = set()
        names: dict[str, None] = {}
        for step in steps:
            names |= dict.fromkeys(name for name in sorted(step.reads()) if name not in produced)
            produced.update(step.outputs)
        names |= dict.fromkeys(name for name in outputs if name not in produced)
        return tuple(name for name in names if name not in self.constants and name not in self.compiled)

    def needed_after(self, at: int) -> set[str]:
        """Return the names of values that steps from `at` on, or the outputs, read, constants among the outputs."""
        return set(self.reads(at)) | set(self.outputs)

    def origin(self, name: str) -> str:
        """Return the name of the value that steps only pass on under `name`."""
        producers = {output: step for step in self.steps for output in step.outputs}
        while (step := producers.get(name)) is not None:
            at = step.outputs.index(name)
            if step.renames:
                name = step.inputs[0]
            elif step.kind in CARRIED and at in step.unchanged:
                name = step.inputs[CARRIED[step.kind][0] + at]
            else:
                break
        return name

    def dead(self, begin: int, end: int) -> Sequence[str]:
        """Return the names of values whose last reader is among the steps from `begin` to before `end`."""
        if self._dying is None:
            last = {name: index for index, step in enumerate(self.steps) for name in step.reads()}
            self._dying = [[] for _ in self.steps]
            for name in last.keys() - set(self.outputs):
                self._dying[last[name]].append(name)
        if (begin, end) not in self._dead:
            self._dead[begin, end] = tuple(name for names in self._dying[begin:end] for name in names)
        return self._dead[begin, end]

    def constant(self, name: str) -> Array | None:
        """Return a constant by name, of this region or one around it."""
        region: Region | None = self
        while region is not None:
            if name in region.constants:
                return region.constants[name]
            region = region.parent
        return None


class Environment:
    """The values of a running region, with those of the region around it behind them."""

    __slots__ = ("around", "region", "values")

    def __init__(self, region: Region, values: dict[str, Value], around: Environment | None = None):
        self.region = region
        self.values = values
        """The values by name; steps add theirs as they run."""
        self.around = around

    def find(self, name: str) -> Value | type[Missing]:
        """Return a value by name; `Missing` for constants and for unknown names."""
        scope: Environment | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.around
        return Missing

    def among(self, names: Iterable[str]) -> dict[str, Value]:
        """Return the values with these names that are no constants."""
        near = self.values
        values: dict[str, Value] = {}
        for name in names:
            if name in near:
                values[name] = near[name]
            elif not isinstance(value := self.find(name), type):
                values[name] = value
        return values

    def __getitem__(self, name: str) -> Value:
        if name in self.values:
            return self.values[name]
        value = self.find(name)
        if isinstance(value, type):
            constant = self.region.constant(name)
            if constant is None:
                raise FrontendError(f"expected a value named '{name}', got none")
            return Known(constant)
        return value

    def array(self, name: str) -> Array:
        """Return a tensor by name."""
        return tensor(self[name], name)


class Missing:
    """The result of a search that found no value."""


def tensor(value: Value, name: str) -> Array:
    """Return the array of a value; raises FrontendError for a sequence or None."""
    if isinstance(value, Known):
        return value.array
    if not isinstance(value, np.ndarray):
        raise FrontendError(f"'{name}': expected a tensor, got {'nothing' if value is None else 'a sequence'}")
    return value


def computed(value: Value) -> Value:
    """Return a value with nothing `Known`, so that code is not specialised for it, and without the program's arrays."""
    if isinstance(value, list):
        return [computed(item) for item in value]
    return value.array.copy() if isinstance(value, Known) else value


def released(values: Sequence[Value], inputs: Iterable[Value]) -> list[Any]:
    """Return the results of a call as the caller's own: none shares memory with an input, a constant or another."""
    arrays: dict[int, list[Array]] = {}

    def fresh(array: Array) -> Array:
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        neighbours = arrays.setdefault(id(root if root.base is None else root.base), [])
        if any(np.may_share_memory(array, other) for other in neighbours):
            return array.copy()
        neighbours.append(array)
        return array

    def own(value: Value) -> Any:
        if isinstance(value, list):
            return [own(item) for item in value]
        if isinstance(value, Known):
            return value.array.copy()
        return fresh(value) if isinstance(value, np.ndarray) else value

    for value in inputs:
        own(value)
    return [own(value) for value in values]


# The results of a stretch.


@dataclass(frozen=True)
class Argument:
    """An argument: the value with a name, or the item of it that `path` leads to, index by index."""

    name: str
    path: tuple[int, ...] = ()
    element: int | None = None
    """The row-major position of a size in a known vector; the argument is then an empty array with that extent."""


@dataclass(frozen=True)
class Output:
    """Output `at` of the native program, cut along `axis` to the number of elements that output `count` holds."""

    at: int
    count: int | None = None
    axis: int = 0
    known: tuple[int, ...] = ()
    """The positions of the elements that sizes alone decide."""


@dataclass(frozen=True)
class Items:
    """A sequence."""

    items: tuple[Source, ...]


Source: TypeAlias = "Argument | Output | Items | Known | None"


class Native(Protocol):
    """A native program."""

    def launch(self, arrays: Sequence[Array], pool: ThreadPool, handle: int) -> list[Tensor]:
        """Return the outputs for inputs in order; `handle` is the pool's."""
        ...

    def walk(
        self, inputs: Sequence[Array], pool: ThreadPool, visit: Callable[[Call, float, list[Tensor]], None], /
    ) -> list[Tensor]:
        """Return the same, run kernel by kernel: `visit` gets each call, its seconds, and its outputs."""
        ...


class Run:
    """One call of a program.

    visited: the stretches whose native code ran, in the order of their first runs.
    visit: called after each kernel with its stretch, the call and its seconds, which makes kernels run one by one.
    """

    __slots__ = ("handle", "pool", "visit", "visited")

    def __init__(self, pool: ThreadPool, visit: Callable[[Stretch, Call, float], None] | None = None):
        self.visit = visit
        self.pool = pool
        self.handle = pool.handle
        self.visited: dict[Stretch, None] = {}


@dataclass(frozen=True, eq=False)
class Stretch:
    """Steps compiled for some shapes."""

    next: Step | None
    """The step to continue with; None at the end of the region."""
    arguments: tuple[Argument, ...]
    results: Mapping[str, Source]
    runner: Native | None
    """None when nothing is left to compute."""
    report: object = None
    """The compiler's report about it."""
    fits: Callable[[Sequence[Array]], bool] | None = None
    """A test of the arguments' sizes for code for many sizes; None if the code is for all that it is kept for."""
    open: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: dict[str, tuple[int, ...]]())
    """For code for many sizes, the axes of each result whose extents differ between calls."""

    reason: str = ""
    """The reason why it is for fewer sizes than wanted, if it is."""

    def takes(self, values: Environment) -> bool:
        """Return whether it is for these values, which are of the kind that it is kept for."""
        return self.fits is None or self.fits([_argument(values, a) for a in self.arguments])

    def launch(self, arrays: Sequence[Array], run: Run) -> list[Tensor]:
        """Return the outputs of the native program for its inputs."""
        assert self.runner is not None
        run.visited[self] = None
        if (visit := run.visit) is None:
            return self.runner.launch(arrays, run.pool, run.handle)
        return self.runner.walk(arrays, run.pool, lambda call, seconds, _: visit(self, call, seconds))

    def run(self, values: Environment, run: Run) -> None:
        """Read the arguments from `values`, and put the results there."""
        outputs: list[Tensor] = []
        if self.runner is not None:
            outputs = self.launch([_argument(values, a) for a in self.arguments], run)
        results = {name: _value_of(source, values, outputs) for name, source in self.results.items()}
        values.values.update(results)


def _at(values: Environment, argument: Argument) -> Value:
    value = values[argument.name]
    for index in argument.path:
        assert isinstance(value, list)
        value = value[index]
    return value


def _argument(values: Environment, argument: Argument) -> Array:
    array = tensor(_at(values, argument), argument.name)
    if argument.element is None:
        return array
    return _with_extent(array.item(argument.element))


@lru_cache(1024)
def _with_extent(extent: int) -> Array:
    return np.empty((0, extent), np.int8)


def _value_of(source: Source, values: Environment, outputs: Sequence[Tensor]) -> Value:
    match source:
        case Argument():
            return _at(values, source)
        case Output(count=None):
            return Known(outputs[source.at]) if source.known else outputs[source.at]
        case Output(count=int(count)):
            size = int(outputs[count].reshape(()).item())
            return outputs[source.at][(*[slice(None)] * source.axis, slice(0, size))]
        case Items():
            return [_value_of(item, values, outputs) for item in source.items]
        case Known() | None:
            return source
        case _:
            raise AssertionError(source)
