"""Sizes in the te language, over variables, as numbers or as sizes of the function that is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ...dialects.sizes import Size, SizeExpr, UndecidedSize, size_max, size_min, substitute, symbol, symbols_of
from ...dialects.sizes.kernel import at_least, is_derived, is_kernel_size, kernel_size, negative
from ...dialects.sizes.terms import Atom, Polynomial
from ...support.dtypes import BOOL, fail, is_float
from ...syntax.relay.type_view import SPELLINGS
from .expr import Binary, Cast, Const, Expr, Extent, SizeNumber, Var, binary, convert
from .walks import operands_first

Sizes = Mapping[str, "float | SizeExpr"]
"""The values of the variables that were left open: numbers, or sizes of the function that is built."""


def size_of(var: Var, sizes: Sizes) -> float | SizeExpr:
    """The value of a variable; raises ScheduleError when it has none, UndecidedSize where a float should be a size."""
    if var.name not in sizes:
        fail(
            f"te: expected a value for the variable '{var.name}', got none; "
            f"give it: create_schedule(.., sizes={{'{var.name}': 8}})"
        )
    value = sizes[var.name]
    if isinstance(value, SizeExpr):
        if is_float(var.dtype) or var.dtype == BOOL:
            raise UndecidedSize(f"te: the variable '{var.name}' of {var.dtype} is no size")
    elif not is_float(var.dtype) and not isinstance(value, int):
        fail(f"te: expected an int for the variable '{var.name}' of {var.dtype}, got {value!r}")
    return value


def extent_value(extent: Extent, sizes: Sizes) -> Size:
    """A size as a number, or over sizes of the function.

    Raises ScheduleError when a variable has no value or the size is negative.
    """
    value = extent if isinstance(extent, int) else evaluate(extent, sizes)
    if negative(value):
        fail(f"te: expected a size of at least 0, got {value}")
    return value


def extent_number(extent: Extent, sizes: Mapping[str, float]) -> int:
    """`extent_value` where all variables are numbers."""
    value = extent_value(extent, sizes)
    assert isinstance(value, int)
    return value


class SymbolSizes(Mapping[str, SizeExpr]):
    """The sizes of a function that is made, by name, in the order in which they are asked for.

    A name is that of a symbol, or the text of a `min` or `max` of the function's sizes, which it computes itself.
    """

    def __init__(self, names: Iterable[str] = ()):
        self._sizes = {name: kernel_size(number) for number, name in enumerate(dict.fromkeys(names))}

    def __getitem__(self, name: str) -> SizeExpr:
        return self._sizes.setdefault(name, kernel_size(len(self._sizes)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def of(self, size: SizeExpr) -> Size:
        """A size over names as one of the function's."""
        return self._of(size.terms)

    def _of(self, terms: Polynomial) -> Size:
        total: Size = 0
        for factors, coefficient in terms.items():
            term: Size = coefficient
            for atom in factors:
                term = term * self._part(atom)
            total = total + term
        return total

    def _part(self, atom: Atom) -> Size:
        if not atom.kind:
            return self[atom.text]
        parts = [self._of(terms) for terms in atom.args]
        if atom.kind in ("floordiv", "mod"):
            return parts[0] // parts[1] if atom.kind == "floordiv" else parts[0] % parts[1]
        size = size_min(*parts) if atom.kind == "min" else size_max(*parts)
        return self[str(size)] if isinstance(size, SizeExpr) and is_derived(str(size)) else size


def size_in(size: SizeExpr, sizes: Sizes) -> Size:
    """A size over names of a model, or one of the function's already, as one of the function's."""
    if isinstance(sizes, SymbolSizes):
        return sizes.of(size)
    known = {name: sizes[name] for name in symbols_of(size) if not is_kernel_size(name) and name in sizes}
    return substitute(size, {name: value for name, value in known.items() if not isinstance(value, float)})


def size_expression(size: Size, variables: Mapping[str, Expr]) -> Expr:
    """Return a size as an expression of variables, by the names that it has for them."""
    return convert(size) if isinstance(size, int) else _sum(size.terms, variables)


def _sum(terms: Polynomial, variables: Mapping[str, Expr]) -> Expr:
    total: Expr | None = None
    for factors, coefficient in terms.items():
        term: Expr | None = None
        for atom in factors:
            part = _part(atom, variables)
            term = part if term is None else term * part
        if term is None or coefficient != 1:
            term = convert(coefficient) if term is None else term * coefficient
        total = term if total is None else total + term
    return convert(0) if total is None else total


def _part(atom: Atom, variables: Mapping[str, Expr]) -> Expr:
    if not atom.kind:
        return variables[atom.text]
    first, *rest = (_sum(terms, variables) for terms in atom.args)
    for other in rest:
        first = binary({"mod": "floormod"}.get(atom.kind, atom.kind), first, other)
    return first


def evaluate(extent: Extent, sizes: Sizes) -> Size:
    """A size or start as a number, or over sizes of the function; raises as `extent_value` does, however deep it is."""
    if not isinstance(extent, Expr):
        return extent if isinstance(extent, int) else size_in(extent, sizes)
    values: dict[int, Size] = {}
    for node in operands_first([extent], values):
        values[id(node)] = _evaluated(node, values, sizes)
    return values[id(extent)]


def _evaluated(extent: Expr, values: Mapping[int, Size], sizes: Sizes) -> Size:
    match extent:
        case SizeNumber():
            return size_in(extent.value, sizes)
        case Const(value=value):
            return int(value)
        case Var():
            value = size_of(extent, sizes)
            return value if isinstance(value, SizeExpr) else int(value)
        case Cast(a=a):
            return values[id(a)]
        case Binary(op=op, a=a, b=b):
            x, y = values[id(a)], values[id(b)]
            if (operation := _ARITHMETIC.get(op)) is not None:
                return operation(x, y)
            if op in ("floordiv", "floormod", "div", "truncdiv", "truncmod") and at_least(y, 1) and at_least(x, 0):
                return x % y if op.endswith("mod") else x // y
            if isinstance(x, SizeExpr) or isinstance(y, SizeExpr):
                raise UndecidedSize(f"te: {op} of {x} and {y} depends on the call")
        case _:
            pass
    fail("te: expected sizes made of numbers and size variables")


_ARITHMETIC: Mapping[str, Callable[[Size, Size], Size]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "max": size_max,
    "min": size_min,
}


class _Symbols(Mapping[str, SizeExpr]):
    """Each variable as the size of its name."""

    def __getitem__(self, name: str) -> SizeExpr:
        return symbol(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _size_in_types(extent: object) -> Size | None:
    """Return a size of a relay type, whose variables are the sizes of their names; None for anything else."""
    return extent_value(extent, _Symbols()) if isinstance(extent, Expr) else None


SPELLINGS.append(_size_in_types)
