"""Sizes in the text that the exporter writes, `Add(Mul(Integer(2), Symbol('s77')), Integer(1))`: parsed, not evaluated.

The text is that of sympy's `srepr`. A grammar of calls, names, numbers and quoted names reads it; Python does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce

from ...dialects.sizes import Size, size_max, size_min
from ...support.errors import FrontendError

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_][A-Za-z0-9_.]*)|(?P<int>-?\d+)|'(?P<text>[^'\\]*)'|(?P<mark>[(),=]))")
_DEEPEST = 100
_LONGEST = 10_000
"""Characters of an expression."""


def _quotient(a: Size, b: Size) -> Size:
    return a // b


def _rest(a: Size, b: Size) -> Size:
    return a % b


def _sum(*sizes: Size) -> Size:
    return reduce(lambda a, b: a + b, sizes)


def _product(*sizes: Size) -> Size:
    return reduce(lambda a, b: a * b, sizes)


_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Size]]] = {
    "Add": (1, _sum),
    "Mul": (1, _product),
    "Max": (1, size_max),
    "Min": (1, size_min),
    "FloorDiv": (2, _quotient),
    "CleanDiv": (2, _quotient),
    "Mod": (2, _rest),
    "PythonMod": (2, _rest),
}
"""Name -> the least number of arguments (of two, exactly two), and what it computes."""


def parse_expression(text: str, symbols: Mapping[str, Size], where: str) -> Size:
    """The size that an expression says, for the sizes that its symbols are.

    Raises FrontendError, about `where`, for a text that is no expression, or has symbols that nothing says.
    """
    return _Parser(text, symbols, where).parsed()


def lone_symbol(text: str) -> str | None:
    """The name of the symbol that an expression is; None for another expression."""
    result = re.fullmatch(r"Symbol\('(\w+)'(?:, \w+=True)*\)", text)
    return None if result is None else result[1]


class _Parser:
    def __init__(self, text: str, symbols: Mapping[str, Size], where: str):
        self.text, self.symbols, self.where = text, symbols, where
        self.at = 0
        if len(text) > _LONGEST:
            raise self.fail(f"at most {_LONGEST} characters")

    def fail(self, expected: str) -> FrontendError:
        shown = self.text if len(self.text) < 80 else f"{self.text[:77]}..."
        return FrontendError(f"{self.where}: expected {expected}, got {shown!r}")

    def parsed(self) -> Size:
        size = self.expression(0)
        if self.text[self.at :].strip():
            raise self.fail("an expression of sizes")
        return size

    def token(self) -> tuple[str, str]:
        result = _TOKEN.match(self.text, self.at)
        if result is None or result.lastgroup is None:
            raise self.fail("an expression of sizes")
        self.at = result.end()
        return result.lastgroup, result[result.lastgroup]

    def peek(self) -> str:
        result = _TOKEN.match(self.text, self.at)
        return "" if result is None or result.lastgroup != "mark" else result["mark"]

    def take(self, mark: str) -> None:
        if self.token() != ("mark", mark):
            raise self.fail(f"'{mark}' in an expression of sizes")

    def expression(self, depth: int) -> Size:
        if depth > _DEEPEST:
            raise self.fail(f"an expression that nests at most {_DEEPEST} deep")
        kind, name = self.token()
        if kind == "int":
            return int(name)
        if kind != "name":
            raise self.fail("an expression of sizes")
        self.take("(")
        if name == "Symbol":
            return self.symbol()
        if name == "Integer":
            kind, number = self.token()
            if kind != "int":
                raise self.fail("an integer")
            self.take(")")
            return int(number)
        if name.rpartition(".")[2] not in _FUNCTIONS:
            raise self.fail(f"a function among {', '.join(_FUNCTIONS)}")
        least, function = _FUNCTIONS[name.rpartition(".")[2]]
        sizes = [self.expression(depth + 1)]
        while self.peek() == ",":
            self.take(",")
            sizes.append(self.expression(depth + 1))
        self.take(")")
        if len(sizes) < least or (least == 2 and len(sizes) != 2):
            raise self.fail(f"{least} arguments of {name}")
        if least == 2 and isinstance(sizes[1], int) and sizes[1] <= 0:
            raise self.fail("a divisor above 0")
        return function(*sizes)

    def symbol(self) -> Size:
        """The rest of `Symbol('s77', positive=True, integer=True)`."""
        kind, name = self.token()
        if kind != "text":
            raise self.fail("a quoted name")
        while self.peek() == ",":
            self.take(",")
            self.token()
            self.take("=")
            self.token()
        self.take(")")
        if name not in self.symbols:
            raise self.fail(f"symbols that inputs have ({', '.join(self.symbols) or 'none'})")
        return self.symbols[name]
