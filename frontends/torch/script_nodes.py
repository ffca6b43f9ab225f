# pyright: basic
"""Evaluates the nodes of TorchScript beside calls of ATen: constants, attributes, structures, queries of types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import getitem
from typing import Any

from .schema import Argument, Name, ScalarType
from .script_control import branch, loop, raise_error
from .script_evaluate import Evaluation, Signature, Tables
from .script_values import CODES, TORCH_CODES, Member, Number, Tensor, computed_in


def _constant(evaluation: Evaluation, node: Any) -> list[Any]:
    if not node.hasAttribute("value"):
        return [None]
    kind = node.kindOf("value")
    value = node.output().toIValue() if kind == "ival" else getattr(node, kind)("value")
    torch = evaluation.torch
    if isinstance(value, torch.Tensor):
        if value.dim() == 0 and _is_number(torch, value):
            return [value.item()]
        return [evaluation.constant(evaluation.names.own(node), value)]
    if node.output().type().kind() == "BoolType":
        return [bool(value)]
    return [value]


def _is_number(torch: Any, tensor: Any) -> bool:
    """Return whether a scalar tensor represents a number of Python."""
    narrow = {torch.float64: torch.float32, torch.int64: torch.int32}.get(tensor.dtype)
    return narrow is not None and torch.result_type(torch.zeros((), dtype=narrow), tensor) == narrow


def _attribute(evaluation: Evaluation, node: Any) -> list[Any]:
    (owner,) = evaluation.inputs(node)
    name = node.s("name")
    path = f"{owner.path}.{name}" if owner.path else name
    return [_member(evaluation, getattr(owner.owner, name), path)]


def _member(evaluation: Evaluation, value: Any, path: str) -> Any:
    """Return the value of a module's attribute."""
    if isinstance(value, evaluation.torch.Tensor):
        return evaluation.weight(path, value)
    if isinstance(value, list | tuple):
        items = [_member(evaluation, item, f"{path}.{at}") for at, item in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _member(evaluation, item, f"{path}.{key}") for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return Member(value, path)


def _unpacked(evaluation: Evaluation, node: Any) -> list[Any]:
    (values,) = evaluation.inputs(node)
    if isinstance(values, Tensor) or len(values) != node.outputsSize():
        raise evaluation.fail(node, f"{node.outputsSize()} items", "another number")
    return list(values)


def _dictionary(evaluation: Evaluation, node: Any) -> list[Any]:
    values = evaluation.inputs(node)
    return [dict(zip(values[::2], values[1::2], strict=True))]


OWN: Mapping[str, Callable[[Evaluation, Any], list[Any]]] = {
    "prim::Constant": _constant,
    "prim::DictConstruct": _dictionary,
    "prim::GetAttr": _attribute,
    "prim::If": branch,
    "prim::ListConstruct": lambda evaluation, node: [evaluation.inputs(node)],
    "prim::ListUnpack": _unpacked,
    "prim::Loop": loop,
    "prim::RaiseException": raise_error,
    "prim::TupleConstruct": lambda evaluation, node: [tuple(evaluation.inputs(node))],
    "prim::TupleIndex": lambda evaluation, node: [getitem(*evaluation.inputs(node))],
    "prim::TupleUnpack": _unpacked,
}
"""Kind of a node that is not a call of an operator -> its results."""


# Queries of a tensor's type.


def _extent(evaluation: Evaluation, node: Any, tensor: Tensor, axis: int) -> Any:
    if tensor.fake is None:
        raise evaluation.fail(node, "a tensor whose shape torch infers", f"'{tensor.name}'")
    rank = tensor.fake.dim()
    if not -rank <= axis < rank:
        raise evaluation.fail(node, f"an axis of {rank}", str(axis))
    extent = tensor.fake.shape[axis]
    if isinstance(extent, int):
        return extent
    value = Number(evaluation.fresh(f"{evaluation.names.own(node)}_0"), extent)
    arguments: dict[str, Argument] = {"self": Name(tensor.name), "dim": axis % rank}
    evaluation.add(node, "aten.sym_size.int", arguments, [[value.name]])
    return value


def _size(evaluation: Evaluation, node: Any, tensor: Tensor, axis: int | None = None) -> Any:
    if axis is not None:
        return _extent(evaluation, node, tensor, axis)
    return [_extent(evaluation, node, tensor, at) for at in range(_rank(evaluation, node, tensor))]


def _rank(evaluation: Evaluation, node: Any, tensor: Tensor) -> int:
    if tensor.fake is None:
        raise evaluation.fail(node, "a tensor whose rank torch infers", f"'{tensor.name}'")
    return tensor.fake.dim()


def _count(evaluation: Evaluation, node: Any, tensor: Tensor) -> Any:
    if isinstance(count := tensor.fake.numel(), int):
        return count
    value = Number(evaluation.fresh(f"{evaluation.names.own(node)}_0"), count)
    evaluation.add(node, "aten.sym_numel.default", {"self": Name(tensor.name)}, [[value.name]])
    return value


def _element(evaluation: Evaluation, node: Any, tensor: Tensor) -> int:
    dtype = str(tensor.fake.dtype).removeprefix("torch.")
    return TORCH_CODES.index(CODES[dtype])


def _item(evaluation: Evaluation, node: Any, tensor: Tensor) -> Any:
    """Return the only element of a tensor as a number of the node's kind."""
    kind = node.output().type().kind()
    python = {"IntType": int, "FloatType": float, "BoolType": bool}.get(kind, lambda number: number)
    real = evaluation.known(tensor)
    if real is not None:
        return python(real.item())
    torch = evaluation.torch
    if tensor.fake is None:
        raise evaluation.fail(node, "a tensor whose type torch infers", f"'{tensor.name}'")
    source, dtype = tensor, tensor.fake.dtype
    target_dtype = {"IntType": torch.int64, "FloatType": torch.float64, "BoolType": torch.bool}.get(kind, dtype)
    whole = not dtype.is_floating_point and dtype != torch.bool
    if dtype != target_dtype and not (whole and kind == "IntType"):
        with evaluation.mode:
            fake = tensor.fake.to(target_dtype)
        source = evaluation.tensor(f"{evaluation.names.own(node)}_{kind}", fake)
        code = ScalarType(CODES[str(target_dtype).removeprefix("torch.")])
        evaluation.add(node, "aten.to.dtype", {"self": Name(tensor.name), "dtype": code}, [[source.name]])
    with evaluation.mode:
        symbol = torch.ops.aten.item.default(source.fake)
    value = Number(evaluation.fresh(f"{evaluation.names.own(node)}_0"), symbol)
    evaluation.add(node, "aten.item.default", {"self": Name(source.name)}, [[value.name]])
    return value


def _shape(evaluation: Evaluation, node: Any, tensor: Tensor) -> Any:
    """Return the extents of a tensor as a tensor."""
    sizes = _size(evaluation, node, tensor)
    if computed_in(sizes):
        return evaluation.unread(node)
    return evaluation.constant(evaluation.names.own(node), evaluation.torch.tensor(sizes, dtype=evaluation.torch.int64))


ASKING: Mapping[str, Callable[..., Any]] = {
    "aten::Bool": _item,
    "aten::Float": _item,
    "aten::FloatImplicit": _item,
    "aten::Int": _item,
    "aten::IntImplicit": _item,
    "aten::ScalarImplicit": _item,
    "aten::_shape_as_tensor": _shape,
    "aten::dim": _rank,
    "aten::is_complex": lambda evaluation, node, tensor: tensor.fake.dtype.is_complex,
    "aten::is_floating_point": lambda evaluation, node, tensor: tensor.fake.dtype.is_floating_point,
    "aten::item": _item,
    "aten::len": lambda evaluation, node, tensor: _extent(evaluation, node, tensor, 0),
    "aten::numel": _count,
    "aten::size": _size,
    "prim::dtype": _element,
    "prim::layout": lambda evaluation, node, tensor: 0,
    "prim::shape": _size,
}
"""Operator that asks for a tensor's type or only element -> the answer."""


# Calls of operators that exported programs do not have.


def _scalar(evaluation: Evaluation, node: Any, signature: Signature, values: Sequence[Any]) -> Any:
    """Return a number as a tensor."""
    (value,) = values
    torch = evaluation.torch
    if not isinstance(value, Number):
        return evaluation.constant(evaluation.names.own(node), torch.tensor(value))
    dtype = torch.tensor(0.0 if isinstance(value.symbol, torch.SymFloat) else 0).dtype
    if isinstance(value.symbol, torch.SymBool):
        dtype = torch.bool
    with evaluation.mode:
        fake = torch.empty((), dtype=dtype)
    result = evaluation.tensor(f"{evaluation.names.own(node)}_0", fake)
    arguments: dict[str, Argument] = {
        "s": Name(value.name, number=True),
        "dtype": ScalarType(CODES[str(dtype).removeprefix("torch.")]),
    }
    evaluation.add(node, "aten.scalar_tensor.default", arguments, [[result.name]])
    return result


def _literal(evaluation: Evaluation, node: Any, signature: Signature, values: Sequence[Any]) -> Any:
    """`torch.tensor` of numbers and lists of numbers."""
    data, dtype = values[0], values[1] if len(values) > 1 else None
    if computed_in(data):
        if isinstance(data, Number):
            return _scalar(evaluation, node, signature, [data])
        return evaluation.unread(node)
    torch = evaluation.torch
    name = next((name for name, code in CODES.items() if dtype is not None and code == TORCH_CODES[dtype]), None)
    tensor = torch.tensor(data, dtype=getattr(torch, name) if name else None)
    return evaluation.constant(evaluation.names.own(node), tensor)


REWRITTEN: Mapping[str, Callable[[Evaluation, Any, Signature, Sequence[Any]], Any]] = {
    "aten.as_tensor.default": _literal,
    "aten.as_tensor.bool": _literal,
    "aten.as_tensor.float": _literal,
    "aten.as_tensor.int": _literal,
    "aten.scalar_tensor.default": lambda evaluation, node, signature, values: _literal(
        evaluation, node, signature, values[:2]
    ),
    "aten.tensor.bool": _literal,
    "aten.tensor.default": _literal,
    "aten.tensor.float": _literal,
    "aten.tensor.int": _literal,
    "prim.NumToTensor.Scalar": _scalar,
    "prim.NumToTensor.bool": _scalar,
}
"""Target of a call that becomes other calls, or none -> the result."""

RENAMED: Mapping[str, str] = {
    "aten.to.prim_dtype": "aten.to.dtype",
    "aten.to.prim_other": "aten.to.other",
    "aten.to.prim_Device": "aten.to.dtype_layout",
}
"""Overload that only TorchScript has -> the overload in exported programs."""

TABLES = Tables(OWN, ASKING, REWRITTEN, RENAMED)
