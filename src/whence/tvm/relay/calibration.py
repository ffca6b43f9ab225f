"""The inputs and outputs of the parts of a module that other compilers run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import SSAValue

from whence.dialects.relay.core import CallOp, FuncOp, ReturnOp
from whence.dialects.relay.interpret import evaluate_module
from whence.kernels.kernel_calls import run_kernel
from whence.relay.module import IRModule
from whence.runtime.values.ndarray import NDArray, array
from whence.support.dtypes import Array
from whence.support.errors import PipelineError
from whence.syntax.relay.expr import GlobalVar


def return_values(function: FuncOp, values: Sequence[SSAValue]) -> None:
    """Have a function return these values instead of its own."""
    old = function.return_op
    end = ReturnOp(*values)
    end.location = old.location
    old.detach()
    old.erase()
    function.block.add_op(end)
    function.update_type()


def get_calibration_data(
    mod: IRModule, data: Mapping[str, Array] | Sequence[Array]
) -> dict[GlobalVar, dict[str, list[NDArray]]]:
    """For each function of a partitioned module that another compiler takes, its `inputs` and `outputs`.

    data: the inputs of `@main`, in order or by name. Raises PipelineError where `@main` calls one twice, or an input
    is missing.
    """
    module = mod.module.clone()
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    main = functions["main"]
    calls = [op for op in main.walk() if isinstance(op, CallOp)]
    calls = [op for op in calls if "Compiler" in functions[op.callee.string_value()].attributes]
    names = [op.callee.string_value() for op in calls]
    if len(set(names)) != len(names):
        raise PipelineError("get_calibration_data: expected one call of each part, got several")
    return_values(main, [value for op in calls for value in (*op.operands, *op.results)])
    if isinstance(data, Mapping):
        wanted = [param.name_hint for param in mod["main"].params]
        if missing := [name for name in wanted if name not in data]:
            raise PipelineError(f"get_calibration_data: expected inputs {', '.join(wanted)}, got no {missing[0]}")
        data = [data[name] for name in wanted]
    rest = map(array, evaluate_module(module, list(map(np.asarray, data)), run_kernel))
    values_of: dict[GlobalVar, dict[str, list[NDArray]]] = {}
    for name, op in zip(names, calls, strict=True):
        inputs = [next(rest) for _ in op.operands]
        values_of[mod.get_global_var(name)] = {"inputs": inputs, "outputs": [next(rest) for _ in op.results]}
    return values_of
