"""Passes by TVM's names, for `relay.IRModule` as for modules of ops: all of `whence.transform`; and `gradient`."""

from __future__ import annotations

from typing import Any

from whence import transform
from whence.frontends.relay.expr import Expr, Function, GlobalVar
from whence.relay.module import IRModule
from whence.support.errors import PipelineError


def gradient(expr: Expr, mod: IRModule | None = None, mode: str = "first_order") -> Function:
    """The function that gives `(value, (gradients...))` of a function, with a gradient for each parameter.

    mod: what the function may call. Raises PipelineError for another mode and for what is no function.
    """
    if mode != "first_order":
        raise PipelineError(f"gradient: expected mode first_order, got {mode}")
    around = mod.shallow_copy() if mod is not None else IRModule()
    if isinstance(expr, GlobalVar):
        expr = around[expr]
    if not isinstance(expr, Function):
        raise PipelineError(f"gradient: expected a function, got {type(expr).__name__}")
    around["main"] = expr
    return transform.FirstOrderGradient(function="main")(around)["main"]


def __getattr__(name: str) -> Any:
    return getattr(transform, name)


def __dir__() -> list[str]:
    return sorted([*dir(transform), "gradient"])
