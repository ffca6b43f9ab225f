"""The nodes of models behind the importer's steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import LocationAttr

from ...runtime.interpreting.flow import Step
from .frames import Frame


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """The node of the model that a step comes from."""

    op_type: str
    leaf: LocationAttr
    layer: str
    index: int
    """The number of the node of the main graph that it is or is in."""
    module: str = ""
    """The path of its module in the source program, if the model records it."""
    frames: tuple[Frame, ...] = ()
    """The calls in the source program that created it, innermost first, if the model records them."""


def node_of(step: Step) -> Node:
    return cast(Node, step.source)
