"""Passes by TVM's names, for `relay.IRModule` as for modules of ops: all of `whence.transform`; and `gradient`.

What makes passes of Python functions is for expressions here, as in TVM; `whence.transform` has it for ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from whence import transform as passes
from whence.passes.transform.passes import decorated
from whence.relay.continuations import to_cps as to_cps
from whence.relay.continuations import un_cps as un_cps
from whence.relay.module import IRModule
from whence.relay.recast import recast as recast
from whence.support.errors import PipelineError
from whence.syntax.relay.expr import Expr, Function, GlobalVar
from whence.syntax.relay.infer import infer_expr


class ExprModulePass(passes.ModulePass):
    """A Python function (module, context) -> module on modules of expressions, as a pass."""

    def __init__(self, pass_func: Callable[[IRModule, Any], IRModule], info: passes.PassInfo):
        def run(module: ModuleOp, context: Any) -> ModuleOp:
            held: Any = module
            result: Any = pass_func(held if isinstance(held, IRModule) else IRModule.of(module), context)
            if not isinstance(result, IRModule):
                raise PipelineError(f"pass {info.name}: expected it to return an IRModule, got {type(result).__name__}")
            return result.module

        super().__init__(run, info)


class ExprFunctionPass(ExprModulePass):
    """Make a pass of a Python function (function, module, context) -> function on functions of expressions.

    It skips primitive functions, those for an external compiler, and those with the attribute `SkipOptimization`.
    """

    def __init__(self, pass_func: Callable[[Function, IRModule, Any], Function], info: passes.PassInfo):
        def run(module: IRModule, context: Any) -> IRModule:
            def change(function: Function) -> Expr:
                if not {"Compiler", "Primitive", "SkipOptimization"}.isdisjoint(function.attrs):
                    return function
                result: Any = pass_func(function, module, context)
                if not isinstance(result, Function):
                    got = type(result).__name__
                    raise PipelineError(f"pass {info.name}: expected it to return a function, got {got}")
                return result

            return module.map_functions(change)

        super().__init__(run, info)

    def __repr__(self) -> str:
        return f"Run Function pass: {self.info.name} at the optimization level {self.info.opt_level}"


def module_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, required: Sequence[str] | None = None
) -> Any:
    """Like `whence.transform.module_pass`, for a function from an IRModule to an IRModule."""
    return decorated(module_pass, ExprModulePass, "transform_module", pass_func, opt_level, name, required)


def function_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, required: Sequence[str] | None = None
) -> Any:
    """Like `whence.transform.function_pass`, for a function from a Function and its IRModule to a Function."""
    return decorated(function_pass, ExprFunctionPass, "transform_function", pass_func, opt_level, name, required)


def FoldConstantExpr(expr: Expr, mod: IRModule, fold_qnn: bool = False) -> Expr:
    """Apply FoldConstant to an expression that may call functions of a module, which stays unchanged."""
    return _on_expression(expr, mod, passes.FoldConstant(fold_qnn))


def InferTypeLocal(expr: Expr) -> Any:
    """The type of an expression, whose parts get theirs."""
    infer_expr(expr)
    return expr.checked_type


def ToANormalFormExpr(expr: Expr) -> Expr:
    """Apply ToANormalForm to an expression."""
    return _on_expression(expr, IRModule(), passes.ToANormalForm())


def _on_expression(expr: Expr, mod: IRModule, pass_: passes.Pass) -> Expr:
    around = mod.shallow_copy()
    around["main"] = expr
    main: Function = pass_(around)["main"]
    return main if isinstance(expr, Function) else main.body


def gradient(expr: Expr, mod: IRModule | None = None, mode: str = "higher_order") -> Function:
    """Return the function that returns `(value, (gradients...))` of a function, with a gradient for each parameter.

    mod: the module of the functions that it calls. mode: "first_order" refuses branches and calls. Raises PipelineError
    for another mode, for an expression that is not a function, and for operators without a gradient.
    """
    if mode not in ("first_order", "higher_order"):
        raise PipelineError(f"gradient: expected mode first_order or higher_order, got {mode}")
    around = mod.shallow_copy() if mod is not None else IRModule()
    if isinstance(expr, GlobalVar):
        expr = around[expr]
    if not isinstance(expr, Function):
        raise PipelineError(f"gradient: expected a function, got {type(expr).__name__}")
    around["main"] = expr
    try:
        return passes.FirstOrderGradient(function="main", higher_order=mode == "higher_order")(around)["main"]
    except VerifyException as error:
        raise PipelineError(str(error)) from error


def __getattr__(name: str) -> Any:
    return getattr(passes, name)


def __dir__() -> list[str]:
    return sorted([*dir(passes), "gradient", "recast", "to_cps", "un_cps"])
