"""The part of the session document that leads through it: tours, whose steps are addresses of the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class TourStep:
    """A place of a tour."""

    address: str
    """The part of the page's address from `#` on that shows it: panes, pins, tab, heat and query."""
    text: str
    """A sentence about what is to be seen there."""


@dataclass
class Tour:
    """Places to be seen one after the other."""

    title: str
    steps: list[TourStep]
