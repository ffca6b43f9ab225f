"""The error raised where the answer depends on sizes that only a call decides."""

from __future__ import annotations

from typing import Any

from xdsl.utils.exceptions import VerifyException


class UndecidedSize(VerifyException):
    """A question about sizes that some values of their symbols answer so, and others otherwise.

    A pattern that asks one before it has changed anything does not match (`rewrite.py`).
    """

    def __init__(self, text: str, sides: tuple[Any, Any] | None = None, *, relation: str = "==", needed: bool = False):
        super().__init__(text)
        self.sides = sides
        """The sizes of which nobody knows whether they are in the relation, where that is the question."""
        self.relation = relation
        """`==` or `<=`."""
        self.needed = needed
        """True if no other answer makes sense than that they are."""

    @property
    def equal(self) -> tuple[Any, Any] | None:
        """The sizes of which nobody knows whether they are equal, where that is the question."""
        return self.sides if self.relation == "==" else None
