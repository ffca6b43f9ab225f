"""The pattern in the shapes of several calls: extents that stay, that change, and that change together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from ...support.dtypes import Array
from .flow import Known, Step, Stretch, Value, tensor

TRIED = 6
"""The number of attempts to generalise a stretch, each for more sizes than the one before."""
_KINDS = 16
"""The number of kinds of values whose sizes are remembered, per stretch that may be kept."""
FEW = 1024
"""The number of elements up to which known arrays are compared by value; larger ones are compared by identity."""
_ELEMENTS = 16
"""The number of elements up to which a known vector of integers may hold sizes."""
_FAR: dict[np.dtype[np.generic], int] = {np.dtype(np.int64): 1 << 40, np.dtype(np.int32): 1 << 30}
"""The least number of a dtype that no size reaches; larger ones mean the end of a slice that has none."""


@dataclass(frozen=True)
class Pattern:
    """Extents of which some stay and some change; those that keep their distance are the same unknown plus a number."""

    terms: tuple[tuple[int, int], ...]
    """For each extent, the number of its unknown (-1 without one) and the number added to it."""

    @classmethod
    def of(cls, met: Sequence[Sequence[int]]) -> Pattern:
        """Return the pattern that all rows of `met` fit; each row has the extents of one call, in the same order."""
        columns = list(zip(*met, strict=True))
        changes = [tuple(extent - column[0] for extent in column) for column in columns]
        least: dict[tuple[int, ...], int] = {}
        for change, column in zip(changes, columns, strict=True):
            if any(change):
                least[change] = min(column[0], least.get(change, column[0]))
        numbers = {change: number for number, change in enumerate(least)}
        return cls(
            tuple(
                (numbers.get(change, -1), column[0] - least.get(change, 0))
                for change, column in zip(changes, columns, strict=True)
            )
        )

    @classmethod
    def named(cls, names: Sequence[str | None], extents: Sequence[int]) -> Pattern:
        """Return the pattern with one unknown for each name; extents without a name stay as in `extents`."""
        numbers = {
            name: number for number, name in enumerate(dict.fromkeys(name for name in names if name is not None))
        }
        terms = zip(names, extents, strict=True)
        return cls(tuple((-1, extent) if name is None else (numbers[name], 0) for name, extent in terms))

    def with_changes(self, met: Sequence[Sequence[int]]) -> Pattern:
        """Return this pattern with additional unknowns for extents that it fixes and that differ in `met`."""
        stays = [number < 0 for number, _ in self.terms]
        others = iter(Pattern.of([[e for e, stay in zip(row, stays, strict=True) if stay] for row in met]).terms)
        terms: list[tuple[int, int]] = []
        for term in self.terms:
            number, added = next(others) if term[0] < 0 else term
            terms.append((number + self.unknowns, added) if term[0] < 0 <= number else (number, added))
        return Pattern(tuple(terms))

    @property
    def unknowns(self) -> int:
        """The number of unknowns."""
        return 1 + max((number for number, _ in self.terms), default=-1)

    def fits(self, extents: Sequence[int]) -> bool:
        """Return whether extents fit the pattern, for some values of the unknowns."""
        unknowns: dict[int, int] = {-1: 0}
        return all(
            extent - added == unknowns.setdefault(number, extent - added) and extent >= added
            for extent, (number, added) in zip(extents, self.terms, strict=True)
        )


@dataclass(eq=False)
class _Family:
    """The facts about a stretch for values of one kind, which differ in their sizes only."""

    met: list[tuple[int, ...]]
    """The sizes that no program fitted when they came, in order."""
    patterns: dict[int, Pattern] = field(default_factory=dict[int, Pattern])
    """The patterns of the programs for many sizes, by number; a program may take fewer sizes than its pattern."""
    refused: Pattern | None = None
    """The last pattern that could not be compiled; a wider one may be possible."""


@dataclass(frozen=True, eq=False)
class Kept:
    """A stretch that is kept, and what it is kept for."""

    kind: Hashable
    key: tuple[int, ...] | int
    """The sizes that it is for; the number of its pattern, if it is for many."""
    stretch: Stretch
    pattern: Pattern | None = None
    step: Step | None = None
    """The step that it is code of, where steps keep theirs."""
    program: int | None = None
    """In a file, the number of its native program there."""


class Families:
    """The stretches that are kept, by the kinds and sizes of the values that they are for.

    limit: the number of stretches to keep; the least recently used go first.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self._families: OrderedDict[Hashable, _Family] = OrderedDict()
        self._stretches: OrderedDict[tuple[Hashable, tuple[int, ...] | int], Stretch] = OrderedDict()
        """The stretches by kind and sizes; those for many sizes by the number of their pattern."""
        self._taken: OrderedDict[tuple[Hashable, tuple[int, ...]], int] = OrderedDict()
        """The numbers of the patterns that recent sizes fitted."""

    @property
    def stretches(self) -> list[Stretch]:
        """The kept stretches, the least recently used first."""
        return list(self._stretches.values())

    @property
    def entries(self) -> list[Kept]:
        """The kept stretches with what they are for, the least recently used first."""
        entries: list[Kept] = []
        for (kind, key), stretch in self._stretches.items():
            pattern = self._families[kind].patterns[key] if isinstance(key, int) else None
            entries.append(Kept(kind, key, stretch, pattern))
        return entries

    def restore(self, entries: Sequence[Kept]) -> None:
        """Keep stretches, too, that were kept elsewhere; the limit is raised where they are more."""
        for entry in entries:
            self._stretches[entry.kind, entry.key] = entry.stretch
            family = self._families.setdefault(entry.kind, _Family([]))
            if isinstance(entry.key, int) and entry.pattern is not None:
                family.patterns[entry.key] = entry.pattern
        self.limit = max(self.limit, len(self._stretches))

    def stretch(
        self,
        kind: Hashable,
        sizes: tuple[int, ...],
        declare: Callable[[], Sequence[Pattern]],
        specialise: Callable[[], Stretch],
        generalise: Callable[[Pattern, bool], Stretch | None],
        takes: Callable[[Stretch], bool],
    ) -> Stretch:
        """Return the stretch for values of a kind and sizes.

        declare: returns patterns to try first. specialise: compiles a stretch for these sizes only.
        generalise: compiles one for a pattern, if it can; its second argument says whether `declare` returned that.
        takes: tells whether a stretch for many sizes is for these, too.
        """
        if (kept := self.kept(kind, sizes)) is not None:
            return kept
        family = self._families.get(kind)
        if family is None:
            family = self._families[kind] = _Family([])
            if len(self._families) > _KINDS * self.limit:
                self._families.popitem(last=False)
        else:
            self._families.move_to_end(kind)
        for at, pattern in family.patterns.items():
            if pattern.fits(sizes) and (kept := self._kept(kind, at)) is not None and takes(kept):
                self._taken[kind, sizes] = at
                if len(self._taken) > _KINDS * self.limit:
                    self._taken.popitem(last=False)
                return kept
        general = self._generalised(family, sizes, declare, generalise)
        if general is None or not takes(general[0]):
            stretch = self._stretches[kind, sizes] = specialise()
        else:
            number = next(number for number in count() if (kind, number) not in self._stretches)
            stretch, family.patterns[number] = general
            self._stretches[kind, number] = stretch
        while len(self._stretches) > self.limit:
            self._stretches.popitem(last=False)
        return stretch

    def kept(self, kind: Hashable, sizes: tuple[int, ...]) -> Stretch | None:
        """Return the kept stretch for values of a kind and sizes, if one was compiled or chosen for them."""
        return self._kept(kind, self._taken.get((kind, sizes), sizes))

    def _kept(self, kind: Hashable, key: tuple[int, ...] | int) -> Stretch | None:
        if (stretch := self._stretches.get((kind, key))) is not None:
            self._stretches.move_to_end((kind, key))
        return stretch

    def _generalised(
        self,
        family: _Family,
        sizes: tuple[int, ...],
        declare: Callable[[], Sequence[Pattern]],
        generalise: Callable[[Pattern, bool], Stretch | None],
    ) -> tuple[Stretch, Pattern] | None:
        """Return a stretch for a declared pattern, or for the pattern of all sizes that the family has met."""
        if len(family.met) > TRIED:
            return None
        family.met += [sizes] * (sizes not in family.met)
        declared = declare()
        wider = [pattern.with_changes(family.met) for pattern in declared]
        for pattern in dict.fromkeys([*wider, *declared, Pattern.of(family.met)]):
            if not pattern.unknowns or pattern == family.refused:
                continue
            if (general := generalise(pattern, pattern in declared)) is not None:
                return general, pattern
            if pattern not in (*wider, *declared):
                family.refused = pattern
        return None


def places_of_sizes(array: Array) -> tuple[int, ...]:
    """Return the positions, in row-major order, of the elements of a known array that may be sizes."""
    far = _FAR.get(array.dtype, 0)
    if not far or array.size > _ELEMENTS:
        return ()
    return tuple(at for at, number in enumerate(array.reshape(-1).tolist()) if 0 <= number < far)


@dataclass(eq=False)
class Same:
    """An array that is equal to itself only."""

    array: Array

    def __hash__(self) -> int:
        return id(self.array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.array is self.array


def kind_of(value: Value, sizes: list[int]) -> Hashable:
    """Return all of a value that a stretch is specialised for except its sizes, which are appended to `sizes`."""
    if value is None:
        return None
    if isinstance(value, list):
        return tuple([kind_of(item, sizes) for item in value])
    if not isinstance(value, Known):
        array = tensor(value, "")
        sizes += array.shape
        return array.dtype, array.ndim
    array = value.array
    if array.size > FEW:
        return Same(array)
    places = places_of_sizes(array)
    if not places:
        return array.dtype, array.shape, array.tobytes()
    numbers: list[int] = array.reshape(-1).tolist()
    sizes += [numbers[at] for at in places]
    return array.dtype, array.shape, places, tuple([n for at, n in enumerate(numbers) if at not in places])
