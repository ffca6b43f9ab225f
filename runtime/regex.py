"""Regular expressions in RE2's syntax, matched in time that is linear in the text, whatever the expression.

An expression becomes a machine of states, all of which that a text may be in are followed at once; so none is tried
again and again, as by Python's `re`. What RE2 lacks, such as references to groups, is refused. Classes such as `\\d`
are of ASCII letters; `\\p{L}` knows Unicode's categories, not its scripts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from .regex_syntax import Node, Test, parsed

_MOST_STATES = 10_000
"""Of a machine: repetitions multiply them."""
_KEPT = 4096
"""How many steps of a machine are remembered."""
_MATCH = 0
"""The state at the end."""


@dataclass(eq=False)
class _State:
    """`test` of the next character, or `name` of an assertion, or neither: then it goes on without one."""

    test: Test | None = None
    name: str = ""
    ways: list[int] = field(default_factory=lambda: list[int]())


class Pattern:
    """An expression, ready to match."""

    def __init__(self, text: str):
        self.text = text
        self._states = [_State()]
        self._first = self._built(parsed(text), _MATCH)
        self._steps: dict[tuple[frozenset[int], str, str], tuple[bool, frozenset[int]]] = {}

    @staticmethod
    @lru_cache(64)
    def of(text: str) -> Pattern:
        """The pattern of an expression; raises ValueError for one that RE2 does not know, or that is too large."""
        return Pattern(text)

    def matches(self, text: str) -> bool:
        """Whether the expression matches all of a text."""
        return any(end == len(text) for end in self._ends(text, 0))

    def longest(self, text: str, start: int) -> int | None:
        """Where the longest match from a place on ends."""
        return max(self._ends(text, start), default=None)

    def found_in(self, text: str) -> list[str]:
        """The longest matches that are not empty, from left to right."""
        return [text[start:end] for start, end in self._spans(text)]

    def split(self, text: str) -> list[str]:
        """What is between them."""
        parts: list[str] = []
        at = 0
        for start, end in self._spans(text):
            parts.append(text[at:start])
            at = end
        return [*parts, text[at:]]

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        at = 0
        while at < len(text):
            end = self.longest(text, at)
            if end is None or end == at:
                at += 1
            else:
                yield at, end
                at = end

    def _add(self, state: _State) -> int:
        if len(self._states) >= _MOST_STATES:
            raise ValueError(f"expected a regular expression of at most {_MOST_STATES} states, got {self.text[:100]!r}")
        self._states.append(state)
        return len(self._states) - 1

    def _built(self, node: Node, after: int) -> int:
        """The first state of a part, which leads to the state `after`. Parts are as deep as groups may be."""
        match node.kind:
            case "empty":
                return after
            case "set" | "assert":
                return self._add(_State(node.test, node.name, [after]))
            case "all":
                for part in reversed(node.parts):
                    after = self._built(part, after)
                return after
            case "any":
                return self._add(_State(ways=[self._built(part, after) for part in node.parts]))
            case _:
                return self._repeated(node, after)

    def _repeated(self, node: Node, after: int) -> int:
        (part,) = node.parts
        if node.most is None:
            loop = self._add(_State(ways=[after]))
            self._states[loop].ways.append(self._built(part, loop))
            after = loop
        else:
            end = after
            for _ in range(node.most - node.least):
                after = self._add(_State(ways=[end, self._built(part, after)]))
        for _ in range(node.least):
            after = self._built(part, after)
        return after

    def _ends(self, text: str, start: int) -> Iterator[int]:
        """Where matches from a place on end."""
        states = frozenset([self._first])
        before = text[start - 1 : start]
        for at in range(start, len(text) + 1):
            here = text[at : at + 1]
            key = (states, _kind(before), here)
            following = self._steps.get(key)
            if following is None:
                following = self._step(states, before, here)
                if len(self._steps) >= _KEPT:
                    self._steps.clear()
                self._steps[key] = following
            ended, states = following
            if ended:
                yield at
            if not states:
                return
            before = here

    def _step(self, states: frozenset[int], before: str, here: str) -> tuple[bool, frozenset[int]]:
        """Whether a match ends before the character `here`, "" at the end; and the states behind it."""
        reached, stack, following = set(states), list(states), set[int]()
        while stack:
            state = self._states[stack.pop()]
            if state.test is not None:
                if here and state.test(here):
                    following.update(state.ways)
            elif not state.name or _holds(state.name, before, here):
                stack += [way for way in state.ways if way not in reached]
                reached.update(state.ways)
        return _MATCH in reached, frozenset(following)


def _is_word(character: str) -> bool:
    return character != "" and character.isascii() and (character.isalnum() or character == "_")


def _kind(before: str) -> str:
    """What assertions ask of the character before."""
    return before if before in ("", "\n") else "w" if _is_word(before) else "-"


def _holds(name: str, before: str, here: str) -> bool:
    match name:
        case "start":
            return before == ""
        case "end":
            return here == ""
        case "line start":
            return before in ("", "\n")
        case "line end":
            return here in ("", "\n")
        case "border":
            return _is_word(before) != _is_word(here)
        case _:
            return _is_word(before) == _is_word(here)
