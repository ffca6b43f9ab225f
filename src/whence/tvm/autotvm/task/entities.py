"""The values of a template's knobs, by AutoTVM's names, and the values that a definition allows.

A value says how it is applied to a stage: `cfg["tile_y"].apply(s, C, y)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod
from typing import Any, ClassVar, Protocol, TypeAlias

from whence.support.errors import ScheduleError, expectation
from whence.te.schedule.itervar import IterVar
from whence.te.schedule.schedule import Schedule

Filter: TypeAlias = "Callable[[Any], object]"


class VirtualAxis:
    """An axis of a space: its length alone, as stages differ from schedule to schedule."""

    def __init__(self, var: Any, name: str | None = None):
        """var: an axis of a stage, a reduction axis, another virtual axis, or a length. Raises ScheduleError."""
        length = var.length if isinstance(var, VirtualAxis) else getattr(var, "extent", var)
        length = getattr(length, "value", length)
        if isinstance(length, bool) or not isinstance(length, int):
            raise ScheduleError(expectation("autotvm axis", "an axis of a known extent, or a number", repr(var)))
        self.length = length
        self.name = name or str(getattr(var, "name", "axis"))

    def __repr__(self) -> str:
        return f"vaxis({self.name})"


class Entity(Protocol):
    """A value of a knob."""

    kind: ClassVar[str]
    """The word for it in lines of logs."""

    @property
    def data(self) -> Any:
        """The value as JSON has it."""
        ...


@dataclass(frozen=True)
class SplitEntity:
    """Extents of the loops that an axis is split into, outermost first; -1: as many as it takes."""

    kind: ClassVar[str] = "sp"
    size: list[int]

    @property
    def data(self) -> list[int]:
        return list(self.size)

    def apply(self, sch: Schedule, op: Any, axis: IterVar) -> list[IterVar]:
        """Split an axis of a stage, and return the loops, outermost first. Raises the errors of `split`."""
        inner: list[IterVar] = []
        for factor in reversed(self.size[1:]):
            axis, loop = sch[op].split(axis, factor)
            inner.append(loop)
        return [axis, *reversed(inner)]

    def __str__(self) -> str:
        return str(self.size)


@dataclass(frozen=True)
class ReorderEntity:
    """The order of loops: the positions that they had before."""

    kind: ClassVar[str] = "re"
    perm: list[int]

    @property
    def data(self) -> list[int]:
        return list(self.perm)

    def apply(self, sch: Schedule, op: Any, axes: Sequence[IterVar]) -> list[IterVar]:
        """Put loops of a stage into this order, and return them in it. Raises the errors of `reorder`."""
        if len(axes) != len(self.perm):
            raise ScheduleError(expectation("autotvm reorder", f"{len(self.perm)} axes", str(len(axes))))
        order = [axes[position] for position in self.perm]
        sch[op].reorder(*order)
        return order

    def __str__(self) -> str:
        return str(self.perm)


@dataclass(frozen=True)
class AnnotateEntity:
    """The mark of each loop: `none`, `unroll` or `vec`."""

    kind: ClassVar[str] = "an"
    anns: list[str]

    @property
    def data(self) -> list[str]:
        return list(self.anns)

    def apply(
        self,
        sch: Schedule,
        op: Any,
        axes: Sequence[IterVar],
        axis_lens: Sequence[int] | None = None,
        max_unroll: int | None = None,
        vec_size: Sequence[int] | None = None,
        cfg: Any = None,
        source: Any = None,
    ) -> list[IterVar]:
        """Mark loops of a stage, and return them.

        axis_lens: their extents. A loop longer than `max_unroll` is not unrolled, and one whose extent is not among
        `vec_size` is not vectorized: the configuration `cfg` is invalid then. Raises the errors of the primitives.
        """
        if source is not None:
            raise ScheduleError(expectation("autotvm annotate", "no source, as caches are not located by knobs", "one"))
        if len(axes) != len(self.anns):
            raise ScheduleError(expectation("autotvm annotate", f"{len(self.anns)} axes", str(len(axes))))
        for position, (mark, axis) in enumerate(zip(self.anns, axes, strict=True)):
            length = axis_lens[position] if axis_lens is not None else None
            if mark == "unroll":
                if length is not None and max_unroll is not None and length > max_unroll and cfg is not None:
                    cfg.raise_error("Too large factor for unrolling")
                sch[op].unroll(axis)
            elif mark == "vec":
                if length is not None and vec_size is not None and length not in vec_size and cfg is not None:
                    cfg.raise_error("Wrong size of lanes in vectorization")
                sch[op].vectorize(axis)
            elif mark != "none":
                raise ScheduleError(expectation("autotvm annotate", "none, unroll or vec", repr(mark)))
        return list(axes)

    def __str__(self) -> str:
        return str(self.anns)


@dataclass(frozen=True)
class OtherOptionEntity:
    """One of several values of any kind that JSON has."""

    kind: ClassVar[str] = "ot"
    val: Any

    @property
    def data(self) -> Any:
        return self.val

    def __str__(self) -> str:
        return str(self.val)


ENTITIES: dict[str, Callable[[Any], Entity]] = {
    "sp": lambda data: SplitEntity([int(size) for size in data]),
    "re": lambda data: ReorderEntity([int(position) for position in data]),
    "an": lambda data: AnnotateEntity([str(mark) for mark in data]),
    "ot": OtherOptionEntity,
}
"""The kinds of lines -> what makes a value of the data there."""


class TransformSpace:
    """The values that a knob may have, in order."""

    def __init__(self, entities: Sequence[Entity], num_output: int = 0):
        self.entities = list(entities)
        self.num_output = num_output
        """The number of axes that it makes."""

    def __len__(self) -> int:
        return len(self.entities)

    def __getitem__(self, index: int) -> Entity:
        return self.entities[index]

    @property
    def numbers(self) -> list[int]:
        """A number for each value, by which the compiler's knobs know it: what it is, or else its position.

        A factor of a split in two and an option that is an int are what they are.
        """
        numbers: list[Any] = []
        for entity in self.entities:
            match entity:
                case SplitEntity(size=[-1, factor]):
                    numbers.append(factor)
                case OtherOptionEntity(val=int() as value):
                    numbers.append(int(value))
                case _:
                    return list(range(len(self)))
        return numbers if len(set(numbers)) == len(numbers) else list(range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__.removesuffix('Space')}({', '.join(map(str, self.entities[:8]))}, ..)"


class SplitSpace(TransformSpace):
    """The ways to split an axis.

    policy: `factors` of its extent, `power2`, both (`verbose`), or `candidate`, a list of sizes. num_outputs: loops.
    max_factor: the largest inner extent. no_tail: only what divides the extent. filter: keeps an entity if true.
    """

    def __init__(
        self,
        axis: VirtualAxis,
        policy: str = "factors",
        num_outputs: int = 2,
        filter: Filter | None = None,
        max_factor: int = 1 << 31,
        no_tail: bool = False,
        candidate: Sequence[Sequence[int]] = (),
    ):
        self.length = axis.length
        sizes = candidate if policy == "candidate" else _splits(axis.length, policy, num_outputs)
        kept: list[Entity] = []
        for size in sizes:
            inner = prod(size[1:])
            if max(size[1:], default=0) > max_factor or (no_tail and axis.length % inner):
                continue
            entity = SplitEntity(list(size))
            if filter is None or filter(entity):
                kept.append(entity)
        super().__init__(kept, num_outputs)


class ReorderSpace(TransformSpace):
    """The orders of loops.

    policy: `identity`; `all`; `interval_all`, those of the loops in `interval`, (begin, end); `candidate`, lists of
    axes; `interleave`, those that keep the order within each list of `spatial` and of `reduce`.
    """

    def __init__(
        self,
        axes: Sequence[VirtualAxis],
        policy: str,
        candidate: Sequence[Sequence[VirtualAxis]] = (),
        interval: tuple[int, int] | None = None,
        spatial: Sequence[Sequence[VirtualAxis]] = (),
        reduce: Sequence[Sequence[VirtualAxis]] = (),
    ):
        places = {id(axis): position for position, axis in enumerate(axes)}
        whole = list(range(len(axes)))
        match policy:
            case "identity":
                orders = [whole]
            case "all":
                orders = [list(order) for order in permutations(whole)]
            case "interval_all":
                begin, end = interval or (0, len(axes))
                orders = [[*whole[:begin], *middle, *whole[end:]] for middle in permutations(whole[begin:end])]
            case "candidate":
                orders = [[places[id(axis)] for axis in order] for order in candidate]
            case "interleave":
                chains = [[places[id(axis)] for axis in chain] for chain in (*spatial, *reduce)]
                orders = [list(order) for order in _merged(chains)]
            case _:
                policies = "identity, all, interval_all, candidate or interleave"
                raise ScheduleError(expectation("define_reorder", f"policy {policies}", repr(policy)))
        super().__init__([ReorderEntity(order) for order in orders], len(axes))


class AnnotateSpace(TransformSpace):
    """The marks of loops.

    policy: `unroll` or `vec` marks all; `try_unroll` as many of the innermost as it may be; `try_vec` the innermost, or
    none; `try_unroll_vec` both; `candidate`, lists of marks.
    """

    def __init__(self, axes: Sequence[VirtualAxis], policy: str, candidate: Sequence[Sequence[str]] = ()):
        count = len(axes)
        unrolled = [["none"] * (count - inner) + ["unroll"] * inner for inner in range(count + 1)]
        vectors = [[*marks[1:], "vec"] for marks in unrolled[:count]]
        match policy:
            case "unroll" | "vec":
                marks = [[policy] * count]
            case "try_unroll":
                marks = unrolled
            case "try_vec":
                marks = [unrolled[0], *vectors[:1]]
            case "try_unroll_vec":
                marks = [*unrolled, *vectors]
            case "candidate":
                marks = [list(each) for each in candidate]
            case _:
                policies = "unroll, vec, try_unroll, try_vec, try_unroll_vec or candidate, as there is no GPU"
                raise ScheduleError(expectation("define_annotate", f"policy {policies}", repr(policy)))
        super().__init__([AnnotateEntity(each) for each in marks], count)


class OtherOptionSpace(TransformSpace):
    """Any values."""

    def __init__(self, values: Sequence[Any]):
        super().__init__([value if hasattr(value, "val") else OtherOptionEntity(value) for value in values])


def get_factors(n: int) -> list[int]:
    """The divisors of a number, in increasing order."""
    low = [factor for factor in range(1, int(n**0.5) + 1) if n % factor == 0]
    return sorted({*low, *(n // factor for factor in low)})


def get_pow2s(n: int) -> list[int]:
    """The powers of two up to a number, in increasing order."""
    return [1 << exponent for exponent in range(n.bit_length())]


def _splits(length: int, policy: str, outputs: int) -> Iterator[list[int]]:
    """The sizes of a policy: inner extents whose product is at most the length."""
    match policy:
        case "factors":
            extents = get_factors(length)
        case "power2":
            extents = get_pow2s(length)
        case "verbose":
            extents = sorted({*get_factors(length), *get_pow2s(length)})
        case _:
            expected = "policy factors, power2, verbose or candidate"
            raise ScheduleError(expectation("define_split", expected, repr(policy)))

    def inner(left: int, most: int) -> Iterator[list[int]]:
        if not left:
            yield []
            return
        for extent in extents:
            if extent > most:
                return
            if policy != "factors" or most % extent == 0:
                yield from ([extent, *rest] for rest in inner(left - 1, most // extent))

    yield from ([-1, *sizes] for sizes in inner(outputs - 1, length))


def _merged(chains: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The orders of all members of some chains that keep the order in each."""
    if not any(chains):
        yield []
        return
    for number, chain in enumerate(chains):
        if chain:
            rest = [part[1:] if at == number else part for at, part in enumerate(chains)]
            yield from ([chain[0], *order] for order in _merged(rest))
