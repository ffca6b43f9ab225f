"""The sizes of a program: which values its code computes from the symbols, and how symbols are read off its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr

from ..dialects.sizes import Ranges, Size, SizeExpr, substitute, symbols_of
from ..dialects.sizes.terms import Atom
from ..provenance.diagnostics import message, places
from ..provenance.span import fuse
from ..runtime.program.sizes import Derived, Number, Sizes, Solution, Terms, Value
from ..support.errors import PipelineError

GROUP = "bytes"
"""The text of a value that is the end of a group."""


class Group(NamedTuple):
    """Bytes that are never used at once: they lie at `start`, one instead of the other, up to the greatest."""

    start: int
    """Number of the value at which they begin."""
    members: tuple[int, ...]
    """Numbers of the values that are their bytes."""


@dataclass(frozen=True)
class Formula:
    """A value: a size, or the end of a group rounded up."""

    what: Size | Group
    location: LocationAttr
    """The location of the op that needs it."""


class SizeValues:
    """The values so far: symbols first, then one for each size that is asked for."""

    def __init__(self, symbols: Sequence[str], ranges: Ranges):
        self.symbols = tuple(symbols)
        self.ranges = ranges
        self.formulas: list[Formula] = []
        self._asked: dict[str, int] = {name: number for number, name in enumerate(symbols)}
        self._askers: list[list[LocationAttr]] = []
        self._required: dict[int, LocationAttr] = {}

    def number(self, size: Size, location: LocationAttr) -> int:
        """The number of the value that is a size."""
        key = str(size)
        if key not in self._asked:
            self._asked[key] = self._add(size, location)
        at = self._asked[key] - len(self.symbols)
        if at >= 0:
            self._askers[at].append(location)
        return self._asked[key]

    def quantity(self, size: Size, location: LocationAttr) -> Number:
        """A size as the program has it: a number, or a value."""
        return size if isinstance(size, int) else Value(self.number(size, location))

    def require(self, size: Size, location: LocationAttr) -> None:
        """Have a size computed and, as all are, checked for what asked for that; the error names nothing else."""
        at = self.number(size, location) - len(self.symbols)
        if at >= 0:
            self._required[at] = location

    def end_of(self, group: Group, location: LocationAttr) -> int:
        """The number of the value at which a group ends."""
        return self._add(group, location)

    def _add(self, what: Size | Group, location: LocationAttr) -> int:
        self.formulas.append(Formula(what, location))
        self._askers.append([location])
        return len(self.symbols) + len(self.formulas) - 1

    def done(self, shapes: Sequence[Sequence[Size]], names: Sequence[str], arena: int) -> Sizes:
        """Return the sizes for the runtime; raises PipelineError for a symbol that no input's shape says.

        shapes, names: of the inputs.
        """
        derived = [
            Derived(_text(formula.what), places(self._required.get(at, formula.location)))
            for at, formula in enumerate(self.located())
        ]
        spans = [self.ranges.get(name, (0, None)) for name in self.symbols]
        ranges = tuple((low or 0, high) for low, high in spans)
        return Sizes(self.symbols, ranges, _solutions(self.symbols, shapes, names), tuple(derived), arena)

    def located(self) -> list[Formula]:
        """The formulas, each at all that asked for it."""
        return [
            Formula(formula.what, fuse(askers)) for formula, askers in zip(self.formulas, self._askers, strict=True)
        ]


def _text(what: Size | Group) -> str:
    return GROUP if isinstance(what, Group) else str(what)


def _solutions(symbols: Sequence[str], shapes: Sequence[Sequence[Size]], names: Sequence[str]) -> tuple[Solution, ...]:
    """Return how to read each symbol: from an extent that is linear in it, all others in it being read before."""
    solutions: dict[str, Solution] = {}
    while len(solutions) < len(symbols):
        before = len(solutions)
        for number, shape in enumerate(shapes):
            for axis, size in enumerate(shape):
                if (
                    isinstance(size, SizeExpr)
                    and (solved := _solved(size, number, axis, symbols, solutions)) is not None
                ):
                    solutions[symbols[solved.symbol]] = solved
        if len(solutions) == before:
            left = ", ".join(name for name in symbols if name not in solutions)
            shown = "; ".join(f"{n}: [{', '.join(map(str, shape))}]" for n, shape in zip(names, shapes, strict=True))
            raise PipelineError(message("sizes", f"inputs whose shapes tell {left}", shown))
    return tuple(solutions.values())


def _solved(
    size: SizeExpr, number: int, axis: int, symbols: Sequence[str], solutions: dict[str, Solution]
) -> Solution | None:
    """Return how to read the one unknown symbol of an extent off it; None where it cannot be."""
    left = [name for name in symbols_of(size) if name not in solutions]
    if len(left) != 1:
        return None
    (name,) = left
    scale = size.terms.get((Atom(name),), 0)
    rest = substitute(size, {name: 0})
    if scale == 0 or any(factors != (Atom(name),) and _holds(factors, name) for factors in size.terms):
        return None
    terms = _plain(rest, symbols)
    return None if terms is None else Solution(symbols.index(name), number, axis, scale, terms)


def _holds(factors: tuple[Atom, ...], name: str) -> bool:
    return any(name in symbols_of(SizeExpr({(atom,): 1})) for atom in factors)


def _plain(size: Size, symbols: Sequence[str]) -> Terms | None:
    """A polynomial of symbols; None where quotients are in it."""
    if isinstance(size, int):
        return ((size, ()),) if size else ()
    if any(atom.kind for factors in size.terms for atom in factors):
        return None
    return tuple((c, tuple(symbols.index(atom.text) for atom in factors)) for factors, c in size.terms.items())
