"""Kernels of tir that a program in numpy calls."""

from __future__ import annotations

from collections.abc import Sequence

from whence.dialects.relay.call_tir import CallTirOp
from whence.dialects.relay.evaluation import operands_of
from whence.kernels.building import build_prim_func
from whence.support.dtypes import Array


def run_kernel(call: CallTirOp, arrays: Sequence[Array]) -> Sequence[Array]:
    """Return the results of a call of a kernel, whose loops are compiled as they are written, not raised."""
    from whence.lowering.relay_to_te.call_tir import called_kernel

    shaped = call.at_types(operands_of(arrays))
    results = build_prim_func(called_kernel(shaped))(*arrays)
    return results if isinstance(results, tuple) else (results,)
