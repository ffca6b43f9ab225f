"""The sizes of a kernel: symbols `s0`, `s1`, .. in the order of its arguments, as affine expressions and attributes.

Index maps are affine maps, so a size is one of them, too, over symbols only: symbol i of a map is size i of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.utils.exceptions import VerifyException

from ...support.identity import by_identity
from .expr import Size, SizeExpr, UndecidedSize, evaluate, proves, substitute, symbol, symbols_of
from .terms import Atom, Polynomial
from .terms import number_of as number_in

_KINDS = {"floordiv": AffineBinaryOpKind.FloorDiv, "mod": AffineBinaryOpKind.Mod}


@lru_cache(maxsize=64)
def is_kernel_size(name: str) -> bool:
    """Return whether a name is that of a size of a kernel, `s0`, `s1`, .."""
    return name.startswith("s") and name[1:].isdigit()


def kernel_size(number: int) -> SizeExpr:
    """The size that is argument `number` among the sizes of a kernel."""
    return symbol(f"s{number}")


def number_of(name: str) -> int:
    """Return the number of a kernel's size by its name. Raises VerifyException for a name that no size has."""
    if not is_kernel_size(name):
        raise VerifyException(f"expected a size of a kernel, s0, s1, .., got {name}")
    return int(name[1:])


def lifted(size: Size) -> AffineExpr:
    """A size as an affine expression; raises VerifyException where it is none (`min`, `max`)."""
    return AffineConstantExpr(size) if isinstance(size, int) else _lifted(size)


@lru_cache(maxsize=1 << 12)
def _lifted(size: SizeExpr) -> AffineExpr:
    return _polynomial(size.terms)


def _polynomial(terms: Polynomial) -> AffineExpr:
    total: AffineExpr | None = None
    for factors, coefficient in terms.items():
        parts = [_atom(atom) for atom in factors]
        if coefficient != 1 or not parts:
            parts.append(AffineConstantExpr(coefficient))
        term = parts[0]
        for part in parts[1:]:
            term = AffineBinaryOpExpr(AffineBinaryOpKind.Mul, term, part)
        total = term if total is None else AffineBinaryOpExpr(AffineBinaryOpKind.Add, total, term)
    return AffineConstantExpr(0) if total is None else total


def _atom(atom: Atom) -> AffineExpr:
    if not atom.kind:
        return AffineSymExpr(number_of(atom.text))
    if atom.kind not in _KINDS:
        raise UndecidedSize(f"expected a size of sums, products and quotients in a kernel, got {atom.text}")
    return AffineBinaryOpExpr(_KINDS[atom.kind], *map(_polynomial, atom.args))


def size_of(expr: AffineExpr) -> Size:
    """The size that an affine expression of symbols is; raises VerifyException for one with dims."""
    match expr:
        case AffineConstantExpr():
            return expr.value
        case AffineSymExpr():
            return kernel_size(expr.position)
        case AffineBinaryOpExpr():
            first, second = size_of(expr.lhs), size_of(expr.rhs)
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return first + second
                case AffineBinaryOpKind.Mul:
                    return first * second
                case AffineBinaryOpKind.FloorDiv:
                    return first // second
                case AffineBinaryOpKind.Mod:
                    return first % second
                case _:
                    return -(-first // second)
        case _:
            raise VerifyException(f"expected a size, got {expr}")


def symbol_count(exprs: Iterable[AffineExpr]) -> int:
    """Return the number of symbols of a map of these results: up to the last one that they use."""
    return max(map(_symbols, exprs), default=0)


def _symbols(expr: AffineExpr) -> int:
    kind = expr.__class__
    if kind is AffineBinaryOpExpr:
        binary = cast(AffineBinaryOpExpr, expr)
        left, right = _symbols(binary.lhs), _symbols(binary.rhs)
        return left if left > right else right
    return cast(AffineSymExpr, expr).position + 1 if kind is AffineSymExpr else 0


def affine_map(dims: int, results: tuple[AffineExpr, ...]) -> AffineMap:
    """The map of these results, with as many symbols as they use."""
    return AffineMap(dims, symbol_count(results), results)


@lru_cache(maxsize=1 << 12)
def size_attribute(size: Size) -> Attribute:
    """A size as an attribute: an i64, or a map over symbols only."""
    if isinstance(size, int):
        return IntegerAttr(size, i64)
    return AffineMapAttr(affine_map(0, (lifted(size),)))


def size_in(attribute: Attribute) -> Size:
    """Return the size that `size_attribute` made an attribute of."""
    if isinstance(attribute, IntegerAttr):
        return attribute.value.data
    if not isinstance(attribute, AffineMapAttr) or len(attribute.data.results) != 1 or attribute.data.num_dims:
        raise VerifyException(f"expected a number or a map over symbols with one result, got {attribute}")
    return _size_in(attribute)


@by_identity(1 << 12)
@lru_cache(maxsize=1 << 12)
def _size_in(attribute: AffineMapAttr) -> Size:
    return size_of(attribute.data.results[0])


def dense(shape: Sequence[Size]) -> tuple[int, ...]:
    """A shape as xDSL's types have it: -1, which is printed as `?`, for what is no number."""
    return tuple([extent if isinstance(extent, int) else DYNAMIC_INDEX for extent in shape])


def shape_map(shape: Sequence[Size]) -> AffineMapAttr | None:
    """The map of all sizes of a shape; None for one of numbers."""
    if all(isinstance(extent, int) for extent in shape):
        return None
    return AffineMapAttr(affine_map(0, tuple(map(lifted, shape))))


@by_identity(1 << 12)
@lru_cache(maxsize=1 << 12)
def sizes_in(map: AffineMapAttr) -> tuple[Size, ...]:
    """The shape that `shape_map` made a map of."""
    return tuple(size_of(expr) for expr in map.data.results)


def names_of(sizes: ArrayAttr[StringAttr] | None) -> tuple[str, ...]:
    """Return the names of a function's sizes where it is used, in order."""
    return tuple(name.data for name in sizes) if sizes is not None else ()


def is_derived(name: str) -> bool:
    """Return whether a function computes a size of its own, which is called by what it is: `min(s0, 512)`."""
    return name.startswith(("min(", "max("))


def beyond(sizes: Iterable[Size], count: int) -> str | None:
    """A symbol in `sizes` that a kernel of `count` sizes does not have."""
    named = (name for size in sizes if not isinstance(size, int) for name in symbols_of(size))
    return next((name for name in named if number_of(name) >= count), None)


def negative(size: Size) -> bool:
    """Return whether a size is surely below 0."""
    return size < 0 if isinstance(size, int) else proves(size, "<", 0)


def at_least(size: Size, least: int) -> bool:
    """Return whether a size is surely at least so much."""
    return size >= least if isinstance(size, int) else proves(size, ">=", least)


def may_be_one(size: Size) -> bool:
    """Return whether only a call knows a size, which 1 may be, or less."""
    return isinstance(size, SizeExpr) and not at_least(size, 2)


@lru_cache(maxsize=1 << 12)
def last_value(count: Size) -> Size:
    """The largest value of a loop that runs `count` times, where it runs: 0 if that is never more than once."""
    return 0 if proves(count, "<=", 1) else count - 1


def coefficients(size: Size) -> Iterable[int]:
    """Numbers of which a size is always a sum of multiples."""
    return (size,) if isinstance(size, int) else size.terms.values()


def whole_of(terms: Polynomial) -> Size:
    """A polynomial as a size."""
    number = number_in(terms)
    return SizeExpr(terms) if number is None else number


def known(size: Size) -> int:
    """The number that a size is; raises UndecidedSize where only a call knows it."""
    if isinstance(size, int):
        return size
    raise UndecidedSize(f"expected a number, got the size {size} of a call")


NOMINAL = 128
"""The extent for which work is estimated where sizes are open."""


def nominal(size: Size) -> int:
    """A number for a size, to compare kinds of work by."""
    return size if isinstance(size, int) else max(0, evaluate(size, dict.fromkeys(symbols_of(size), NOMINAL)))


def solved(shapes: Iterable[tuple[Sequence[Size], Sequence[int]]]) -> dict[int, int]:
    """The sizes, by number, that shapes have where their extents are these numbers; the first that tells one counts.

    An extent tells a size that it is, times a number plus another, where the size is the only one not told yet.
    """
    left = [(wanted, extent) for shape, numbers in shapes for wanted, extent in zip(shape, numbers, strict=False)]
    values: dict[int, int] = {}
    progress = True
    while progress:
        progress = False
        for wanted, extent in left:
            size = substitute(wanted, {f"s{number}": value for number, value in values.items()})
            terms = [] if isinstance(size, int) else [factors for factors in size.terms if factors]
            if isinstance(size, int) or len(terms) != 1 or len(terms[0]) != 1 or terms[0][0].kind:
                continue
            value, rest = divmod(extent - size.terms.get((), 0), size.terms[terms[0]])
            if not rest and value >= 0:
                values[number_of(terms[0][0].text)] = value
                progress = True
    return values
