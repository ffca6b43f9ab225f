"""Ops that move elements and compute nothing: what they give is what they read, in another order or shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from xdsl.ir import Operation, SSAValue
from xdsl.traits import OpTrait

from ..runtime.values.moves import Step


@dataclass(frozen=True)
class MovesElements(OpTrait):
    """The one result has the elements of the first operand, each once, in another order or shape."""

    step: Callable[[Any], Step | None]
    """The step of an op; None if sizes of the call decide it."""
    back: Callable[[Any], Step | None]
    """The step that undoes it."""


class Moved(NamedTuple):
    """A result that is an operand, moved."""

    operand: SSAValue
    step: Step
    back: Step


def moved_value(op: Operation) -> Moved | None:
    """Return the operand whose elements an op moves, and how; None for an op that does anything else."""
    trait = op.get_trait(MovesElements) if op.operands else None
    if trait is None or (step := trait.step(op)) is None or (back := trait.back(op)) is None:
        return None
    return Moved(op.operands[0], step, back)
