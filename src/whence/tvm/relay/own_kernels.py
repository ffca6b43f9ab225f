"""Kernels of single operators, as text: what a module prints for operators that Relax does not have."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from whence.dialects.element_types import dtype_name
from whence.dialects.sizes.types import extents_of
from whence.kernels.building import create_prim_func
from whence.relay.tensor_calls import lowered
from whence.support.errors import FrontendError, WhenceError
from whence.syntax.relay.expr import Call, Expr, Tuple
from whence.syntax.relay.places import location_of
from whence.te import Tensor, placeholder
from whence.tir.function import PrimFunc


def kernel_text(call: Call, name: str, version: str) -> str | None:
    """Return the kernel of an operator's call as TVMScript; None for one that is open in size or has no kernel."""
    tensors: list[Tensor] = []

    def stand_in(arg: Expr) -> Any:
        if isinstance(arg, Tuple):
            return [stand_in(field) for field in arg.fields]
        type_ = cast("TensorType[Attribute]", arg.inferred)
        shape = extents_of(type_)
        if not all(isinstance(extent, int) and extent >= 0 for extent in shape):
            raise FrontendError(f"kernel of {call.op}: expected sizes that are numbers, got {type_}")
        tensors.append(placeholder(shape, dtype_name(type_.element_type), name=f"p{len(tensors)}"))
        return tensors[-1]

    def build(*args: Any) -> Expr:
        return Call(
            call.op, [Tuple(cast("list[Expr]", arg)) if isinstance(arg, list) else arg for arg in args], call.attrs
        )

    try:
        results: Any = lowered(location_of(call.span), build, [stand_in(arg) for arg in call.args], {})
        outputs: list[Tensor] = cast("list[Tensor]", results) if isinstance(results, list) else [results]
        return PrimFunc.of(create_prim_func([*tensors, *outputs], name)).script(version)
    except WhenceError:
        return None
