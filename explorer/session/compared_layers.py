"""The rows of a comparison of two sessions in a document: layers, and the first step that differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .ranges import AmountOrNone, CountOrNone, LayerOrNone, StageOrNone


@dataclass
class ComparedLayer:
    """A layer in two sessions; -1 and -1.0 on the side that lacks it."""

    name: str
    first: LayerOrNone
    second: CountOrNone
    """Rows of the layer in both sessions."""
    seconds: tuple[AmountOrNone, AmountOrNone]
    instructions: tuple[CountOrNone, CountOrNone]
    bytes: tuple[CountOrNone, CountOrNone]
    """The bytes of machine code."""
    error: AmountOrNone
    """Largest difference between the values, where both have them; else -1.0."""
    matched: Literal["", "name", "position", "shape"] = ""
    """The ground for taking the two for one layer: their name, else a guess by position or by shapes."""
    reason: str = ""
    """The difference in its code: fusion, schedule or loops; "" where there is none, or none is known."""


@dataclass
class Departure:
    """The first step at which two compilations differ."""

    name: str
    """The pass, or another step: `imported`, `scheduled`."""
    level: str
    side: Literal["both", "here", "there"]
    """The session in which the step changed something."""
    about: str
    layer: LayerOrNone
    """The first layer that it treats otherwise."""
    stage: StageOrNone
    """The stage after it; for a step of the other session the last stage that both have."""
    here: list[str]
    """The first lines that differ, of this session."""
    there: list[str]
