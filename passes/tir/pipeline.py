"""The order of the tir passes on the way to machine code."""

from __future__ import annotations

from collections.abc import Callable

from ...dialects.tir import IfOp, PrimFuncOp
from . import flatten_buffer, loop_partition, remove_no_op, simplify, vectorize

TIR_PIPELINE: tuple[tuple[str, Callable[[PrimFuncOp], None]], ...] = (
    # First, so that trivial loops and guards do not stand in the way of vectors.
    ("tir-simplify", simplify.run),
    # Before buffers are flat, while indices say which dimension a lane moves along.
    ("tir-vectorize", vectorize.run),
    ("tir-flatten-buffer", flatten_buffer.run),
    # Last, for the scalars whose vectors took over.
    ("tir-remove-no-op", remove_no_op.run),
)
"""Pass names and what each runs on a kernel, in order."""


def run_tir_passes(func: PrimFuncOp) -> None:
    """Bring one kernel, as te_to_tir makes it, into the form that tir_to_llvm reads; in place, without verifying."""
    for _, run in TIR_PIPELINE:
        run(func)


def partition_uneven(func: PrimFuncOp) -> None:
    """Give the last pass of uneven splits code of its own, so that no guard stands in the others; in place.

    Before the passes above. Kernels of even splits stay as they are: guards of loads are not worth the code.
    """
    if any(isinstance(op, IfOp) and op.likely is not None for op in func.walk()):
        loop_partition.run(func)
