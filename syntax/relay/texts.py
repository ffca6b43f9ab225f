"""Text of expressions: a printer stands on their classes, so that these are told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class ExprPrinter(Protocol):
    """Makes text of expressions; the package `text` is one."""

    def astext(self, node: Any, show_meta_data: bool = True, annotate: Callable[[Any], str] | None = None) -> str: ...

    def pretty_print(self, node: Any) -> str: ...


_loaders: list[Callable[[], ExprPrinter]] = []


def print_with(load: Callable[[], ExprPrinter]) -> None:
    """Have expressions be printed by what `load` returns, which is called when there is something to print."""
    _loaders.append(load)


def printer() -> ExprPrinter:
    """Return the printer of expressions."""
    return _loaders[-1]()
