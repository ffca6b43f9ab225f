"""The error raised where the answer depends on sizes that only a call decides."""

from __future__ import annotations

from typing import Any

from xdsl.utils.exceptions import VerifyException


class UndecidedSize(VerifyException):
    """A question about sizes that some values of their symbols answer so, and others otherwise.

    A pattern that asks one before it has changed anything does not match (`rewrite.py`).
    """

    def __init__(self, text: str, equal: tuple[Any, Any] | None = None, *, needed: bool = False):
        super().__init__(text)
        self.equal = equal
        """The sizes of which nobody knows whether they are equal, where that is the question."""
        self.needed = needed
        """True if no other answer makes sense than that they are."""
