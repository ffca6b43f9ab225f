"""The parts of regions under construction: nodes, constants, handles of variables, and running graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...runtime.interpreting.flow import Region
from ..importing.constants import Constants
from ..importing.node import Node as ModelNode
from .graphs import Graph, Ref
from .restored import CALLS, Key

IFS, WHILES, CASE = ("If", "StatelessIf"), ("While", "StatelessWhile"), ("Case", "StatelessCase")
CONTROL = (*IFS, *WHILES, *CASE)
INPUTS = ("Placeholder",)
READS = ("ReadVariableOp", "DisableCopyOnRead")
SAME = (
    "Identity",
    "PlaceholderWithDefault",
    "StopGradient",
    "PreventGradient",
    "CheckNumerics",
    "Snapshot",
    "DebugGradientIdentity",
)
"""Operators that return their input under another name."""
RUN = {
    **dict.fromkeys(CALLS, ("f",)),
    **dict.fromkeys(IFS, ("then_branch", "else_branch")),
    **dict.fromkeys(WHILES, ("cond", "body")),
    **dict.fromkeys(CASE, ("branches",)),
}
"""Operator -> the attributes that hold the functions that it runs."""
TRUTH, IS_NUMBER = "a truth value", "a branch's number"
"""Kinds of steps that come from no node of the file."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Node(ModelNode):
    """The node of the model that a step comes from."""

    attributes: Mapping[str, Any]
    outputs: int = 1
    """The number of its outputs up to the last that is read."""
    number: int = 0
    """The number of the branch that a step tests for."""


@dataclass(frozen=True)
class Handle:
    """A variable on an edge."""

    key: Key


Value: TypeAlias = "str | Handle"
"""A value on an edge: a tensor by its name, or a variable."""


@dataclass(eq=False)
class Scope:
    """A region under construction, and the variables in it."""

    region: Region
    constants: Constants
    current: dict[Key, str]
    """The name of each variable's value at this point."""


@dataclass(eq=False)
class Instance:
    """A graph that a layer runs."""

    graph: Graph
    arguments: Mapping[str, Value]
    scope: str
    """The prefix of the names of its layers."""
    call: str
    """The layer that runs it."""
    running: tuple[Graph, ...]
    """The graph and the graphs around it."""
    values: dict[Ref, Value] = field(default_factory=lambda: dict[Ref, Value]())
    layers: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    """Node -> its layer."""
