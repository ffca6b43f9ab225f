"""Nodes of models, as steps of the importer know them."""

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
    """Of the node of the main graph that it is, or is in."""
    module: str = ""
    """The path of the module of the source program that it is of, where the model says so."""
    frames: tuple[Frame, ...] = ()
    """The calls of the source program that made it, the innermost first, where the model says so."""


def node_of(step: Step) -> Node:
    return cast(Node, step.source)
