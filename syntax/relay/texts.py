"""Text of expressions: their classes cannot import the printer, which needs them, so that it is registered here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class ExprPrinter(Protocol):
    """A printer of expressions; the package `text` is one."""

    def astext(self, node: Any, show_meta_data: bool = True, annotate: Callable[[Any], str] | None = None) -> str: ...

    def pretty_print(self, node: Any) -> str: ...


_loaders: list[Callable[[], ExprPrinter]] = []


def print_with(load: Callable[[], ExprPrinter]) -> None:
    """Set the printer of expressions to the result of `load`, which is called when there is something to print."""
    _loaders.append(load)


def printer() -> ExprPrinter:
    """Return the printer of expressions."""
    return _loaders[-1]()
