"""The C functions that kernels call by name, looked for before their code is linked."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from ...provenance.diagnostics import message
from ...support.errors import PipelineError
from .target import binding

if TYPE_CHECKING:
    from ...dialects.tir import PrimFuncOp

EXPECTED = "calls of C functions of loaded libraries"


def in_process(symbol: str) -> bool:
    """Return whether this process, its libraries among it, has a function of that name."""
    return binding().address_of_symbol(symbol) is not None


def check_symbols(func: PrimFuncOp, imports: Container[str]) -> None:
    """Raises PipelineError when `func` calls what neither this process has nor `imports`; it names stage and layer."""
    from ...dialects.tir import CallExternOp

    for op in func.walk():
        if not isinstance(op, CallExternOp):
            continue
        callee = op.callee.data
        if not callee.startswith("llvm.") and callee not in imports and not in_process(callee):
            actual = f"'{callee}', which this process does not have"
            raise PipelineError(message(f"function '{func.sym_name.data}'", EXPECTED, actual, op.location))
