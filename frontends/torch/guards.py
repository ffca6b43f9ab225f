"""Guards: an exporter's assumptions about sizes and numbers, as Python text; parsed by a grammar and never run.

`L['x'].size()[0] <= 2 * L['y'].size()[0]` relates the inputs `x` and `y`. A guard becomes a step without results, which
is checked at import if sizes are known, and else at every call.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any, cast

from ...dialects.sizes import Size, SizeExpr, size_max, size_min
from ...dialects.sizes.decisions import compared
from ..importing.converter import Converter
from .calls import At, Operand
from .context import Context

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?![\w.]))|(?P<name>[A-Za-z_][\w.]*)|(?P<text>'[^'\\]*'|\"[^\"\\]*\")"
    r"|(?P<mark>\*\*|//|<=|>=|==|!=|[-+*%<>()\[\],.]))"
)
_LONGEST = 10_000
"""The greatest number of characters of a guard."""
_DEEPEST = 60
_RELATIONS = ("<=", ">=", "==", "!=", "<", ">")
_SUMS: Mapping[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub}
_PRODUCTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
_FUNCTIONS = {
    "CleanDiv": "//", "FloorDiv": "//", "Max": "max", "Min": "min", "Mod": "%", "PythonMod": "%", "max": "max",
    "min": "min", "torch.sym_max": "max", "torch.sym_min": "min", "torch.sym_sum": "sum",
}  # fmt: skip
"""Name in a guard -> its operator."""


class UnknownGuard(Exception):
    """A text outside of the grammar."""


@dataclass(frozen=True)
class Extent:
    """An extent of an input, or an input that is a number (`axis` is None)."""

    path: str
    """The path from the arguments to the input: `L['x'][0]`."""
    axis: int | None


def parse_guard(text: str) -> Any:
    """Return a guard as nested tuples, with operators before operands; raises UnknownGuard for other texts."""
    if len(text) > _LONGEST:
        raise UnknownGuard("one of more than 10,000 characters")
    return _Parser(text).parsed()


def extents_in(tree: Any) -> list[Extent]:
    """Return the extents in a guard."""
    if isinstance(tree, Extent):
        return [tree]
    parts = cast("tuple[Any, ...]", tree) if isinstance(tree, tuple) else ()
    return [extent for part in parts for extent in extents_in(part)]


def placed_in(tree: Any, order: Mapping[str, int]) -> Operand:
    """Return the guard as an argument of a step; `order` maps a path to the input."""
    if isinstance(tree, Extent):
        index = At(order[tree.path], number=tree.axis is None)
        return index if tree.axis is None else ("size", index, tree.axis)
    if isinstance(tree, tuple):
        return tuple(placed_in(part, order) for part in cast("tuple[Any, ...]", tree))
    return cast(Operand, tree)


class _Parser:
    def __init__(self, text: str):
        self.text, self.at, self.depth = text, 0, 0

    def parsed(self) -> Any:
        tree = self.either()
        if self.text[self.at :].strip():
            raise UnknownGuard(self.text[self.at :])
        return tree

    def peek(self) -> tuple[str, str]:
        match = _TOKEN.match(self.text, self.at)
        return (match.lastgroup or "", match[match.lastgroup or 0]) if match is not None else ("", "")

    def token(self) -> tuple[str, str]:
        match = _TOKEN.match(self.text, self.at)
        if match is None or match.lastgroup is None:
            raise UnknownGuard(self.text[self.at :])
        self.at = match.end()
        return match.lastgroup, match[match.lastgroup]

    def accepted(self, *texts: str) -> str:
        """Take one of several marks or words; return it, or "" if there is none."""
        _, text = self.peek()
        if text in texts:
            self.token()
            return text
        return ""

    def take(self, text: str) -> None:
        if not self.accepted(text):
            raise UnknownGuard(self.text[self.at :])

    def joined(self, word: str, part: Callable[[], Any]) -> Any:
        parts = [part()]
        while self.accepted(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else (word, *parts)

    def either(self) -> Any:
        return self.joined("or", lambda: self.joined("and", self.negated))

    def negated(self) -> Any:
        self.deeper()
        tree = ("not", self.negated()) if self.accepted("not") else self.relation()
        self.depth -= 1
        return tree

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UnknownGuard("one that nests too deeply")

    def relation(self) -> Any:
        left = self.sum()
        relations: list[Any] = []
        while sign := self.accepted(*_RELATIONS):
            right = self.sum()
            relations.append((sign, left, right))
            left = right
        if not relations:
            return left
        return relations[0] if len(relations) == 1 else ("and", *relations)

    def sum(self) -> Any:
        return self.left(_SUMS, self.product)

    def product(self) -> Any:
        return self.left(_PRODUCTS, self.unary)

    def left(self, signs: Mapping[str, object], part: Callable[[], Any]) -> Any:
        tree = part()
        while sign := self.accepted(*signs):
            tree = (sign, tree, part())
        return tree

    def unary(self) -> Any:
        self.deeper()
        tree = ("-", 0, self.unary()) if self.accepted("-") else self.power()
        self.depth -= 1
        return tree

    def power(self) -> Any:
        base = self.primary()
        if not self.accepted("**"):
            return base
        kind, text = self.token()
        if kind != "number" or not 0 <= int(text[:4]) <= 16 or len(text) > 2:
            raise UnknownGuard(text)
        return ("*", 1, 1) if text == "0" else reduce(lambda tree, _: ("*", tree, base), range(int(text) - 1), base)

    def primary(self) -> Any:
        kind, text = self.token()
        if kind == "number":
            if len(text) > 19:
                raise UnknownGuard(text)
            return int(text)
        if text == "(":
            tree = self.either()
            self.take(")")
            return tree
        if text == "L":
            return self.extent()
        if kind == "name" and text in _FUNCTIONS:
            self.take("(")
            parts = self.listed() if self.peek()[1] == "[" else self.several()
            self.take(")")
            return (_FUNCTIONS[text], *parts)
        raise UnknownGuard(text)

    def listed(self) -> list[Any]:
        self.take("[")
        parts = self.several()
        self.take("]")
        return parts

    def several(self) -> list[Any]:
        parts = [self.either()]
        while self.accepted(","):
            parts.append(self.either())
        return parts

    def extent(self) -> Extent:
        """Parse the part after `L` in `L['x'][0].size()[1]` or `L['n']`."""
        begin = self.at
        while self.peek() == ("mark", "["):
            self.token()
            if self.token()[0] not in ("text", "number"):
                raise UnknownGuard(self.text[begin:])
            self.take("]")
        path = re.sub(r"\s", "", f"L{self.text[begin : self.at]}")
        if self.peek() != ("mark", "."):
            return Extent(path, None)
        self.token()
        if self.token() != ("name", "size"):
            raise UnknownGuard(self.text[begin:])
        for mark in "()[":
            self.take(mark)
        kind, axis = self.token()
        if kind != "number" or len(axis) > 3:
            raise UnknownGuard(self.text[begin:])
        self.take("]")
        return Extent(path, int(axis))


# Checking.


def _value(ctx: Context, tree: Operand) -> Any:
    """Return the value of a guard or of a part of it."""
    if isinstance(tree, At):
        return ctx.size(tree.index, "a number of a guard")
    if not isinstance(tree, tuple):
        return tree
    sign, *parts = tree
    if sign == "size":
        index, axis = cast("tuple[At, int]", tuple(parts))
        shape = ctx.shape(index.index)
        if axis >= len(shape):
            ctx.fail("an axis of the input", str(axis))
        return shape[axis]
    values = [_value(ctx, part) for part in parts]
    return _combined(ctx, cast(str, sign), values)


def _combined(ctx: Context, sign: str, values: list[Any]) -> Any:
    match sign:
        case "and":
            return prod(values)
        case "or":
            return 1 - prod(1 - value for value in values)
        case "not":
            return 1 - values[0]
        case "!=":
            return compared(values[0], "!=", values[1])
        case "max" | "min":
            return reduce(size_max if sign == "max" else size_min, values)
        case "sum":
            return reduce(operator.add, values)
        case "//" | "%" if len(values) != 2 or (isinstance(values[1], int) and values[1] <= 0):
            ctx.fail("a divisor above 0 in a guard", str(values[1:]))
        case _ if sign in _RELATIONS:
            return compared(values[0], sign, values[1])
        case _:
            return {**_SUMS, **_PRODUCTS}[sign](*values)


def _checked(ctx: Context) -> tuple[()]:
    """Check a guard, or require it of every call."""
    tree = cast("tuple[Operand, ...]", ctx.argument("condition"))
    text = ctx.word("text", "")
    sign = tree[0]
    if sign in ("<=", ">=", "==", "<", ">"):
        a, b = (cast(Size, _value(ctx, part)) for part in tree[1:])
        if compared(a, cast(str, sign), b) is False:
            ctx.fail(text, f"{a} and {b}")
        if isinstance(compared(a, cast(str, sign), b), SizeExpr):
            low, high = (b, a) if cast(str, sign)[0] == ">" else (a, b)
            ctx.require(high - low - (sign in ("<", ">")))
            if sign == "==":
                ctx.require(low - high)
        return ()
    holds = _value(ctx, tree)
    if isinstance(holds, SizeExpr):
        ctx.require(holds - 1)
    elif not holds:
        ctx.fail(text, "sizes for which that is not so")
    return ()


GUARD = "whence.guard"
TABLE: dict[str, Converter[Context]] = {GUARD: Converter(_checked)}
