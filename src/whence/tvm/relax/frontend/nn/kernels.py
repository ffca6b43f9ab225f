"""Functions on the tensors of layers that call kernels and registered functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from whence.relax.frontend.nn.tensors import Tensor, current, emitted
from whence.relay.builders import TupleWrapper
from whence.relay.kernel_calls import call_dps_packed, call_tir, call_tir_inplace
from whence.support.errors import FrontendError, expectation
from whence.syntax.relay.expr import Expr
from whence.tir.function import PrimFunc


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any],
    name_hint: str,
    args: Sequence[Any],
    *,
    attrs: dict[str, Any] | None = None,
) -> Any:
    """Return the result of a kernel that a function of te tensors computes."""
    inputs = [arg.expr if isinstance(arg, Tensor) else arg for arg in args]
    builder = current(name_hint)
    return emitted(
        builder.call_te(tensor_expr_func, *inputs, primfunc_name_hint=name_hint, primfunc_attrs=attrs), name_hint
    )


def tensor_ir_op(func: PrimFunc, name_hint: str, args: Any, out: Any) -> Any:
    """Return the result of a kernel, of the type of `out`: a tensor, `Tensor.placeholder(..)`, or several."""
    builder = current(name_hint)
    inputs, types = _call_arguments(args, out)
    return _results(call_tir(builder.add_func(func, name_hint), inputs, types), name_hint)


def tensor_ir_inplace_op(func: PrimFunc, name_hint: str, args: Any, inplace_indices: int | list[int], out: Any) -> Any:
    """Return the result of a kernel that writes to copies of some of its arguments."""
    builder = current(name_hint)
    inputs, types = _call_arguments(args, out)
    called = call_tir_inplace(builder.add_func(func, name_hint), inputs, inplace_indices, types)
    return _results(called, name_hint)


def extern(name: str, args: Any, out: Any) -> Any:
    """Return the result of a function that `whence.register_func` knows, which gets the arguments and the result."""
    inputs, types = _call_arguments(args, out)
    current(name)
    return _results(call_dps_packed(name, inputs, types), name)


def _call_arguments(args: Any, out: Any) -> tuple[list[Expr], Any]:
    """Return arguments as expressions, and the type of a result, or those of several."""
    inputs: list[Expr] = []
    for arg in cast("Sequence[object]", args if isinstance(args, list | tuple) else [args]):
        if not isinstance(arg, Tensor):
            raise FrontendError(expectation("nn.op", "tensors as arguments of a kernel", repr(arg)))
        inputs.append(arg.expr)
    outputs: list[Tensor] = [out] if isinstance(out, Tensor) else list(out)
    types = [tensor.expr.struct_info for tensor in outputs]
    return inputs, types[0] if isinstance(out, Tensor) else types


def _results(call: Expr | TupleWrapper, name: str) -> Any:
    return emitted(call.astuple() if isinstance(call, TupleWrapper) else call, name)
