"""Locations that got lost, and are known to be: no later pass hides what an unaware one forgot."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import LocationAttr, ModuleOp, NameLoc, NoneAttr, StringAttr, UnknownLoc
from xdsl.ir import Operation

from .span import leaves
from .walk import walk

_PREFIX = "lost by pass "


@lru_cache
def lost_location(pass_name: str) -> NameLoc:
    """The leaf that says that `pass_name` lost what was here: a name without a place, which survives text."""
    return NameLoc(StringAttr(_PREFIX + pass_name), NoneAttr())


def is_lost(leaf: LocationAttr) -> bool:
    """Return whether a leaf stands for something lost."""
    # By class, as xDSL's attributes are abstract base classes: `isinstance` takes ten times as long to deny one.
    return leaf.__class__ is NameLoc and _is_lost(cast(NameLoc, leaf))


def _is_lost(leaf: NameLoc) -> bool:
    return leaf.location.__class__ is NoneAttr and leaf.desc.data.startswith(_PREFIX)


def is_located(location: LocationAttr) -> bool:
    """Return whether it is known which layers a location stands for: all of them, nothing lost among them."""
    parts = leaves(location)
    return bool(parts) and not any(map(is_lost, parts))


def unlocated(root: Operation) -> list[Operation]:
    """The ops at and below `root` that have no location; modules need none."""
    return [op for op in walk(root) if op.location.__class__ is UnknownLoc and not isinstance(op, ModuleOp)]


def mark_lost(root: Operation, pass_name: str) -> int:
    """Locate the ops that have no location at the pass that lost them, and say how many they are."""
    lost = unlocated(root)
    for op in lost:
        op.location = lost_location(pass_name)
    return len(lost)
