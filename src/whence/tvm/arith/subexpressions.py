"""Expressions that occur several times in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from whence.arith.forms import Names
from whence.te.language.expr import Expr, ExprLike, convert
from whence.te.language.walks import children, operands_first


class Occurrences(Mapping[Expr, int]):
    """The counts of expressions; another expression of the same structure is the same key."""

    def __init__(self, names: Names, counts: Mapping[int, tuple[Expr, int]]):
        self._names, self._counts = names, counts

    def __getitem__(self, key: Expr) -> int:
        return self._counts[self._names.of(key)][1]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, Expr) and self._names.of(key) in self._counts

    def __iter__(self) -> Iterator[Expr]:
        return (expr for expr, _ in self._counts.values())

    def __len__(self) -> int:
        return len(self._counts)


def detect_common_subexpr(e: ExprLike, threshold: int) -> Occurrences:
    """Return the greatest expressions that occur at least `threshold` times in one, and how often each does.

    Variables and numbers do not count; parts of those that are returned do only where they stand elsewhere.
    """
    root, names = convert(e), Names()
    numbers: dict[int, int] = {}
    firsts: dict[int, Expr] = {}
    for node in operands_first([root], numbers):
        numbers[id(node)] = names.of(node)
        firsts.setdefault(numbers[id(node)], node)
    counts = Counter({numbers[id(root)]: 1})
    common: dict[int, tuple[Expr, int]] = {}
    # What an expression is part of comes behind it in the order of the walk.
    for number, node in reversed(firsts.items()):
        if children(node) and counts[number] >= threshold:
            common[number] = node, counts[number]
            continue
        for part in children(node):
            counts[numbers[id(part)]] += counts[number]
    return Occurrences(names, common)
