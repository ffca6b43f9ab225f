"""The effects of ops besides giving results: writing to buffers, and trapping."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ....dialects.tir import CallExternOp, TileStoreOp
from ....dialects.tir.index_maps import Writer

DIVISIONS = (
    arith.DivSIOp
    | arith.DivUIOp
    | arith.RemSIOp
    | arith.RemUIOp
    | arith.FloorDivSIOp
    | arith.CeilDivSIOp
    | arith.CeilDivUIOp
)
"""They trap, or mean nothing, for a divisor of 0."""


def writes(op: Operation, buffer: SSAValue) -> bool:
    """Return whether `op` writes the buffer, or calls a function that may."""
    if isinstance(op, Writer | TileStoreOp):
        return op.buffer is buffer
    return isinstance(op, CallExternOp) and buffer in op.operands
