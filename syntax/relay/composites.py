"""Functions that are kernels, or that an external compiler takes as one operator: written where they are called."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...dialects.relay.core import FuncOp
from .expr import Expr, Function
from .nodes import free_vars

_KEYS = ("Composite", "Primitive")


def is_composite(expr: Expr) -> bool:
    """Return whether this is such a function, which sees nothing around it."""
    return isinstance(expr, Function) and any(key in expr.attrs for key in _KEYS) and not free_vars(expr)


class Composites:
    """Those of a program, each with its op, under names that are not taken."""

    def __init__(self, taken: Iterable[str]):
        self.made: dict[Function, FuncOp] = {}
        self._taken = set(taken)
        self._count: dict[str, int] = {}

    def name(self, function: Function) -> str:
        """A name that no function has yet."""
        hint = re.sub(r"\W", "_", str(function.attrs.get("Composite", "fused")))
        name, number = hint, self._count.get(hint, 0)
        while name in self._taken:
            number += 1
            name = f"{hint}_{number}"
        self._count[hint] = number
        self._taken.add(name)
        return name
