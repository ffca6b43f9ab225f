"""The kind of program that a model was compiled to and why, and the tiers that a caller may ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from whence.frontends.importing.custom import Fallback

Kind = Literal["static", "sized", "interpreted", "virtual machine"]

Tier = Literal["auto", "symbolic", "static"]
"""`symbolic` is one program for all sizes, `static` one for each; `auto` begins with the one and adds of the others."""

Specialize = Mapping[str, int | Sequence[int]]
"""Sizes to compile programs for ahead of time: of each symbol one number or several, every combination."""


def check_tier(tier: str) -> None:
    """Raise PipelineError for an unknown tier."""
    if tier not in get_args(Tier):
        raise PipelineError(f"tier: expected one of {', '.join(get_args(Tier))}, got {tier!r}")


@dataclass(frozen=True)
class Choice:
    """The kind of program that a model became, and the reason in words.

    `static`: one native program for known sizes; `sized`: one for all sizes; `interpreted`: native stretches that are
    compiled when a call comes to them; `virtual machine`: the same, around the control flow of a relay program.
    """

    kind: Kind
    reason: str
    fallback: Fallback | None = None
    """The library for operators without a row, if any, and the layers that it computes so far."""

    def __str__(self) -> str:
        return "; ".join([f"{self.kind}: {self.reason}", *self.notes])

    @property
    def notes(self) -> list[str]:
        """Return a description of the layers that the library computes."""
        return [str(self.fallback)] if self.fallback is not None and self.fallback.layers else []


KNOWN = Choice("static", "all sizes are numbers")
