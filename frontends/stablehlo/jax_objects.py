# pyright: basic, reportMissingImports=false
"""Prints the programs that `jax.export` and `jax.jit(..).lower` return in MLIR's generic form."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...support.errors import FrontendError


def text_of(program: Any) -> str:
    """Return the text of a program: a `jax.export.Exported`, a `jax.stages.Lowered` or a module of jaxlib.

    Raises FrontendError for another object, with the calls that make a program.
    """
    if hasattr(program, "mlir_module") and hasattr(program, "in_avals"):
        mlir: Any = import_module("jax.interpreters.mlir")
        ir: Any = import_module("jaxlib.mlir.ir")
        with mlir.make_ir_context():
            return _generic(ir.Module.parse(program.mlir_module()))
    if hasattr(program, "compiler_ir"):
        return _generic(program.compiler_ir("stablehlo"))
    if hasattr(program, "operation") and hasattr(program.operation, "get_asm"):
        return _generic(program)
    expected = "a program of jax.export.export(jax.jit(f))(..) or jax.jit(f).lower(..), or a file of StableHLO"
    raise FrontendError(f"expected {expected}, got {type(program).__name__}")


def _generic(module: Any) -> str:
    return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
