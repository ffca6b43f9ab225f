"""Executors by TVM's names: ways to run a module, each of which makes functions of arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute

from whence.compiler.compile import compile as compile_model
from whence.dialects.element_types import numpy_dtype, tensor_type
from whence.dialects.relay.binding import IfOp
from whence.dialects.relay.core import CallOp, ConstantOp, FuncOp
from whence.dialects.relay.data_types import ConstructOp, MatchOp
from whence.dialects.relay.functions import FnOp, GlobalOp, InvokeOp
from whence.dialects.relay.interpret import Evaluator
from whence.dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from whence.dialects.relay.types import fits
from whence.dialects.sizes.types import is_open
from whence.executables.executable import Executable
from whence.executables.virtual_machine import VirtualExecutable
from whence.kernels.kernel_calls import run_kernel
from whence.lowering.llvm_to_native.target import Target
from whence.provenance.diagnostics import message
from whence.provenance.numbers import same_module
from whence.runtime.values.values import expected_array
from whence.support.dtypes import Array
from whence.support.errors import FrontendWarning, PipelineError
from whence.target import TargetLike, target_of

KINDS = ("aot", "debug", "graph", "vm")
_CONTROL = (IfOp, MatchOp, ConstructOp, FnOp, GlobalOp, InvokeOp, RefCreateOp, RefReadOp, RefWriteOp)


class Invoke(Protocol):
    """Calls a function of a program by name."""

    def __call__(self, name: str, *arguments: Any) -> Any: ...


class Executor:
    """Runs the functions of a module in the way of a kind; see `create_executor`."""

    def __init__(self, kind: str, module: ModuleOp, target: str | Target, params: Mapping[str, Array]):
        self.kind = kind
        self.module = bound_params(module, params) if params else module
        self.target = target
        if kind in ("aot", "graph"):
            check_static(self.module, kind)

    @cached_property
    def executable(self) -> Executable:
        """The compiled module."""
        return compile_model(self.module, target=self.target)

    @cached_property
    def _invoke(self) -> Invoke:
        if self.kind == "debug":
            return Evaluator(self.module, run_kernel=run_kernel).invoke
        return compiled_invoke(self.executable)

    def evaluate(self, expr: str | FuncOp | None = None) -> Callable[..., Any]:
        """Return a Python function for `@main` of the module, or for the function `expr`, itself or its name.

        It takes arrays and Python numbers, tuples, `Adt` and `Reference`, in order or by the names of arguments, and
        returns the same kinds: a tuple for several results, and a callable for a function. Raises PipelineError for a
        missing function; the Python function raises FrontendError for bad arguments.
        """
        name = expr.sym_name.data if isinstance(expr, FuncOp) else expr or "main"
        functions = {op.sym_name.data: op for op in self.module.ops if isinstance(op, FuncOp)}
        if name not in functions:
            raise PipelineError(f"evaluate: expected a function among {', '.join(functions)}, got {name!r}")
        names = _names_of(functions[name])

        def call(*arguments: Any, **named: Any) -> Any:
            rest = iter(arguments)
            ordered = [named[parameter] if parameter in named else next(rest, None) for parameter in names]
            if len(arguments) + len(named) != len(names) or not set(names).issuperset(named):
                got = f"{len(arguments)} and {', '.join(named) or 'none'} by name"
                raise PipelineError(f"@{name}: expected arguments {', '.join(names) or 'none'}, got {got}")
            return self._invoke(name, *ordered)

        return call


def create_executor(
    kind: str = "debug",
    mod: ModuleOp | None = None,
    device: object = None,
    target: TargetLike = "llvm",
    params: Mapping[str, Array] | None = None,
) -> Executor:
    """Return an executor of a kind for a module.

    kind: "graph" and "aot" run static programs, "vm" any, with native code for the tensors in it, "debug" any, op by op
    in numpy.
    device: the CPU; None is the CPU, too.
    target: "llvm" is this machine, as "native" is.
    params: values of arguments of `@main` by name.
    Raises PipelineError for another kind, no module, and a program that is not static where it has to be.
    """
    if kind not in KINDS:
        raise PipelineError(f"create_executor: expected a kind among {', '.join(KINDS)}, got {kind!r}")
    if device is not None and "cpu" not in str(device):
        raise PipelineError(f"create_executor: expected the CPU as device, got {device}")
    if mod is None:
        raise PipelineError("create_executor: expected a module, got none")
    return Executor(kind, mod, target_of(target), dict(params or {}))


def bound_params(module: ModuleOp, params: Mapping[str, Array], *, others: bool = False) -> ModuleOp:
    """A copy of a module in which arguments of `@main` are constants.

    others: values for names that no argument has are left out, with a FrontendWarning.

    Raises PipelineError for names that no argument has, values of other types, and a `@main` that others call.
    """
    bound = same_module(module)
    main = next((op for op in bound.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"), None)
    arguments = dict(zip(_names_of(main), main.block.args, strict=True)) if main is not None else {}
    called = any(
        (isinstance(op, CallOp) and op.callee.string_value() == "main")
        or (isinstance(op, GlobalOp) and op.symbol.string_value() == "main")
        for op in bound.walk()
    )
    if main is None or called or (first := main.block.first_op) is None:
        raise PipelineError("params: expected a function @main that is not called in the module, got another")
    for name, value in params.items():
        argument = arguments.get(name)
        if argument is None:
            text = f"params: expected arguments of @main ({', '.join(map(str, arguments))}), got '{name}'"
            if not others:
                raise PipelineError(text)
            warnings.warn(f"{text}, which is left out", FrontendWarning, stacklevel=4)
            continue
        array = expected_array(f"param '{name}'", value, _dtype_of(argument.type))
        if not fits(argument.type, type_ := tensor_type(array)):
            raise PipelineError(message(f"param '{name}'", str(argument.type), str(type_), argument.location))
        constant = ConstantOp.of(array, bound, name)
        constant.location = argument.location
        main.block.insert_op_before(constant, first)
        argument.replace_all_uses_with(constant.result)
        main.block.erase_arg(argument)
        del arguments[name]
    if "input_names" in main.attributes:
        main.attributes["input_names"] = ArrayAttr([StringAttr(name) for name in arguments])
    main.update_type()
    return bound


def _dtype_of(type_: Attribute) -> np.dtype[np.generic] | None:
    """The dtype of a tensor type; None for any other."""
    return numpy_dtype(cast("TensorType[Attribute]", type_).element_type) if isinstance(type_, TensorType) else None


def _names_of(main: FuncOp) -> list[str]:
    """Return the source's names of the arguments, else their names as values."""
    if isinstance(names := main.attributes.get("input_names"), ArrayAttr):
        return [name.data for name in cast("ArrayAttr[StringAttr]", names)]
    return [argument.name_hint or f"{argument.index}" for argument in main.block.args]


def compiled_invoke(executable: Executable) -> Invoke:
    """Return a function that calls the functions of a compiled program."""

    def invoke(name: str, *arguments: Any) -> Any:
        if isinstance(executable, VirtualExecutable):
            return executable.invoke(name, *arguments)
        if name != "main":
            raise PipelineError(f"expected @main of a program that is one native call, got @{name}")
        return executable(*arguments)

    return invoke


def check_static(module: ModuleOp, kind: str) -> None:
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
