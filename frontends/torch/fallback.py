"""Single calls of ATen operators that PyTorch computes."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import ml_dtypes
import numpy as np

from ...provenance.diagnostics import message
from ...support.dtypes import Array
from ...support.errors import FrontendError, PipelineError
from ..importing.custom import CustomOp
from ..importing.python_calls import LibraryCall, PythonCall
from .context import Context


def library_call(ctx: Context, call: PythonCall) -> LibraryCall:
    """Return a call as PyTorch computes it; raises PipelineError where it is not installed.

    call: the operator as a Python function takes it. Raises FrontendError for operators that this PyTorch lacks.
    """
    try:
        torch: Any = import_module("torch")
    except ImportError as error:
        raise PipelineError(f"fallback: expected the package torch to be installed, got: {error}") from error
    overload: Any = torch.ops
    try:
        for part in ctx.op_type.split("."):
            overload = getattr(overload, part)
    except AttributeError as error:
        actual = f"{ctx.op_type}, which torch {torch.__version__} lacks"
        raise FrontendError(message(ctx.op_type, "an operator of PyTorch", actual, ctx.leaf)) from error

    def compute(*operands: Any, **attributes: Any) -> list[Array]:
        tensors = {name: _to_torch(torch, operand) for name, operand in zip(call.names, operands, strict=True)}
        others = {name: _to_torch(torch, attribute) for name, attribute in attributes.items()}
        results = overload(**tensors, **others)
        several = isinstance(results, list | tuple)
        return [_to_numpy(torch, result) for result in cast("list[Any]", results if several else [results])]

    return LibraryCall(CustomOp(compute), call)


def _to_torch(torch: Any, operand: Any) -> Any:
    """Return an argument as PyTorch has it; arrays are copied, as operators may keep or change them."""
    if isinstance(operand, list):
        return [_to_torch(torch, item) for item in cast("list[Any]", operand)]
    if isinstance(operand, np.dtype):
        return getattr(torch, cast("np.dtype[Any]", operand).name.replace("bool_", "bool"))
    if not isinstance(operand, np.ndarray):
        return operand
    array = cast(Array, operand)
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _to_numpy(torch: Any, result: Any) -> Array:
    if not isinstance(result, torch.Tensor):
        return np.asarray(result)
    tensor = result.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()
