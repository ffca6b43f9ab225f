"""Calls of kernels of the module and of registered functions from relay, as Relax has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from whence.dialects.element_types import dtype_name
from whence.dialects.relay.signature import as_tensor
from whence.dialects.relay.types import fields_of
from whence.dialects.sizes.types import extents_of
from whence.relay.builders import Builder, TupleWrapper, as_expr
from whence.support.errors import FrontendError, expectation
from whence.syntax.relay.expr import Call, Expr, GlobalVar, Op, Tuple
from whence.syntax.relay.type_view import TypeView, plain, tensor_type


def call_tir(
    gvar: GlobalVar | str, args: Any, out_ty: Any = None, tir_vars: Sequence[Any] = (), *, out_sinfo: Any = None
) -> Expr | TupleWrapper:
    """Return the result of a kernel, whose arguments are `args` in order, then the result.

    gvar: the name of the kernel in the module. args: an expression, or several in a list or a tuple. out_ty: the type
    of the result, `relay.TensorType((4, 8))`, or a list with an entry for each result of the kernel, None for the type
    that the kernel says. Type inference refuses a type that contradicts the kernel.
    tir_vars: numbers or sizes for the kernel's sizes that no argument tells, in order.
    out_sinfo: another name of out_ty.
    """
    return _called("call_tir", gvar, args, out_sinfo if out_ty is None else out_ty, {"tir_vars": tir_vars})


def call_tir_inplace(
    gvar: GlobalVar | str,
    args: Any,
    inplace_indices: int | Sequence[int],
    out_ty: Any = None,
    tir_vars: Sequence[Any] = (),
) -> Expr | TupleWrapper:
    """Return the results of a kernel that writes result k to argument `inplace_indices[k]`; -1: to one of its own.

    The caller's tensor stays as it is: the kernel writes to a copy. Other arguments as `call_tir`.
    """
    indices = (inplace_indices,) if isinstance(inplace_indices, int) else tuple(inplace_indices)
    results = [None] * len(indices) if out_ty is None else out_ty
    return _called("call_tir_inplace", gvar, args, results, {"inplace_indices": indices, "tir_vars": tir_vars})


def _called(
    name: str, gvar: GlobalVar | str, args: Any, results: Any, options: Mapping[str, Sequence[Any]]
) -> Expr | TupleWrapper:
    if not isinstance(gvar, GlobalVar | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise FrontendError(expectation(name, "the name of a kernel of the module", type(gvar).__name__))
    attrs: dict[str, Any] = {"callee": gvar.name_hint if isinstance(gvar, GlobalVar) else gvar}
    attrs |= {name: list(values) for name, values in options.items() if values}
    stated = stated_types(name, results)
    call = Call(Op("call_tir"), [Tuple(_fields(args))], attrs, stated=stated)
    return TupleWrapper(call, len(stated)) if len(stated) > 1 else call


def _fields(args: Any) -> list[Expr]:
    fields = cast("Sequence[Any]", args.fields if isinstance(args, Tuple) else args)
    return [as_expr(field) for field in (fields if isinstance(args, list | tuple | Tuple) else [args])]


def stated_types(name: str, results: Any) -> list[Attribute | None]:
    """Return the types that an `out_ty` states, one for each result; raises FrontendError for what is no type."""
    if results is None:
        return []
    given = plain(results)
    if isinstance(given, Attribute) and (fields := fields_of(given)) is not None:
        given = fields
    types = [plain(part) for part in (cast("Sequence[Any]", given) if isinstance(given, list | tuple) else [given])]
    if wrong := [type_ for type_ in types if type_ is not None and not isinstance(type_, Attribute)]:
        raise FrontendError(expectation(name, "types as out_ty", type(wrong[0]).__name__))
    return types


def call_dps_packed(func: str, args: Any, out_ty: Any) -> Expr | TupleWrapper:
    """Return the results that a function of `whence.register_func` writes to tensors that are given to it.

    func: its name. args: an expression, or several in a list or a tuple, which the function gets first, then a tensor
    for each result. out_ty: the type of the result, or a list of types, with sizes that are numbers when compiled.
    """
    if not isinstance(func, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise FrontendError(expectation("call_dps_packed", "the name of a registered function", type(func).__name__))
    stated = stated_types("call_dps_packed", out_ty)
    if not stated or not all(isinstance(type_, TensorType) for type_ in stated):
        got = ", ".join(map(str, stated)) or "none"
        raise FrontendError(expectation("call_dps_packed", "types of tensors with a shape and a dtype as out_ty", got))
    tensors = [as_tensor(cast("TensorType[Attribute]", type_)) for type_ in stated]
    attrs: dict[str, Any] = {
        "callee": func,
        "shape": [extent for tensor in tensors for extent in extents_of(tensor)],
        "dtype": ", ".join(dtype_name(tensor.element_type) for tensor in tensors),
    }
    if len(tensors) > 1:
        attrs["ndims"] = [len(extents_of(tensor)) for tensor in tensors]
    call = Call(Op("call_dps_packed"), [Tuple(_fields(args))], attrs)
    return TupleWrapper(call, len(tensors)) if len(tensors) > 1 else call


def match_cast(value: Any, ty: Any, dtype: str = "float32") -> Expr:
    """Return a tensor at a type, `relay.TensorType(("k", 4), "float32")`, or at a shape with a dtype.

    A size that nothing before has is bound to the extent; other extents are checked, before the program runs where the
    inputs tell them, else when the value is there.
    """
    type_ = plain(ty) if isinstance(ty, Attribute | TypeView) else tensor_type(ty, dtype)
    if not isinstance(type_, TensorType):
        raise FrontendError(expectation("match_cast", "the type of a tensor", str(type_)))
    tensor = as_tensor(cast("TensorType[Attribute]", type_))
    attrs = {"shape": list(extents_of(tensor)), "dtype": dtype_name(tensor.element_type)}
    return Call(Op("match_cast"), [as_expr(value)], attrs)


CALLS: dict[str, Builder] = {
    "call_tir": call_tir,
    "call_tir_inplace": call_tir_inplace,
    "call_dps_packed": call_dps_packed,
    "match_cast": match_cast,
}
