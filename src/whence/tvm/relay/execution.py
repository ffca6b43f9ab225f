"""Executors for expressions, like those of TVM's `relay.create_executor`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from whence.relay import executors
from whence.relay.binding import bind
from whence.relay.module import IRModule
from whence.relay.results import viewed
from whence.support.doors import door, doors
from whence.support.dtypes import Array
from whence.support.errors import FrontendError
from whence.syntax.relay.expr import Constant, Expr, Function, GlobalVar, Var
from whence.syntax.relay.nodes import free_vars

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@doors()
class Executor:
    """Runs functions and expressions, with the functions and data types of a module around them."""

    def __init__(self, kind: str, module: IRModule, device: object, target: Any, params: Mapping[str, Array] | None):
        self._kind = kind
        self.mod = module
        self._options = (device, target, params)

    def evaluate(self, expr: Expr | str | None = None, binds: Mapping[Var, Any] | None = None) -> Any:
        """Evaluate an expression; for a function, a variable of the module or None (`@main`), return a Python function.

        binds: values of variables of the expression, or of parameters of the function.
        Raises FrontendError for an expression with free variables.
        """
        if binds:
            expr = bind(self._expression(expr), binds)
        if expr is None or isinstance(expr, str | GlobalVar):
            return self._run(self.mod, expr.name_hint if isinstance(expr, GlobalVar) else expr or "main")
        if free := free_vars(expr):
            raise FrontendError(f"evaluate: expected no free variables, got %{', %'.join(v.name_hint for v in free)}")
        main = expr if isinstance(expr, Function) else Function([], expr)
        around = self.mod.shallow_copy()
        around["main"] = main
        call = self._run(around, "main")
        return call if isinstance(expr, Function) else call()

    def _expression(self, expr: Expr | str | None) -> Expr:
        if expr is None or isinstance(expr, str | GlobalVar):
            function: Function = self.mod[expr or "main"]
            return function
        return expr

    def _run(self, module: IRModule, name: str) -> Callable[..., Any]:
        call = executors.create_executor(self._kind, module.module, *self._options).evaluate(name)
        constructors = {
            constructor.name_hint: constructor
            for data in module.program.types.values()
            for constructor in data.constructors
        }
        known = constructors if self._kind == "debug" else None

        def run(*arguments: Any, **named: Any) -> Any:
            values = {name: _value(value) for name, value in named.items()}
            return viewed(call(*map(_value, arguments), **values), known)

        return run


@door()
def _value(argument: Any) -> Any:
    """An argument as executors take it: a constant of relay is its array."""
    return argument.data if isinstance(argument, Constant) else argument


def create_executor(
    kind: str = "debug",
    mod: IRModule | ModuleOp | None = None,
    device: object = None,
    target: Any = "llvm",
    params: Mapping[str, Array] | None = None,
) -> Executor:
    """An executor of a kind, "graph", "aot", "vm" or "debug"; see `whence.relay.executors.create_executor`."""
    module = mod if isinstance(mod, IRModule) else IRModule.of(mod) if mod is not None else IRModule()
    return Executor(kind, module, device, target, params)
