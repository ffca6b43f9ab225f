"""An attempt to match a pattern: the expression for each of its parts, and backtracking from a wrong guess."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from .expressions import Expr, Node, inputs


class Pattern(ABC):
    """The interface of all patterns. One is equal only to itself: two uses of one stand for one expression."""

    embeds_constants = False
    """True when a constant that it matches is part of the match, not an input of it."""

    @property
    def parts(self) -> Sequence[Pattern]:
        """The patterns that it is made of, in the order in which they are tried; none of a leaf."""
        return ()

    @property
    def is_input(self) -> bool:
        """True when a match reads what it stands for: one without parts."""
        return not self.parts

    @property
    def fuzzy(self) -> Sequence[Pattern]:
        """Return its parts that may match several expressions inside the match."""
        return ()

    @abstractmethod
    def accepts(self, matcher: Matcher, node: Node) -> bool:
        """Return whether it matches a node, its parts included. It may leave parts matched when it does not."""


def all_parts(*patterns: Pattern) -> list[Pattern]:
    """Patterns, and all that they are made of, in order, each once."""
    seen: dict[Pattern, None] = {}
    stack = list(reversed(patterns))
    while stack:
        part = stack.pop()
        if part not in seen:
            seen[part] = None
            stack += reversed(part.parts)
    return list(seen)


class Matcher:
    """The expressions that the parts of a pattern stand for so far. `readers` gives those that read one."""

    def __init__(self, readers: Callable[[Expr], Sequence[Expr]]) -> None:
        self._readers = readers
        self.memo: dict[Pattern, list[Node]] = {}
        self._trail: list[Pattern] = []
        self._free = 0

    def match(self, pattern: Pattern, node: Node) -> bool:
        """Return whether a pattern matches a node; one that stands for something already matches only that."""
        previous = self.memo.get(pattern)
        if previous and not self._free:
            return previous[0] == node
        mark = self.mark()
        if pattern.accepts(self, node):
            self.memo.setdefault(pattern, []).append(node)
            self._trail.append(pattern)
            return True
        self.undo(mark)
        return False

    def match_all(self, patterns: Sequence[Pattern], nodes: Sequence[Node]) -> bool:
        """Return whether patterns match nodes one by one; else nothing is left matched."""
        mark = self.mark()
        if len(patterns) == len(nodes) and all(self.match(p, node) for p, node in zip(patterns, nodes, strict=True)):
            return True
        self.undo(mark)
        return False

    def mark(self) -> int:
        return len(self._trail)

    def undo(self, mark: int) -> None:
        """Forget what was matched since `mark`."""
        while len(self._trail) > mark:
            self.memo[self._trail.pop()].pop()

    def match_each(self, pattern: Pattern, node: Node) -> bool:
        """Return whether a pattern, which may stand for several expressions, matches one more."""
        self._free += 1
        try:
            return self.match(pattern, node)
        finally:
            self._free -= 1

    def dominated(self, root: Expr, parent: Pattern, path: Pattern) -> bool:
        """Return whether all ways from `root` up lead, through exprs that match `path`, to one that matches `parent`.

        And all ways from that one down lead to `root`. What stands beside the parent may be anything.
        """
        dominator: Expr | None = None
        between: set[Expr] = {root}
        stack: list[Expr] = [root]
        while stack:
            around = inputs(stack.pop())
            above = next((node for node in around if self.match(parent, node)), None)
            dominator = above if above is not None else dominator
            for node in around:
                if node == above or node in between:
                    continue
                if self.match_each(path, node):
                    between.add(node)
                    stack.append(node)
                elif above is None:
                    return False
        return dominator is not None and self._leads_to(dominator, root, between)

    def _leads_to(self, start: Expr, root: Expr, inside: set[Expr]) -> bool:
        """Return whether whatever is computed of `start` is inside, and ends in `root`."""
        seen: set[Expr] = {root}
        stack = [start]
        while stack:
            for reader in self._readers(stack.pop()):
                if reader not in inside:
                    return False
                if reader not in seen:
                    seen.add(reader)
                    stack.append(reader)
        return True
