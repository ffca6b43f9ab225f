"""Names and docstrings that say what things are: words that a reader stumbles over do not become more."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache

from imports_of import modules

VAGUE = {"found": 207, "one": 132, "given": 156, "made": 48, "known": 74, "told": 4, "taken": 22, "place": 83}
"""Variables that say what happened to a thing, or nothing, and how many there are: the numbers may only fall."""
QUESTIONS = 2
"""How many docstrings begin as indirect questions do."""


@cache
def _trees() -> tuple[ast.Module, ...]:
    return tuple(ast.parse(path.read_text()) for path in modules().values())


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_names_say_what_things_are():
    counts = Counter(name for tree in _trees() for name in _names(tree) if name in VAGUE)
    assert {name: counts[name] for name in VAGUE if counts[name] > VAGUE[name]} == {}


def test_docstrings_are_no_questions():
    first = [
        (ast.get_docstring(node) or "-").split()[0]
        for tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    assert sum(word in ("What", "Whether", "How") for word in first) <= QUESTIONS
