"""Operators and modules run in numpy: for constant folding, and for the tests, which hold kernels against it.

`evaluate` runs one operator, `evaluate_module` a whole module. Values have exactly the dtype the IR states;
half precision is computed in float32 and rounded once per operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.element_types import numpy_dtype
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.numerics import AnyArray
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.traits import Pointwise
from ...provenance.diagnostics import fail
from ...support.dtypes import Array
from ...support.errors import PipelineError


def evaluate(op: Operator, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The results of `op` for operand values of the op's operand types. Results may be views of the inputs."""
    sig, elementwise = op.signature, op.has_trait(Pointwise)
    with np.errstate(all="ignore"):
        found: Any = op.evaluate(sig, *sig.arguments(_distinct(inputs) if elementwise else inputs))
        results = cast(tuple[AnyArray, ...], found) if isinstance(found, tuple) else (found,)
        typed = [
            np.asarray(array).astype(numpy_dtype(element_of(value)), copy=False)
            for array, value in zip(results, op.results, strict=True)
        ]
    if elementwise:
        return tuple(np.broadcast_to(array, shape_of(value)) for array, value in zip(typed, op.results, strict=True))
    return tuple(typed)


def _distinct(inputs: Sequence[Array]) -> list[AnyArray]:
    """The inputs of an elementwise operator, cut to extent 1 along axes where all of them repeat one value.

    A weight that is a broadcast view stays small that way.
    """
    rank = max(x.ndim for x in inputs)
    cut = list(inputs)
    for axis in range(-rank, 0):
        here = [x for x in inputs if -axis <= x.ndim]
        if all(x.strides[axis] == 0 or x.shape[axis] == 1 for x in here) and any(x.shape[axis] > 1 for x in here):
            cut = [x[(..., slice(0, 1), *[slice(None)] * (-axis - 1))] if -axis <= x.ndim else x for x in cut]
    return cut


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
    known: dict[SSAValue, Array] = dict(zip(func.block.args, inputs, strict=True))
    for op in func.block.ops:
        operands = [known[operand] for operand in op.operands]
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
        known.update(zip(op.results, results, strict=True))
    fail(func, "a body that ends in relay.return", "none")
