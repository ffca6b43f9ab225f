"""The layer and pass that an error's frames worked on: read off as it leaves a door, so nothing is noted before."""

from __future__ import annotations

from inspect import getattr_static
from types import FrameType

from xdsl.dialects.builtin import LocationAttr, NameLoc, UnknownLoc
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from ..support.doors import find_with
from .diagnostics import describe


@find_with
def culprits(frame: FrameType) -> tuple[str, str]:
    """The pass that a frame runs, and the layers of an op or location that it has in hand; "" where it has none."""
    stage, layer = "", ""
    for value in list(frame.f_locals.values()):
        if isinstance(value, ModulePass):
            stage = stage or f"pass {value.name}"
            continue
        location = value if isinstance(value, LocationAttr) else _location(value)
        if not layer and location is not None and not isinstance(location, UnknownLoc):
            layer = describe(location)
    return stage, layer


def _location(value: object) -> LocationAttr | None:
    """Return that of an op, or of what a frontend has of a node; the name of a function is no layer."""
    name = "location" if isinstance(value, Operation) else "leaf"
    # Objects of users and of libraries may answer any name, with anything, or raise: they are looked at, not asked.
    location = getattr_static(value, name, None)
    if isinstance(location, NameLoc) and isinstance(value, Operation) and value.has_trait(IsolatedFromAbove):
        return None
    return location if isinstance(location, LocationAttr) else None
