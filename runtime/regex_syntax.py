"""RE2's syntax of regular expressions, read into a tree."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, TypeAlias

Test: TypeAlias = Callable[[str], bool]
"""Whether a character is in a set."""

_DEEPEST = 100
"""How many groups may lie in one another."""
_MOST_TIMES = 1000
"""As RE2 has it."""
_ESCAPES = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_ASSERTIONS = {"A": "start", "z": "end", "b": "border", "B": "inside"}
_POSIX: dict[str, Test] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "ascii": lambda c: True,
    "blank": lambda c: c in "\t ",
    "cntrl": lambda c: c < " " or c == "\x7f",
    "digit": str.isdigit,
    "graph": lambda c: "!" <= c <= "~",
    "lower": str.islower,
    "print": lambda c: " " <= c <= "~",
    "punct": lambda c: "!" <= c <= "~" and not c.isalnum(),
    "space": lambda c: c in "\t\n\v\f\r ",
    "upper": str.isupper,
    "word": lambda c: c.isalnum() or c == "_",
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}
_PERL: dict[str, Test] = {"d": _POSIX["digit"], "w": _POSIX["word"], "s": lambda c: c in "\t\n\f\r "}


@dataclass(frozen=True)
class Node:
    """A part of an expression.

    kind: `empty`, `set` (a character), `assert` (what is around a place), `all` (parts one after another), `any` (one
    of the parts), or `repeat`.
    """

    kind: str
    parts: tuple[Node, ...] = ()
    test: Test | None = None
    name: str = ""
    least: int = 0
    most: int | None = None


EMPTY = Node("empty")


@dataclass
class _Flags:
    fold: bool = False
    lines: bool = False
    dots: bool = False


def parsed(text: str) -> Node:
    """The tree of an expression; raises ValueError for one that RE2 does not know, or that is too deep."""
    return _Parser(text).whole()


def _ascii(test: Test) -> Test:
    return lambda c: c.isascii() and test(c)


def _folded(test: Test) -> Test:
    return lambda c: test(c) or test(c.lower()) or test(c.upper()) or test(c.casefold())


def _not(test: Test) -> Test:
    return lambda c: not test(c)


def _among(low: str, high: str, c: str) -> bool:
    return low <= c <= high


def _category(name: str, c: str) -> bool:
    return unicodedata.category(c).startswith(name)


class _Parser:
    def __init__(self, text: str):
        self.text = text
        self.at = 0
        self.depth = 0
        self.flags = _Flags()

    def fail(self, found: str) -> NoReturn:
        raise ValueError(f"expected a regular expression of RE2, got {found} at {self.at} of {self.text[:100]!r}")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        if self.at >= len(self.text):
            self.fail("its end")
        self.at += 1
        return self.text[self.at - 1]

    def accept(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def whole(self) -> Node:
        tree = self.alternatives()
        if self.at < len(self.text):
            self.fail("a ')' too many")
        return tree

    def alternatives(self) -> Node:
        parts = [self.sequence()]
        while self.accept("|"):
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else Node("any", tuple(parts))

    def sequence(self) -> Node:
        parts: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            if self.accept("\\Q"):
                end = self.text.find("\\E", self.at)
                end = len(self.text) if end < 0 else end
                parts += [self.literal(c) for c in self.text[self.at : end]]
                self.at = min(len(self.text), end + 2)
                if parts:
                    parts[-1] = self.repeated(parts[-1])
                continue
            part = self.atom()
            parts.append(part if part is EMPTY else self.repeated(part))
        return parts[0] if len(parts) == 1 else Node("all", tuple(parts))

    def repeated(self, part: Node) -> Node:
        """A part with what says how often it comes."""
        times = 0
        while True:
            begin, character = self.at, self.peek()
            if character and character in "*+?":
                self.at += 1
                least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[character]
            elif (counts := re.compile(r"\{(\d{1,5})(,(\d{0,5}))?\}").match(self.text, self.at)) is not None:
                self.at = counts.end()
                least = int(counts[1])
                most = least if counts[2] is None else int(counts[3]) if counts[3] else None
                if least > _MOST_TIMES or (most or 0) > _MOST_TIMES or (most is not None and most < least):
                    self.fail(f"the count {counts[0]}")
            else:
                return part
            self.accept("?")  # which match comes first is no question where all of a text is to match
            times += 1
            if times > 1 and self.text[begin] in "*+?" and self.text[begin - 1] in "*+?":
                self.at = begin
                self.fail("a repetition of a repetition")
            part = Node("repeat", (part,), least=least, most=most)

    def literal(self, character: str) -> Node:
        test: Test = character.__eq__
        return Node("set", test=_folded(test) if self.flags.fold else test)

    def atom(self) -> Node:
        character = self.take()
        match character:
            case "(":
                return self.group()
            case "[":
                test = self.members()
                return Node("set", test=test)
            case ".":
                return Node("set", test=(lambda c: True) if self.flags.dots else "\n".__ne__)
            case "^":
                return Node("assert", name="line start" if self.flags.lines else "start")
            case "$":
                return Node("assert", name="line end" if self.flags.lines else "end")
            case "*" | "+" | "?":
                self.at -= 1
                self.fail("a repetition of nothing")
            case "\\":
                if self.peek() in _ASSERTIONS and self.peek():
                    return Node("assert", name=_ASSERTIONS[self.take()])
                return Node("set", test=self.folded(self.escape()))
            case _:
                return self.literal(character)

    def folded(self, test: Test) -> Test:
        return _folded(test) if self.flags.fold else test

    def group(self) -> Node:
        """What is in a group; flags without one hold for the rest of that around."""
        before = _Flags(self.flags.fold, self.flags.lines, self.flags.dots)
        if self.accept("?"):
            if (name := re.compile(r"P?<[A-Za-z_]\w*>").match(self.text, self.at)) is not None:
                self.at = name.end()
            elif (flags := re.compile(r"([imsU]*)(-[imsU]+)?([:)])").match(self.text, self.at)) is not None:
                self.at = flags.end()
                for names, value in ((flags[1], True), ((flags[2] or "")[1:], False)):
                    self.flags = _Flags(
                        value if "i" in names else self.flags.fold,
                        value if "m" in names else self.flags.lines,
                        value if "s" in names else self.flags.dots,
                    )
                if flags[3] == ")":
                    return EMPTY
            else:
                self.fail("a group of no kind that it has")
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"more than {_DEEPEST} groups in one another")
        tree = self.alternatives()
        if not self.accept(")"):
            self.fail("a group without end")
        self.depth -= 1
        self.flags = before
        # Of what is in parentheses, even of nothing, a repetition may be asked.
        return Node("all", (tree,))

    def escape(self) -> Test:
        r"""What stands behind a `\`: a character, or a class of them."""
        character = self.take()
        if character in "dws":
            return _ascii(_PERL[character])
        if character in "DWS":
            return _not(_ascii(_PERL[character.lower()]))
        if character in "pP":
            return self.category(character == "P")
        self.at -= 1
        return self.escaped().__eq__

    def escaped(self) -> str:
        r"""One character behind a `\`."""
        character = self.take()
        if character in _ESCAPES:
            return _ESCAPES[character]
        if character == "x":
            number = re.compile(r"\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{2})").match(self.text, self.at)
            if number is None or (code := int(number[1] or number[2], 16)) > sys.maxunicode:
                self.fail("a character of no such number")
            self.at = number.end()
            return chr(code)
        if character in "01234567":
            digits = re.compile(r"[0-7]{0,2}").match(self.text, self.at)
            assert digits is not None
            if character != "0" and not digits[0]:
                self.fail("a reference to a group")
            self.at = digits.end()
            return chr(int(character + digits[0], 8))
        if character.isalnum() and character.isascii():
            self.fail(f"the escape \\{character}")
        return character

    def category(self, negated: bool) -> Test:
        if self.accept("{"):
            end = self.text.find("}", self.at)
            name = self.text[self.at : end] if end >= 0 else ""
            self.at = end + 1
        else:
            name = self.take()
        if name.startswith("^"):
            negated, name = not negated, name[1:]
        if name == "Any":
            test: Test = lambda c: True  # noqa: E731
        elif re.fullmatch(r"[LMNPSZC][a-z]?", name):
            test = partial(_category, name)
        else:
            self.fail(f"the class of characters {name!r}")
        return _not(test) if negated else test

    def members(self) -> Test:
        """A set in brackets."""
        negated, tests, first = self.accept("^"), list[Test](), True
        while first or self.peek() != "]":
            first = False
            if (named := re.compile(r"\[:(\^?)(\w+):\]").match(self.text, self.at)) is not None:
                if named[2] not in _POSIX:
                    self.fail(f"the class {named[0]}")
                self.at = named.end()
                test = _ascii(_POSIX[named[2]])
                tests.append(_not(test) if named[1] else test)
                continue
            character = self.take()
            if character == "\\":
                if self.peek() and self.peek() in "dwsDWSpP":
                    tests.append(self.escape())
                    continue
                character = self.escaped()
            high = character
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.take()
                high = self.take()
                high = self.escaped() if high == "\\" else high
                if high < character:
                    self.fail("a range that ends before it begins")
            tests.append(partial(_among, character, high))
        self.take()
        kept = tuple(self.folded(test) for test in tests)

        def test_all(c: str) -> bool:
            return any(test(c) for test in kept) != negated

        return test_all
