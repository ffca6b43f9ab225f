"""Which kind of program a model was compiled to, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from whence.frontends.importing.custom import Fallback

Kind = Literal["static", "sized", "interpreted", "virtual machine"]


@dataclass(frozen=True)
class Choice:
    """The kind of program that a model became, and the reason in words.

    `static`: one native program for known sizes; `sized`: one for all sizes; `interpreted`: native stretches that are
    compiled when a call comes to them; `virtual machine`: the same, around the control flow of a relay program.
    """

    kind: Kind
    reason: str
    fallback: Fallback | None = None
    """The library that was to compute what has no row, if any, and the layers that it computes so far."""

    def __str__(self) -> str:
        return "; ".join([f"{self.kind}: {self.reason}", *self.notes])

    @property
    def notes(self) -> list[str]:
        """Return what others compute, in words."""
        return [str(self.fallback)] if self.fallback is not None and self.fallback.layers else []


KNOWN = Choice("static", "all sizes are numbers")
