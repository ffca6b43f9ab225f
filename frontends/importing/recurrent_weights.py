"""Weights of recurrent layers in panels, as their operators take them (`dialects/relay/recurrent.py`)."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay.transform import ReshapeOp, TransposeOp
from .context import Context
from .tensor import shape_of

_BLOCK = 16
"""Units that a panel of weights has at most."""
_NARROW = 8
"""Units that a panel has at least; of the last panel some may be too many."""
_MANY = 64
"""From so many units on, a panel is a whole block."""


def padded_units(units: int) -> int:
    """The units that weights are packed for: panels of other widths are slower than some units too many."""
    width = _BLOCK if units >= _MANY else _NARROW
    return -(-units // width) * width


def panels(ctx: Context, rows: SSAValue, gates: int, units: int) -> SSAValue:
    """Recurrent weights (gates * units, hidden) as (units / block, hidden, gates, block), for padded units."""
    block = _BLOCK if units % _BLOCK == 0 else _NARROW
    split = ctx.emit(ReshapeOp, rows, newshape=(gates, units // block, block, shape_of(rows)[1]))
    return ctx.emit(TransposeOp, split, axes=(1, 3, 0, 2))
