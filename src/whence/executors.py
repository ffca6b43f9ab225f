"""Executors by TVM's names: ways to run a module, each of which gives functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from xdsl.dialects.builtin import ModuleOp

from whence.api import compile as compile_model
from whence.dialects.relay.binding import IfOp
from whence.dialects.relay.core import CallOp, FuncOp
from whence.dialects.relay.data_types import ConstructOp, MatchOp
from whence.dialects.relay.functions import FnOp, GlobalOp, InvokeOp
from whence.dialects.relay.open_extents import is_open
from whence.dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from whence.executable import Executable
from whence.interpret import Evaluator
from whence.lowering.llvm_to_native.target import Target
from whence.provenance.diagnostics import message
from whence.support.dtypes import Array
from whence.support.errors import PipelineError
from whence.virtual_machine import VirtualExecutable

KINDS = ("aot", "debug", "graph", "vm")
_CONTROL = (IfOp, MatchOp, ConstructOp, FnOp, GlobalOp, InvokeOp, RefCreateOp, RefReadOp, RefWriteOp)


class _Invoke(Protocol):
    def __call__(self, name: str, *arguments: Any) -> Any: ...


class Executor:
    """Runs the functions of a module."""

    def __init__(self, module: ModuleOp, invoke: _Invoke, params: Mapping[str, Array]):
        self.module = module
        self._invoke = invoke
        self._params = params

    def evaluate(self, expr: str | FuncOp | None = None) -> Callable[..., Any]:
        """A Python function that is `@main` of the module, or the function `expr`, itself or its name.

        It takes arrays and Python numbers, tuples, `Adt` and `Reference`, in order or by the names of arguments, and
        gives the like: a tuple for several results, functions as what can be called. Raises PipelineError for another
        `expr`, and the function FrontendError for what it does not take.
        """
        name = expr.sym_name.data if isinstance(expr, FuncOp) else expr or "main"
        functions = {op.sym_name.data: op for op in self.module.ops if isinstance(op, FuncOp)}
        if name not in functions:
            raise PipelineError(f"evaluate: expected a function among {', '.join(functions)}, got {name!r}")
        names = [argument.name_hint or f"input{k}" for k, argument in enumerate(functions[name].block.args)]
        bound = self._params if name == "main" else dict[str, Array]()

        def call(*arguments: Any, **named: Any) -> Any:
            given = {**bound, **named}
            rest = iter(arguments)
            found = [given.pop(one) if one in given else next(rest, None) for one in names]
            left = len(arguments) - sum(one not in bound and one not in named for one in names)
            if left or given:
                wanted = ", ".join(one for one in names if one not in bound) or "none"
                got = f"{len(arguments)} and {', '.join(named) or 'none'} by name"
                raise PipelineError(f"@{name}: expected arguments {wanted}, got {got}")
            return self._invoke(name, *found)

        return call


def create_executor(
    kind: str = "debug",
    mod: ModuleOp | None = None,
    device: object = None,
    target: str | Target = "llvm",
    params: Mapping[str, Array] | None = None,
) -> Executor:
    """An executor of a kind for a module.

    kind: "graph" and "aot" run static programs, in one native call; "vm" any, with native code for the tensors in it;
    "debug" any, op by op in numpy.
    device: only the CPU is one; None stands for it, too.
    target: "llvm" is this machine, as "native" is.
    params: values of arguments of `@main` by name.
    Raises PipelineError for another kind, a missing module, and for a program that is not static where it has to be.
    """
    if kind not in KINDS:
        raise PipelineError(f"create_executor: expected a kind among {', '.join(KINDS)}, got {kind!r}")
    if mod is None:
        raise PipelineError("create_executor: expected a module, got none")
    if device is not None and "cpu" not in str(device):
        raise PipelineError(f"create_executor: expected the CPU as device, got {device}")
    bound = dict(params or {})
    if kind == "debug":
        return Executor(mod, Evaluator(mod).invoke, bound)
    if kind != "vm":
        _check_static(mod, kind)
    compiled = compile_model(mod, target="native" if target == "llvm" else target)
    return Executor(mod, compiled.invoke if isinstance(compiled, VirtualExecutable) else _invoked(compiled), bound)


def _invoked(compiled: Executable) -> _Invoke:
    def invoke(name: str, *arguments: Any) -> Any:
        if name != "main":
            raise PipelineError(f"evaluate: expected @main of a program that is one native call, got @{name}")
        return compiled(*arguments)

    return invoke


def _check_static(module: ModuleOp, kind: str) -> None:
    """Complain, in the name of the layer, about the first op that only a run decides."""
    waiting: dict[str, set[str]] = {}
    for func in module.ops:
        if not isinstance(func, FuncOp):
            continue
        for op in func.walk():
            if isinstance(op, _CONTROL) or any(map(is_open, (*op.operand_types, *op.result_types))):
                _refuse(op.name, kind, op)
            if isinstance(op, CallOp):
                waiting.setdefault(func.sym_name.data, set()).add(op.callee.string_value())
    while done := [name for name, callees in waiting.items() if not callees & waiting.keys()]:
        for name in done:
            del waiting[name]
    for op in module.walk():
        if isinstance(op, CallOp) and op.callee.string_value() in waiting:
            _refuse("recursion", kind, op)


def _refuse(what: str, kind: str, op: Any) -> None:
    wanted = f'a program without control flow in executor "{kind}" (executor "vm" runs all)'
    raise PipelineError(message("create_executor", wanted, what, op.location))
