"""The result of `relay.vm.compile`: a compiled module, and TVM's information about it."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation

from whence.dialects.relay.binding import IfOp, LetOp
from whence.dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.data_types import ConstructOp, MatchOp
from whence.dialects.relay.functions import FnOp, GlobalOp, InvokeOp, YieldOp
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.tuples import TupleGetItemOp, TupleOp
from whence.executables.executable import Executable
from whence.executables.exporting import export_artifact
from whence.executables.interpreted import InterpretedExecutable
from whence.passes.relay.analysis.traversal import functions_of, pre_order
from whence.relay.executors import create_executor
from whence.runtime.program.library import Compile
from whence.support.doors import doors
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, PipelineError
from whence.syntax.relay import view
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.text import astext, fromtext

_OPCODES: dict[type[Operation], str] = {
    CallOp: "invoke",
    InvokeOp: "invoke_closure",
    FnOp: "alloc_closure",
    GlobalOp: "alloc_closure",
    IfOp: "if",
    ConstructOp: "alloc_data",
    TupleOp: "alloc_data",
    TupleGetItemOp: "get_field",
    MatchOp: "get_tag",
    ConstantOp: "load_const",
    ReturnOp: "ret",
}
"""Return the instructions of TVM's machine for a step."""


@doors()
class VMExecutable:
    """A compiled module. It answers the questions of `whence.Executable`, such as `why` and `where`."""

    def __init__(self, module: ModuleOp, target: Any = "llvm", params: Any = None):
        executor = create_executor("vm", module, target=target, params=params)
        self.module = executor.module
        self.executable: Executable = executor.executable

    def __getattr__(self, name: str) -> Any:
        if name == "executable":
            raise AttributeError(name)
        return getattr(self.executable, name)

    def __call__(self, *arguments: Any) -> Any:
        return self.executable(*arguments)

    @property
    def globals(self) -> list[str]:
        """The names of the functions that can be called."""
        return [name for name, func in functions_of(self.module).items() if func.primitive is None]

    @property
    def primitive_ops(self) -> list[str]:
        """The names of the kernels: of a program whose shapes only a run knows, those made so far."""
        return list(self.executable.kernels)

    @property
    def constants(self) -> list[Array]:
        """The constants of the program."""
        return [op.value(self.module) for op in pre_order(self.module) if isinstance(op, ConstantOp)]

    @property
    def stats(self) -> str:
        """The numbers of constants, functions and kernels, and their names."""
        shapes = [list(array.shape) or "scalar" for array in self.constants]
        called = [f'("{name}", {index})' for index, name in enumerate(self.globals)]
        kernels = self.primitive_ops
        return (
            "Relay VM executable statistics:\n"
            f"  Constant shapes (# {len(shapes)}): [{', '.join(map(str, shapes))}]\n"
            f"  Globals (#{len(called)}): [{', '.join(called)}]\n"
            f"  Primitive ops (#{len(kernels)}): [{', '.join(kernels)}]\n"
        )

    @property
    def bytecode(self) -> str:
        """The steps of each function, in the order of the text, as instructions of TVM's machine."""
        lines: list[str] = []
        functions = functions_of(self.module)
        for index, name in enumerate(self.globals):
            lines.append(f"VM Function[{index}]: {name}({', '.join(self.get_function_params(name))})")
            steps = [op for op in pre_order(functions[name]) if not isinstance(op, FuncOp | LetOp | YieldOp)]
            lines += [f"  {number}: {_instruction(op)}" for number, op in enumerate(steps)]
        return "\n".join(lines) + "\n"

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of a function's parameters; raises PipelineError for an unknown name."""
        func = functions_of(self.module).get(func_name)
        if func is None:
            raise PipelineError(f"get_function_params: expected one of {', '.join(self.globals)}, got {func_name}")
        return [argument.name_hint or f"p{index}" for index, argument in enumerate(func.block.args)]

    def get_function_arity(self, func_name: str) -> int:
        """Return the number of parameters of a function."""
        return len(self.get_function_params(func_name))

    def save(self) -> tuple[bytearray, VMExecutable]:
        """Return the program as bytes, for `load_exec`, and the object that runs it."""
        return bytearray(astext(view.view(self.module)).encode()), self

    def export_library(
        self,
        file_name: str | PathLike[str],
        fcompile: Compile = None,
        addons: Sequence[str | PathLike[str]] | None = None,
        *,
        options: Sequence[str] = (),
    ) -> str:
        """Write the program to a .tar, .so or .o file; arguments and errors as those of `relay.build`'s result.

        A program that only a run decides becomes a .tar file for `runtime.load_program`, as its `export_library` says.
        """
        if isinstance(self.executable, InterpretedExecutable):
            self.executable.export_library(file_name)
            return str(file_name)
        artifact = self.executable.artifact
        more = [Path(addon) for addon in addons or ()]
        export_artifact(artifact, None, None, Path(file_name), link=fcompile or None, addons=more, options=options)
        return str(file_name)

    @staticmethod
    def load_exec(bytecode: bytes | bytearray, lib: object = None) -> VMExecutable:
        """The executable of a program that `save` gave; without `lib`, its second result, kernels are compiled again.

        Raises FrontendError when it is something else.
        """
        if isinstance(lib, VMExecutable) and lib.save()[0] == bytecode:
            return lib
        try:
            text = bytes(bytecode).decode()
        except UnicodeDecodeError:
            raise FrontendError("load_exec: expected what `save` gave, got other bytes") from None
        return VMExecutable(elaborate(fromtext(text)))


def _instruction(op: Operation) -> str:
    name = _OPCODES.get(type(op)) or ("invoke_packed" if isinstance(op, Operator) else op.name.removeprefix("relay."))
    if isinstance(op, CallOp):
        return f"{name} {op.callee.string_value()}"
    if isinstance(op, ConstructOp):
        return f"{name} {op.constructor.string_value()}"
    if isinstance(op, Operator):
        types = ", ".join(_shape(result.type) for result in op.results)
        return f"{name} {op.name.removeprefix('relay.')} -> {types}"
    return name


def _shape(type_: Attribute) -> str:
    return str(cast("TensorType[Attribute]", type_))
