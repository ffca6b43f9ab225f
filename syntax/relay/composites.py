"""Functions written where they are called that are kernels, or single operators for an external compiler."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...dialects.relay.core import FuncOp
from .expr import Expr, Function
from .nodes import free_vars

_KEYS = ("Composite", "Primitive")


def is_composite(expr: Expr) -> bool:
    """Return whether this is such a function, without free variables."""
    return isinstance(expr, Function) and any(key in expr.attrs for key in _KEYS) and not free_vars(expr)


class Composites:
    """The composite functions of a program, each with its op, under unique names."""

    def __init__(self, taken: Iterable[str]):
        self.ops: dict[Function, FuncOp] = {}
        self._taken = set(taken)
        self._count: dict[str, int] = {}

    def name(self, function: Function) -> str:
        """Return a name that no function has yet, and reserve it."""
        hint = re.sub(r"\W", "_", str(function.attrs.get("Composite", "fused")))
        name, number = hint, self._count.get(hint, 0)
        while name in self._taken:
            number += 1
            name = f"{hint}_{number}"
        self._count[hint] = number
        self._taken.add(name)
        return name
