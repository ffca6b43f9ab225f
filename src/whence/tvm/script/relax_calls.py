"""Calls of kernels and registered functions, and bindings of sizes, in a Relax text: `R.call_tir`, `R.match_cast`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from whence.dialects.element_types import dtype_name
from whence.dialects.relay.call_tir import sizes_of_results
from whence.dialects.relay.signature import Tensor, as_tensor
from whence.dialects.sizes import Size, SizeExpr
from whence.dialects.sizes.types import extents_of
from whence.relay.builders import TupleWrapper
from whence.relay.kernel_calls import call_dps_packed, stated_types
from whence.script.relax_types import UNKNOWN, type_text
from whence.script.relax_values import Special, Values, described
from whence.syntax.relay.expr import Call, Expr, GlobalVar, Op, Tuple


def _by_name(names: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    return {**dict(zip(names, args, strict=False)), **named}


def _call_tir(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> Expr:
    return _kernel_call(reader, node, _by_name(("gvar", "args", "out_ty", "tir_vars"), args, named))


def _call_tir_with_grad(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> Expr:
    """A call whose derivative TVM makes by a function; the value is that of the kernel."""
    return _call_tir(reader, node, args[:3], named)


def _call_tir_inplace(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> Expr:
    names = ("gvar", "args", "inplace_indices", "out_ty", "tir_vars")
    return _kernel_call(reader, node, _by_name(names, args, named))


def _kernel_call(reader: Values, node: ast.Call, values: Mapping[str, Any]) -> Expr:
    kernel, tensors = values.get("gvar"), values.get("args", ())
    if not isinstance(kernel, GlobalVar) or kernel.name_hint not in reader.program.kernels:
        reader.source.refuse(node, f"expected a kernel of the module to call, got {described(kernel)}")
    items = cast("Sequence[Any]", tensors) if isinstance(tensors, list | tuple) else [tensors]
    fields = [reader.as_expression(node, item) for item in items]
    attrs: dict[str, Any] = {"callee": kernel.name_hint}
    if (indices := values.get("inplace_indices")) is not None:
        attrs["inplace_indices"] = [indices] if isinstance(indices, int) else list(indices)
    if (sizes := values.get("tir_vars")) is not None:
        attrs["tir_vars"] = _sizes(reader, node, sizes)
    stated = _stated(reader, node, values, "call_tir")
    if "tir_vars" not in attrs and "inplace_indices" not in attrs:
        types = [cast("Tensor", type_) for type_ in stated if isinstance(type_, TensorType)]
        operands = [cast("Tensor", field.inferred) for field in fields if isinstance(field.inferred, TensorType)]
        attrs["tir_vars"] = sizes_of_results(reader.program.kernels[kernel.name_hint].op, operands, types) or []
    call = Call(Op("call_tir"), [Tuple(fields)], attrs, stated=stated)
    reader.locate(call, node)
    reader.typed(node, call)
    return call


def _stated(reader: Values, node: ast.Call, values: Mapping[str, Any], name: str) -> list[Attribute | None]:
    """Return the types that `out_ty` or `out_sinfo` states, None for one that it leaves open."""
    with reader.source.judged(node):
        stated = stated_types(name, values.get("out_ty", values.get("out_sinfo")))
    return [None if type_ == UNKNOWN else type_ for type_ in stated]


def _sizes(reader: Values, node: ast.Call, value: Any) -> list[Size]:
    """Return the sizes of `tir_vars`: a shape, or sizes in a tuple or a list."""
    items = list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else [value]
    if wrong := [item for item in items if not isinstance(item, int | SizeExpr)]:
        reader.source.refuse(node, f"expected sizes as tir_vars, got {described(wrong[0])}")
    return items


def _call_dps_packed(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> Expr:
    values = _by_name(("func", "args", "out_ty"), args, named)
    tensors = reader.as_expression(node, values.get("args", ()))
    stated = _stated(reader, node, values, "call_dps_packed")
    with reader.source.judged(node):
        built = call_dps_packed(cast(str, values.get("func")), tensors, stated)
    call = built.astuple() if isinstance(built, TupleWrapper) else built
    reader.locate(call, node)
    reader.typed(node, call)
    return call


def _match_cast(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> Expr:
    data = reader.as_expression(node, args[0] if args else named.get("value"))
    types = [*node.args[1:2], *(word.value for word in node.keywords if word.arg in ("ty", "struct_info"))]
    if not types:
        reader.source.refuse(node, "expected a value and its type in R.match_cast")
    type_ = reader.type(types[0], binds=True)
    if not isinstance(type_, TensorType):
        reader.source.refuse(types[0], f"expected the type of a tensor, got {type_text(type_)}")
    tensor = as_tensor(cast("TensorType[Attribute]", type_))
    attrs = {"shape": list(extents_of(tensor)), "dtype": dtype_name(tensor.element_type)}
    call = Call(Op("match_cast"), [data], attrs)
    reader.locate(call, node)
    reader.typed(node, call)
    return call


CALLS: Mapping[str, Special] = {
    "call_tir": _call_tir,
    "call_tir_with_grad": _call_tir_with_grad,
    "call_tir_inplace": _call_tir_inplace,
    "call_dps_packed": _call_dps_packed,
    "match_cast": _match_cast,
}
"""Words that call kernels or bind sizes."""
