"""Sizes that only a call decides, `past + 1`, `2*batch*seq`: integers and expressions of named symbols.

A `Size` is a plain int wherever it is known; so static programs compute with ints only. A `SizeExpr` takes part in
integer arithmetic as an int does, and is normal: a polynomial with integer coefficients over atoms, which are symbols
and what `//`, `%`, `size_min` and `size_max` leave. Equal sizes have one form (as far as this arithmetic sees):
`(past + 1) * 4 - 4 == 4 * past`. A symbol is a size, so it is never negative; what else is known of symbols,
`known_ranges` says for a while. A comparison is decided for all values that symbols may take, or raises
`UndecidedSize`: nothing is guessed. `same` compares forms, and `proves` asks without raising.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import gcd
from typing import Any, SupportsIndex, TypeAlias

from ...provenance.undecided import UndecidedSize as UndecidedSize
from . import intervals
from .division import ENDLESS as ENDLESS
from .division import extreme, floordiv, joined, mod, substituted
from .intervals import Range
from .terms import Atom, Polynomial, atomic, common, constant, lone, names_in, number_of, plus, spell, times

Size: TypeAlias = "int | SizeExpr"
Ranges: TypeAlias = Mapping[str, Range]
"""Between which values symbols lie."""

Question: TypeAlias = "tuple[str | int, str, str | int]"
"""A comparison of two sizes, by their texts."""
Answers: TypeAlias = Mapping[Question, bool]

RESERVED = frozenset({"floordiv", "ceildiv", "mod", "min", "max"})
"""Words that no symbol is called."""


class _Known:
    """The facts about symbols, and the comparisons that they decided: the same ones are asked again and again."""

    __slots__ = ("answers", "assumed", "items", "ranges")

    def __init__(self, ranges: Ranges, assumed: Answers):
        self.ranges, self.items, self.assumed = ranges, tuple(sorted(ranges.items())), assumed
        self.answers: dict[Question, bool | None] = {**assumed}


_known: ContextVar[_Known] = ContextVar("known_ranges", default=_Known({}, {}))  # noqa: B039  # no part of it is written


class SizeExpr:
    """A size with symbols in it. Arithmetic with ints and others gives sizes, an int where the symbols cancel."""

    __slots__ = ("_text", "terms")
    __array_ufunc__ = None  # so numpy's integers leave arithmetic with sizes to sizes

    def __init__(self, terms: Polynomial):
        self.terms, self._text = terms, spell(terms)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Size({self._text})"

    def __hash__(self) -> int:
        return hash(self._text)

    def __index__(self) -> int:
        raise UndecidedSize(f"expected a number, got the size {self}")

    def __add__(self, other: SupportsIndex | SizeExpr) -> Size:
        return _size(plus(self.terms, _terms(other)))

    def __sub__(self, other: SupportsIndex | SizeExpr) -> Size:
        return _size(plus(self.terms, _terms(other), -1))

    def __rsub__(self, other: SupportsIndex) -> Size:
        return _size(plus(_terms(other), self.terms, -1))

    def __neg__(self) -> Size:
        return _size(plus({}, self.terms, -1))

    def __pos__(self) -> Size:
        return self

    def __mul__(self, other: SupportsIndex | SizeExpr) -> Size:
        return _size(times(self.terms, _terms(other)))

    def __floordiv__(self, other: SupportsIndex | SizeExpr) -> Size:
        return _size(floordiv(self.terms, _terms(other)))

    def __rfloordiv__(self, other: SupportsIndex) -> Size:
        return _size(floordiv(_terms(other), self.terms))

    def __mod__(self, other: SupportsIndex | SizeExpr) -> Size:
        return _size(mod(self.terms, _terms(other)))

    def __rmod__(self, other: SupportsIndex) -> Size:
        return _size(mod(_terms(other), self.terms))

    def __divmod__(self, other: SupportsIndex | SizeExpr) -> tuple[Size, Size]:
        return self // other, self % other

    def __rdivmod__(self, other: SupportsIndex) -> tuple[Size, Size]:
        return other // self, other % self

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SizeExpr | SupportsIndex):
            return NotImplemented
        return _decided(self, "==", other, str(self), str(other))

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, SizeExpr | SupportsIndex):
            return NotImplemented
        return not _decided(self, "==", other, str(self), str(other))

    def __le__(self, other: SupportsIndex | SizeExpr) -> bool:
        return _decided(self, "<=", other, str(self), str(other))

    def __ge__(self, other: SupportsIndex | SizeExpr) -> bool:
        return _decided(other, "<=", self, str(other), str(self))

    def __lt__(self, other: SupportsIndex | SizeExpr) -> bool:
        return not self >= other

    def __gt__(self, other: SupportsIndex | SizeExpr) -> bool:
        return not self <= other

    def __bool__(self) -> bool:
        return not _decided(self, "==", 0, str(self), "0")


_KEPT = 1 << 14
_results: dict[tuple[str, str, str | int], Size] = {}
"""The results of arithmetic, by its name and the texts of its operands: an expression has one text."""


def _arithmetic(name: str, operation: Callable[[SizeExpr, Any], Size]) -> Callable[[SizeExpr, Any], Any]:
    """An operation that gives a size; what is neither size nor whole number may know what to do with a size.

    It raises UndecidedSize of a float, such as the scale of an image, with which a number gives a number.
    """

    def operate(self: SizeExpr, other: Any) -> Any:
        kind = other.__class__
        if kind is not SizeExpr and kind is not int:
            _no_float(self, other)
            return operation(self, other) if hasattr(other, "__index__") else NotImplemented
        key = (name, str(self), str(other) if kind is SizeExpr else other)
        result = _results.get(key)
        if result is None:
            if len(_results) >= _KEPT:
                _results.clear()
            result = _results[key] = operation(self, other)
        return result

    return operate


def _no_float(size: SizeExpr, other: object) -> None:
    if isinstance(other, float):
        raise UndecidedSize(f"expected a number, got the size {size}")


def _comparison(operation: Callable[[SizeExpr, Any], bool]) -> Callable[[SizeExpr, Any], Any]:
    def operate(self: SizeExpr, other: Any) -> Any:
        _no_float(self, other)
        return operation(self, other) if hasattr(other, "__index__") else NotImplemented

    return operate


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "mod"):
    setattr(SizeExpr, f"__{_name}__", _arithmetic(_name, getattr(SizeExpr, f"__{_name}__")))
for _name in ("lt", "le", "gt", "ge"):
    setattr(SizeExpr, f"__{_name}__", _comparison(getattr(SizeExpr, f"__{_name}__")))


def _for_numbers(self: SizeExpr, other: object = None) -> Any:
    """Refuse what numbers can do and sizes cannot, such as `&`; raises UndecidedSize, as a number could do it."""
    raise UndecidedSize(f"expected a number, got the size {self}")


for _name in ("and", "or", "xor", "lshift", "rshift", "pow", "truediv"):
    setattr(SizeExpr, f"__{_name}__", _for_numbers)
    setattr(SizeExpr, f"__r{_name}__", _for_numbers)
for _name in ("abs", "invert"):
    setattr(SizeExpr, f"__{_name}__", _for_numbers)


def symbol(name: str) -> SizeExpr:
    """The size called `name`, an identifier.

    Raises ValueError for another text, or a word of the language of sizes.
    """
    if not name.isidentifier() or name in RESERVED:
        raise ValueError(f"expected an identifier for a size, got {name!r}")
    return SizeExpr(atomic(Atom(name)))


def ceil_div(size: Size, divisor: Size) -> Size:
    """`size / divisor` rounded up, for a divisor above 0."""
    return (size + divisor - 1) // divisor


def size_min(first: Size, *rest: Size) -> Size:
    return _size(extreme("min", [_terms(size) for size in (first, *rest)]))


def size_max(first: Size, *rest: Size) -> Size:
    return _size(extreme("max", [_terms(size) for size in (first, *rest)]))


def common_divisor(a: Size, b: Size) -> Size:
    """A size that divides both: one of them if it divides the other, else the number and the symbols that all terms of
    both have in common."""
    for divisor, other in ((a, b), (b, a)):
        if not same(divisor, 0) and same((other // divisor) * divisor, other):
            return divisor
    terms = [_terms(a), _terms(b)]
    factors = common([factors for polynomial in terms for factors in polynomial])
    return _size({factors: gcd(*(c for polynomial in terms for c in polynomial.values()))})


def span(first: Size, stop: Size) -> Size:
    """`stop - first`, which from a maximum on is a minimum: from `max(n - 1, 0)` to `n` it is `min(1, n)`."""
    bound = lone(_terms(first))
    if bound is None or bound.kind != "max":
        return stop - first
    return size_min(*(stop - _size(arg) for arg in bound.args))


def product(sizes: Iterable[Size]) -> Size:
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def same(a: Size, b: Size) -> bool:
    """Return whether two sizes have one normal form."""
    if a.__class__ is int and b.__class__ is int:
        return a == b
    if isinstance(a, SizeExpr) and isinstance(b, SizeExpr):
        return str(a) == str(b)
    return not isinstance(a, SizeExpr) and not isinstance(b, SizeExpr) and a == b


def same_shape(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Return whether two shapes have the same sizes."""
    return len(a) == len(b) and all(map(same, a, b))


def broadcast_sizes(left: Sequence[Size], right: Sequence[Size]) -> tuple[Size, ...] | None:
    """The shape that two broadcast to as numpy's do; None where they do not.

    Raises UndecidedSize where sizes of the call decide that.
    """
    rank = max(len(left), len(right))
    padded = ((1,) * (rank - len(shape)) + tuple(shape) for shape in (left, right))
    shape: list[Size] = []
    for a, b in zip(*padded, strict=True):
        if stretches(a, b):
            shape.append(b)
        elif stretches(b, a) or a == b:
            shape.append(a)
        else:
            return None
    return tuple(shape)


def stretches(extent: Size, other: Size) -> bool:
    """Return whether an extent broadcasts to another: it is 1, or `min(1, other)`, which a slice `x[:1]` has.

    Raises UndecidedSize where sizes of the call decide whether it is 1, or nothing.
    """
    if same(extent, 1):
        return True
    if not isinstance(extent, SizeExpr) or same(extent, other) or not proves(extent, "<=", 1):
        return False
    return same(extent, size_min(1, other)) or extent == 1


def holds_zero(shape: Sequence[Size]) -> bool:
    """Return whether an extent of a shape is the number 0."""
    return any(same(extent, 0) for extent in shape)


def decide(a: SupportsIndex | SizeExpr, relation: str, b: SupportsIndex | SizeExpr) -> bool | None:
    """Decide `a == b` or `a <= b`; None where values of symbols within `known_ranges` make it true and false."""
    facts, key = _known.get(), question(a, relation, b)
    if key not in facts.answers:
        if len(facts.answers) >= _KEPT:
            facts.answers = {**facts.assumed}
        facts.answers[key] = _answer(a, relation, b, facts.items)
    return facts.answers[key]


def question(a: SupportsIndex | SizeExpr, relation: str, b: SupportsIndex | SizeExpr) -> Question:
    """Return the comparison that `decide` answers."""
    return (
        a._text if isinstance(a, SizeExpr) else operator.index(a),  # pyright: ignore[reportPrivateUsage]
        relation,
        b._text if isinstance(b, SizeExpr) else operator.index(b),  # pyright: ignore[reportPrivateUsage]
    )


def _answer(
    a: SupportsIndex | SizeExpr, relation: str, b: SupportsIndex | SizeExpr, ranges: intervals.Ranges
) -> bool | None:
    low, high = intervals.bounds(joined(plus(_terms(b), _terms(a), -1)), ranges)
    if relation == "<=":
        return True if low is not None and low >= 0 else False if high is not None and high < 0 else None
    if low == high == 0:
        return True
    return False if (low is not None and low > 0) or (high is not None and high < 0) else None


def proves(a: Size, relation: str, b: Size) -> bool:
    """Return True if `a relation b` holds for all values of symbols in `known_ranges`; False also if nothing tells.

    `relation` is one of `==`, `!=`, `<`, `<=`, `>`, `>=`.
    """
    match relation:
        case "==" | "<=":
            return decide(a, relation, b) is True
        case "!=":
            return decide(a, "==", b) is False
        case "<":
            return decide(b, "<=", a) is False
        case ">":
            return decide(a, "<=", b) is False
        case ">=":
            return decide(b, "<=", a) is True
        case _:
            raise ValueError(f"expected a relation, got {relation!r}")


@contextmanager
def known_ranges(ranges: Ranges) -> Generator[None]:
    """Set the values that symbols may take, for comparisons and `bounds` inside; any other symbol is 0 or more."""
    facts = _known.get()
    with _knowing(_Known({**facts.ranges, **ranges}, facts.assumed)):
        yield


@contextmanager
def answered(answers: Answers) -> Generator[None]:
    """Have questions that the values of symbols leave open answered so."""
    with _knowing(_Known(_known.get().ranges, answers)):
        yield


@contextmanager
def _knowing(facts: _Known) -> Generator[None]:
    before = _known.set(facts)
    try:
        yield
    finally:
        _known.reset(before)


def common_range(a: Range, b: Range) -> Range | None:
    """The values that lie in both ranges; None where there are none."""
    low = max(a[0] or 0, b[0] or 0)
    highs = [high for high in (a[1], b[1]) if high is not None]
    high = min(highs) if highs else None
    return None if high is not None and low > high else (low, high)


def range_for(a: Size, b: Size) -> tuple[str, Range] | None:
    """A symbol and the range that it has to have for two sizes to be equal.

    One size is `min(symbol, number)` or `max(symbol, number)`, the other is the symbol, or the number of a `min`.
    """
    for plain, other in ((a, b), (b, a)):
        bound = lone(_terms(other))
        if bound is None or bound.kind not in ("min", "max") or len(bound.args) != 2:
            continue
        numbers = [number for arg in bound.args if (number := number_of(arg)) is not None]
        atoms = [atom for arg in bound.args if (atom := lone(arg)) is not None and not atom.kind]
        if len(numbers) != 1 or len(atoms) != 1:
            continue
        if lone(_terms(plain)) == atoms[0]:
            return atoms[0].text, (0, numbers[0]) if bound.kind == "min" else (numbers[0], None)
        if bound.kind == "min" and same(plain, numbers[0]):
            return atoms[0].text, (numbers[0], None)
    return None


def only(name: str, a: Size, b: Size) -> int | None:
    """The number that a symbol has to be for two sizes to be equal, whatever the others are; None where no one is."""
    difference, own = a - b, symbol(name)
    try:
        start = substitute(difference, {name: 0})
        slope = substitute(difference, {name: 1}) - start
    except ZeroDivisionError:
        return None
    numbers = [1]
    if isinstance(start, int) and isinstance(slope, int) and slope and start % slope == 0:
        numbers.append(-start // slope)
    for number in numbers:
        rest = difference // (own - number)
        if same(rest * (own - number), difference) and proves(rest, "!=", 0):
            return number
    return None


def bounds(size: Size, ranges: Ranges | None = None) -> Range:
    """Values between which a size lies when each symbol lies in its range: of `known_ranges` where `ranges` is None."""
    if isinstance(size, int):
        return size, size
    return intervals.bounds(size.terms, _ranges(ranges))


def symbols_of(size: Size) -> tuple[str, ...]:
    """The names of a size's symbols, in order."""
    return tuple(sorted(names_in(_terms(size))))


def substitute(size: Size, values: Mapping[str, Size]) -> Size:
    """A size with other sizes in the place of symbols; what `values` lacks stays."""
    if isinstance(size, int):
        return size
    return _size(substituted(size.terms, {name: _terms(value) for name, value in values.items()}))


def evaluate(size: Size, values: Mapping[str, int]) -> int:
    """The number that a size is, for a value of each of its symbols.

    Raises KeyError for a symbol that `values` lacks, ZeroDivisionError as Python does.
    """
    number = substitute(size, values)
    if isinstance(number, int):
        return number
    raise KeyError(", ".join(symbols_of(number)))


def _ranges(ranges: Ranges | None) -> intervals.Ranges:
    return _known.get().items if ranges is None else tuple(sorted(ranges.items()))


def _size(terms: Polynomial) -> Size:
    terms = joined(terms)
    number = number_of(terms)
    return SizeExpr(terms) if number is None else number


def _terms(value: SupportsIndex | SizeExpr) -> Polynomial:
    return value.terms if isinstance(value, SizeExpr) else constant(operator.index(value))


def _decided(a: SupportsIndex | SizeExpr, relation: str, b: SupportsIndex | SizeExpr, left: str, right: str) -> bool:
    if (answer := decide(a, relation, b)) is not None:
        return answer
    sides = _size(_terms(a)), _size(_terms(b))
    raise UndecidedSize(f"whether {left} {relation} {right} depends on the values of sizes", sides, relation=relation)
