"""The values that operations of a te.func use."""

from __future__ import annotations

from xdsl.ir import SSAValue

from .ops import ComputeOp, FuncOp
from .stages import ExternOp, HybridOp, ScanOp, StateOp


def packed_calls(func: FuncOp) -> list[ExternOp]:
    """The calls of Python functions."""
    return [op for op in func.block.ops if isinstance(op, ExternOp) and op.packed is not None]


def inputs_of(op: ComputeOp | StateOp | ScanOp | ExternOp | HybridOp) -> list[SSAValue]:
    """The tensors that an operation uses, each once, in order of their first use; of a scan inits, then updates."""
    if isinstance(op, ScanOp):
        return [*op.inits, *op.updates]
    return list(dict.fromkeys([read.tensor for read in op.reads] if isinstance(op, ComputeOp) else op.operands))
