"""Modules without `@main`: the program of each of their functions, or their kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from whence.dialects.tir import PrimFuncOp
from whence.executables.by_function import FunctionExecutables
from whence.kernels.building import compiled_kernels
from whence.passes.relay.analysis.traversal import functions_of
from whence.passes.transform.passes import HoldsModule
from whence.support.errors import PipelineError

_OF_KERNELS = ("target", "threads", "tuned")
"""The options that kernels take, too."""


def without_main(source: object, options: Mapping[str, Any], compile: Callable[..., Any]) -> Any:
    """Return what `compile` makes of a module without `@main`; None for one with it, and for any other model.

    Raises PipelineError for an option that kernels do not have.
    """
    module = source.module if isinstance(source, HoldsModule) else source
    if not isinstance(module, ModuleOp):
        return None
    functions = functions_of(module)
    if "main" in functions:
        return None
    if functions:
        return FunctionExecutables(module, lambda held: compile(held, **options))
    kernels = [op for op in module.ops if isinstance(op, PrimFuncOp)]
    if not kernels:
        return None
    parameters = signature(compile).parameters
    for name in options.keys() - set(_OF_KERNELS):
        if options[name] != parameters[name].default:
            raise PipelineError(f"compile: expected no {name} for a module of kernels alone, got {options[name]!r}")
    return compiled_kernels([(op, options["target"]) for op in kernels], options["threads"], options["tuned"])
