"""Docstrings that begin with a verb or a noun phrase."""

from __future__ import annotations

import ast

from imports_of import modules

QUESTIONS = 0
"""How many docstrings begin as indirect questions do."""


def test_docstrings_are_no_questions():
    first = [
        (ast.get_docstring(node) or "-").split()[0]
        for tree in map(ast.parse, (path.read_text() for path in modules().values()))
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    assert sum(word in ("What", "Whether", "How") for word in first) <= QUESTIONS
