"""Ops that move elements and compute nothing: what they give is the value of what they read."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.traits import OpTrait


class MovesElements(OpTrait):
    """The one result has the elements of the first operand, each once, in another order or shape."""


def moved_value(op: Operation, operands: Sequence[SSAValue]) -> SSAValue | None:
    """The operand whose elements an op moves; None for an op that does anything else."""
    return operands[0] if operands and op.has_trait(MovesElements) else None
