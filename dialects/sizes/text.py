"""Sizes as text: `past + 1`, `2*batch*seq`, `(w - 3) floordiv 2 + 1`, `min(seq, 512)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from functools import lru_cache
from itertools import count

from .expr import RESERVED, Size, UndecidedSize, ceil_div, size_max, size_min, symbol

_TOKEN = re.compile(r"\s*(?:(\d+)|([^\W\d]\w*)|(//|[-+*%(),]))")
_DEEPEST = 60
"""The number of brackets that may stand in each other."""

_PRODUCTS: Mapping[str, Callable[[Size, Size], Size]] = {
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": ceil_div,
    "%": lambda a, b: a % b,
    "mod": lambda a, b: a % b,
}


@lru_cache(maxsize=1 << 12)
def parse_size(text: str) -> Size:
    """The size that a text spells: `str` of a size, or with `//`, `%` and `ceildiv`.

    Raises ValueError for another text.
    """
    reader = _Reader(text)
    try:
        size = reader.sum(0)
    except ZeroDivisionError as error:
        raise ValueError(f"size {text!r} divides by 0") from error
    except UndecidedSize as error:
        raise ValueError(f"{error}: {_shown(text)}") from error
    reader.expect("")
    return size


def identifier(text: str, taken: Container[str] = ()) -> str:
    """Return a name of a symbol for a text, other than those that are taken."""
    name = re.sub(r"\W", "_", text)
    name = name if name.isidentifier() and name not in RESERVED else f"_{name}"
    return next(called for k in count() if (called := f"{name}_{k}" if k else name) not in taken)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


class _Reader:
    def __init__(self, text: str):
        self.text, self.tokens, self.place = text, list[str](), 0
        at, end = 0, len(text.rstrip())
        while at < end:
            if (match := _TOKEN.match(text, at)) is None:
                raise ValueError(f"expected a size such as 2*seq + 1, got {text!r}")
            self.tokens.append(match.group().strip())
            at = match.end()
        self.tokens.append("")

    def next(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]

    def expect(self, token: str) -> None:
        if (actual := self.next()) != token:
            raise ValueError(f"expected {token or 'the end'}, got {actual or 'the end'!r} in size {self.text!r}")

    def sum(self, depth: int) -> Size:
        total = self.product(depth)
        while self.tokens[self.place] in ("+", "-"):
            sign = self.next()
            term = self.product(depth)
            total = total + term if sign == "+" else total - term
        return total

    def product(self, depth: int) -> Size:
        sign = 1
        while self.tokens[self.place] == "-":
            self.next()
            sign = -sign
        total = self.factor(depth) * sign
        while (combine := _PRODUCTS.get(self.tokens[self.place])) is not None:
            self.next()
            total = combine(total, self.factor(depth))
        return total

    def factor(self, depth: int) -> Size:
        if depth > _DEEPEST:
            raise ValueError(f"expected at most {_DEEPEST} brackets in each other in size {self.text!r}")
        match token := self.next():
            case "(":
                size = self.sum(depth + 1)
                self.expect(")")
                return size
            case "min" | "max":
                return self.extreme(size_min if token == "min" else size_max, depth + 1)
            case _ if token.isdecimal():
                return int(token)
            case _ if token.isidentifier():
                return symbol(token)
            case _:
                raise ValueError(f"expected a number or a name, got {token or 'the end'!r} in size {self.text!r}")

    def extreme(self, combine: Callable[..., Size], depth: int) -> Size:
        self.expect("(")
        sizes = [self.sum(depth)]
        while self.tokens[self.place] == ",":
            self.next()
            sizes.append(self.sum(depth))
        self.expect(")")
        return combine(*sizes)
