"""Which kind of program a model was compiled to, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["static", "sized", "interpreted", "virtual machine"]


@dataclass(frozen=True)
class Choice:
    """The kind of program that a model became, and the reason in words.

    `static`: one native program for known sizes; `sized`: one for all sizes; `interpreted`: native stretches that are
    compiled when a call comes to them; `virtual machine`: the same, around the control flow of a relay program.
    """

    kind: Kind
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


KNOWN = Choice("static", "all sizes are numbers")
