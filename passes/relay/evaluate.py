"""A module run in numpy: for the tests, which hold kernels against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.element_types import numpy_dtype
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.evaluation import evaluate
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...provenance.diagnostics import fail
from ...support.dtypes import Array
from ...support.errors import PipelineError


def evaluate_module(module: ModuleOp, inputs: Mapping[str, Array] | Sequence[Array]) -> list[Array]:
    """The results of `@main` for inputs in order, or by the name hints of its arguments.

    Raises PipelineError when there is no `@main`, or an input is missing or of another type than the argument.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    if "main" not in functions:
        raise PipelineError("evaluate_module: expected a function @main, got " + (", ".join(functions) or "none"))
    arguments = functions["main"].block.args
    if isinstance(inputs, Mapping):
        names = [argument.name_hint or f"arg{i}" for i, argument in enumerate(arguments)]
        if missing := [name for name in names if name not in inputs]:
            raise PipelineError(f"@main: expected inputs {', '.join(names)}, got none for {', '.join(missing)}")
        inputs = [inputs[name] for name in names]
    if len(inputs) != len(arguments):
        raise PipelineError(f"@main: expected {len(arguments)} inputs, got {len(inputs)}")
    for index, (argument, array) in enumerate(zip(arguments, inputs, strict=True)):
        if array.shape != shape_of(argument) or array.dtype != numpy_dtype(element_of(argument)):
            raise PipelineError(
                f"@main: expected input {index} of type {argument.type}, got {array.dtype}{array.shape}"
            )
    return _run(functions["main"], inputs, module, functions)


def _run(func: FuncOp, inputs: Sequence[Array], module: ModuleOp, functions: Mapping[str, FuncOp]) -> list[Array]:
    arrays: dict[SSAValue, Array] = dict(zip(func.block.args, inputs, strict=True))
    for op in func.block.ops:
        operands = [arrays[operand] for operand in op.operands]
        match op:
            case Operator():
                results = evaluate(op, operands)
            case ConstantOp():
                results = (op.value(module),)
            case CallOp():
                callee = functions.get(op.callee.string_value())
                results = _run(callee or op.function, operands, module, functions)
            case ReturnOp():
                return operands
            case _:
                fail(op, "a relay op", op.name)
        arrays.update(zip(op.results, results, strict=True))
    fail(func, "a body that ends in relay.return", "none")
