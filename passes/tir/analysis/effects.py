"""What ops do to the memory of buffers."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....dialects.tir import CallExternOp
from ..rewriting.common import Writer


def writes(op: Operation, buffer: SSAValue) -> bool:
    """Whether `op` writes the buffer, or calls a function that may."""
    return (isinstance(op, Writer) and op.buffer is buffer) or (isinstance(op, CallExternOp) and buffer in op.operands)
