"""The knobs of a template, by AutoTVM's names: what they may be, and one choice of all of them.

A `ConfigSpace` is the compiler's `Space` of knobs with a meaning for each number: a tile, an order of loops, a mark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, cast

import numpy as np

from whence.autotvm.task.entities import (
    ENTITIES,
    AnnotateSpace,
    Entity,
    Filter,
    OtherOptionEntity,
    OtherOptionSpace,
    ReorderSpace,
    SplitEntity,
    SplitSpace,
    TransformSpace,
    VirtualAxis,
)
from whence.lowering.relay_to_te.knobs import Decisions, Knob, Names, Space
from whence.support.errors import ScheduleError, expectation
from whence.tuning.record import BadLine


class InstantiationError(ScheduleError, ValueError):
    """A template refuses a configuration (`cfg.raise_error`)."""


class Config:
    """The object that a template asks for its knobs: it defines them, and reads their values by `cfg[name]`."""

    is_fallback = False
    axis = VirtualAxis
    reduce_axis = VirtualAxis

    def __init__(self) -> None:
        self.space_map: dict[str, TransformSpace] = {}
        self.errors: list[str] = []
        self.flop: float | None = None
        self.code_hash: str | None = None
        self._entity_map: dict[str, Entity] = {}

    def define_split(self, name: str, axis: Any, policy: str = "factors", **options: Any) -> list[VirtualAxis]:
        """Define how an axis is split; options as in `SplitSpace`. Returns the axes that it makes.

        Raises ScheduleError for an unknown policy, and where no way to split is left.
        """
        return self._define(name, lambda: SplitSpace(VirtualAxis(axis), policy, **options))

    def define_reorder(self, name: str, axes: Sequence[Any], policy: str, **options: Any) -> list[VirtualAxis]:
        """Define the orders of loops; options as in `ReorderSpace`, errors as `define_split`."""
        return self._define(name, lambda: ReorderSpace(_axes(axes), policy, **options))

    def define_annotate(self, name: str, axes: Sequence[Any], policy: str, **options: Any) -> list[VirtualAxis]:
        """Define the marks of loops; options as in `AnnotateSpace`, errors as `define_split`."""
        return self._define(name, lambda: AnnotateSpace(_axes(axes), policy, **options))

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """Define a choice among values, `cfg[name].val`. Raises ScheduleError where there is none."""
        self._define(name, lambda: OtherOptionSpace(candidate))

    def add_flop(self, flop: float) -> None:
        """Add to the floating-point operations of the template, which are counted where it says none."""
        self.flop = (self.flop or 0) + float(flop)

    def raise_error(self, msg: str) -> None:
        """Refuse this configuration."""
        self.errors.append(msg)

    def valid(self) -> bool:
        """Return whether the template did not refuse this configuration."""
        return not self.errors

    def __getitem__(self, name: str) -> Any:
        """Return the value of a knob. Raises ScheduleError for an unknown one."""
        if name not in self._entity_map:
            names = ", ".join(self._entity_map) or "none"
            raise ScheduleError(expectation("autotvm configuration", f"a knob among {names}", repr(name)))
        return self._entity_map[name]

    def _define(self, name: str, make: Callable[[], TransformSpace]) -> list[VirtualAxis]:
        """Take in a knob."""
        space = self.space_map[name] = make()
        if not len(space):
            raise ScheduleError(expectation(f"knob '{name}'", "at least one value", "none"))
        self._entity_map[name] = space[0]
        return [VirtualAxis(-1, f"{name}.{number}") for number in range(space.num_output)]


class ConfigSpace(Config):
    """All configurations of a template. Number i has the digits of its knobs' positions, the first knob's lowest."""

    def __init__(self) -> None:
        super().__init__()
        self._filter: Filter | None = None
        self._rng = np.random.default_rng(0)
        self._passed: dict[int, bool] = {}

    def _define(self, name: str, make: Callable[[], TransformSpace]) -> list[VirtualAxis]:
        self._passed.clear()
        vars(self).pop("space", None)
        return super()._define(name, make)

    def multi_filter(self, filter: Filter) -> None:
        """Keep the configurations for which a function of `cfg[name]` is true."""
        self._filter = filter
        self._passed.clear()
        vars(self).pop("space", None)

    @property
    def dims(self) -> list[int]:
        """The number of values of each knob."""
        return [len(space) for space in self.space_map.values()]

    @property
    def range_length(self) -> int:
        """The number of configurations, those that the filter drops included."""
        return prod(self.dims)

    def __len__(self) -> int:
        return self.range_length if self._filter is None else self.subrange_length(0, self.range_length)

    def point2knob(self, point: int) -> list[int]:
        """The position of each knob's value in configuration number `point`."""
        knob: list[int] = []
        for dim in self.dims:
            point, digit = divmod(point, dim)
            knob.append(digit)
        return knob

    def knob2point(self, knob: Sequence[int]) -> int:
        """The number of a configuration, of the position of each knob's value."""
        point = 0
        for digit, dim in zip(reversed(knob), reversed(self.dims), strict=True):
            point = point * dim + digit
        return point

    def is_index_valid(self, index: int) -> bool:
        """Return whether there is a configuration of a number, and the filter keeps it."""
        if not 0 <= index < self.range_length:
            return False
        if self._filter is None:
            return True
        if index not in self._passed:
            self._passed[index] = bool(self._filter(self._entities(index)))
        return self._passed[index]

    def subrange_length(self, start: int, end: int) -> int:
        """The number of configurations from `start` to before `end`. Raises ScheduleError beside the space."""
        if not 0 <= start <= end <= self.range_length:
            raise ScheduleError(
                expectation("configurations", f"a range within 0 to {self.range_length}", f"{start} to {end}")
            )
        return end - start if self._filter is None else sum(map(self.is_index_valid, range(start, end)))

    def get(self, index: int) -> ConfigEntity:
        """The configuration of a number. Raises ScheduleError where there is none."""
        if not self.is_index_valid(index):
            raise ScheduleError(expectation("configuration", f"a valid one of {self.range_length}", str(index)))
        return ConfigEntity(index, self.code_hash, self._entities(index), self)

    def get_rand_index(
        self, start: int | None = None, end: int | None = None, to_exclude: Collection[int] = ()
    ) -> int | None:
        """A random number of a configuration from `start` to before `end`; None where all are excluded."""
        low, high = start or 0, self.range_length if end is None else end
        for _ in range(64):
            index = int(self._rng.integers(low, high))
            if index not in to_exclude and self.is_index_valid(index):
                return index
        left = [index for index in range(low, high) if index not in to_exclude and self.is_index_valid(index)]
        return int(self._rng.choice(left)) if left else None

    def get_next_index(self, index: int, n: int = 1, start: int | None = None, end: int | None = None) -> int | None:
        """The n-th valid number after `index`, before it for a negative n; None where that leaves the range."""
        low, high = start or 0, self.range_length if end is None else end
        step, left = (1 if n > 0 else -1), abs(n)
        while left:
            index += step
            if not low <= index < high:
                return None
            left -= self.is_index_valid(index)
        return index

    def sample_ints(self, m: int) -> list[int]:
        """Up to `m` different valid numbers, at random."""
        chosen: set[int] = set()
        while len(chosen) < m and (index := self.get_rand_index(to_exclude=chosen)) is not None:
            chosen.add(index)
        return list(chosen)

    def random_walk(self, point: int) -> int:
        """A valid number that differs from another in the value of one knob; of any knobs where there is none."""
        digits, dims = self.point2knob(point), self.dims
        near = [
            self.knob2point([*digits[:at], digit, *digits[at + 1 :]])
            for at, dim in enumerate(dims)
            for digit in range(dim)
            if digit != digits[at]
        ]
        valid = [index for index in near if self.is_index_valid(index)]
        if valid:
            return int(self._rng.choice(valid))
        other = self.get_rand_index(to_exclude={point})
        return point if other is None else other

    @cached_property
    def space(self) -> Space:
        """The knobs as the compiler's, whose default is the first valid configuration."""
        first = self._entities(next(filter(self.is_index_valid, range(self.range_length)), 0))
        knobs: list[Knob] = []
        for name, space in self.space_map.items():
            numbers = space.numbers
            default = numbers[space.entities.index(first[name])]
            legal = self._allows if self._filter is not None and len(knobs) == len(self.space_map) - 1 else None
            names = Names({each: each for each in (*(knob.name for knob in knobs), name)})
            knobs.append(Knob(name, tuple(sorted(numbers)), default, legal, names))
        return Space(tuple(knobs))

    def index_of(self, decisions: Decisions) -> int:
        """The number of the configuration that some decisions about the compiler's knobs make."""
        chosen = {knob.name: knob.default for knob in self.space.knobs} | dict(decisions)
        return self.knob2point([space.numbers.index(chosen[name]) for name, space in self.space_map.items()])

    def index_of_entity(self, config: ConfigEntity) -> int | None:
        """The number of a configuration from elsewhere; None where this space has no such."""
        digits: list[int] = []
        for name, space in self.space_map.items():
            entity = config.entity_map.get(name)
            if entity not in space.entities:
                return None
            digits.append(space.entities.index(entity))
        index = self.knob2point(digits)
        return index if len(digits) == len(config.entity_map) and self.is_index_valid(index) else None

    def _entities(self, index: int) -> dict[str, Entity]:
        """The value of each knob."""
        values = zip(self.space_map.items(), self.point2knob(index), strict=True)
        return {name: space[digit] for (name, space), digit in values}

    def _allows(self, at: Mapping[str, Any]) -> Any:
        """Return whether the filter keeps numbers of knobs, or arrays of them."""
        columns = [[space.numbers.index(int(number)) for number in np.ravel(at[name])] for name, space in self._items]
        kept = [self.is_index_valid(self.knob2point(digits)) for digits in zip(*columns, strict=True)]
        return np.reshape(kept, np.shape(at[self._items[0][0]]))

    @property
    def _items(self) -> list[tuple[str, TransformSpace]]:
        return list(self.space_map.items())

    def __iter__(self) -> Iterator[ConfigEntity]:
        return (self.get(index) for index in range(self.range_length) if self.is_index_valid(index))

    def __repr__(self) -> str:
        knobs = (f"{number:2} {name}: {space} len={len(space)}" for number, (name, space) in enumerate(self._items))
        return "\n".join([f"ConfigSpace (len={len(self)}, range_length={self.range_length}, space_map=", *knobs, ")"])


class ConfigEntity(Config):
    """One configuration: a value for each knob."""

    def __init__(
        self,
        index: int,
        code_hash: str | None,
        entity_map: Mapping[str, Entity],
        space: ConfigSpace | None = None,
    ):
        super().__init__()
        self.index = index
        self.code_hash = code_hash
        self._entity_map = dict(entity_map)
        self._space = space
        if space is not None:
            self.space_map = space.space_map

    @property
    def entity_map(self) -> Mapping[str, Entity]:
        """The value of each knob."""
        return self._entity_map

    @property
    def entity(self) -> list[list[Any]]:
        """Knob, kind and value, as a line of a log has them."""
        return [[name, entity.kind, entity.data] for name, entity in self._entity_map.items()]

    def _define(self, name: str, make: Callable[[], TransformSpace]) -> list[VirtualAxis]:
        """Take in what a knob may be, which changes nothing."""
        if self._space is None or name not in self.space_map:
            self.space_map = {**self.space_map, name: make()}
        space = self.space_map[name]
        return [VirtualAxis(-1, f"{name}.{number}") for number in range(space.num_output)]

    def to_json_dict(self) -> dict[str, Any]:
        """The configuration as a line of a log has it."""
        return {"index": self.index, "code_hash": self.code_hash, "entity": self.entity}

    @staticmethod
    def from_json_dict(json_dict: Mapping[str, Any]) -> ConfigEntity:
        """The configuration of a line. Raises BadLine for an unknown kind of knob, LookupError and others for none."""
        entities: dict[str, Entity] = {}
        for name, kind, data in json_dict["entity"]:
            if kind not in ENTITIES:
                raise BadLine("of another version")
            entities[str(name)] = ENTITIES[kind](data)
        return ConfigEntity(json_dict["index"], json_dict["code_hash"], entities)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfigEntity) and self._entity_map == other._entity_map

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        values = [(name, *row) for name, *row in self.entity]
        return f"{cast(object, values)},{self.code_hash},{self.index}"


class FallbackConfigEntity(ConfigEntity):
    """The configuration where no log has one: the first value of each knob, unless the template sets others."""

    is_fallback = True

    def __init__(self) -> None:
        super().__init__(-1, None, {})

    def _define(self, name: str, make: Callable[[], TransformSpace]) -> list[VirtualAxis]:
        axes = super()._define(name, make)
        self._entity_map.setdefault(name, self.space_map[name][0])
        return axes

    def __setitem__(self, name: str, entity: Entity) -> None:
        self._entity_map[name] = entity

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """Set a split: from the innermost loop on, the largest extent up to a constraint that divides what is left.

        constraints: the largest extent of each loop, outermost first; -1 for any. Raises ScheduleError for others.
        """
        space = self.space_map.get(name)
        if not isinstance(space, SplitSpace):
            raise InstantiationError(expectation("fallback_split", "a knob of define_split", repr(name)))
        left, size = space.length, list[int]()
        for constraint in reversed(constraints):
            if constraint == 0 or constraint < -1:
                raise FallbackError(expectation("fallback_split", "constraints of at least 1, or -1", str(constraint)))
            most = left if constraint == -1 else min(constraint, left)
            extent = next(factor for factor in range(most, 0, -1) if left % factor == 0)
            size.insert(0, extent)
            left //= extent
        self._entity_map[name] = SplitEntity(size)


class FallbackError(ScheduleError, RuntimeError):
    """A split for want of a log that cannot be."""


def _axes(axes: Sequence[Any]) -> list[VirtualAxis]:
    """Virtual axes stay the same objects, by which candidates name them."""
    return [axis if isinstance(axis, VirtualAxis) else VirtualAxis(axis) for axis in axes]


__all__ = ["AnnotateSpace", "ConfigEntity", "ConfigSpace", "FallbackConfigEntity", "OtherOptionEntity", "SplitEntity"]
