"""Numbers of iterators, as expressions of te and as sizes, which know when one divides another."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from whence.dialects.sizes import Size, proves, same, size_max, size_min, symbol
from whence.dialects.sizes.terms import Atom, Polynomial
from whence.te.language.expr import Binary, Cast, Const, Expr, binary, constant
from whence.te.language.walks import operands_first

_ARITHMETIC: Mapping[str, Callable[[Size, Size], Size]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": size_min,
    "max": size_max,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
}
_OPERATORS = {"floordiv": "floordiv", "mod": "floormod", "min": "min", "max": "max"}


class Symbols:
    """The variables that extents and scales are made of. They are positive: else there is no iteration."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._exprs: dict[str, Expr] = {}

    def size(self, expr: Expr) -> Size:
        """Return a number as a size, in which whatever is no arithmetic of variables is one more symbol."""
        if isinstance(expr, Const):
            return int(expr.value)
        sizes: dict[int, Size] = {}
        for node in operands_first([expr], sizes, _operands):
            sizes[id(node)] = self._size(node, sizes)
        return sizes[id(expr)]

    def _size(self, node: Expr, sizes: Mapping[int, Size]) -> Size:
        match node:
            case Const(value=value):
                return int(value)
            case Cast():
                return sizes[id(node.a)]
            case Binary() if node.op in _ARITHMETIC:
                a, b = sizes[id(node.a)], sizes[id(node.b)]
                if node.op not in ("floordiv", "floormod") or not same(b, 0):
                    return _ARITHMETIC[node.op](a, b)
            case _:
                pass
        if id(node) not in self._names:
            name = f"v{len(self._names)}"
            self._names[id(node)] = name
            self._exprs[name] = node
        return symbol(self._names[id(node)])

    def expr(self, size: Size, dtype: str) -> Expr:
        """Return a size as an expression."""
        return constant(size, dtype) if isinstance(size, int) else self._sum(size.terms, dtype)

    def _sum(self, terms: Polynomial, dtype: str) -> Expr:
        total: Expr | None = None
        # The number last, as in `n + 1`.
        for factors, coefficient in sorted(terms.items(), key=lambda term: not term[0]):
            term: Expr | None = None
            for atom in factors:
                part = self._part(atom, dtype)
                term = part if term is None else binary("mul", term, part)
            number = constant(abs(coefficient), dtype)
            term = number if term is None else term if abs(coefficient) == 1 else binary("mul", term, number)
            if total is None:
                total = term if coefficient > 0 else binary("mul", term, constant(-1, dtype))
            else:
                total = binary("add" if coefficient > 0 else "sub", total, term)
        return constant(0, dtype) if total is None else total

    def _part(self, atom: Atom, dtype: str) -> Expr:
        if not atom.kind:
            return self._exprs[atom.text].astype(dtype)
        parts = [self._sum(terms, dtype) for terms in atom.args]
        total = parts[0]
        for part in parts[1:]:
            total = binary(_OPERATORS[atom.kind], total, part)
        return total


def _operands(node: Expr) -> tuple[Expr, ...]:
    match node:
        case Binary() if node.op in _ARITHMETIC:
            return node.a, node.b
        case Cast():
            return (node.a,)
        case _:
            return ()


def divides(divisor: Size, size: Size) -> bool:
    """Return whether a size is a multiple of another, for all values of their symbols."""
    return not same(divisor, 0) and same((size // divisor) * divisor, size)


def ceiling(size: Size, divisor: Size) -> Size:
    """The quotient rounded up."""
    return size // divisor if divides(divisor, size) else (size + divisor - 1) // divisor


def covers(a: Size, b: Size) -> bool:
    """Return whether `a` is at least `b`, for sure."""
    return same(a, b) or proves(a, ">=", b)
