"""Nodes as Python functions take them: their attributes, and what a model states of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto
from xdsl.ir import SSAValue

from ...dialects.sizes import Size, SizeExpr
from ...runtime.interpreting.flow import Step
from ..importing.python_calls import Argument, PythonCall
from ..importing.results import Stated
from ..importing.tensor import Tensor, shape_of
from .context import Context
from .program import canonical, node_of
from .tensors import dense, dtype_of, to_array


def python_call_of(step: Step, ctx: Context, stated: Sequence[Stated]) -> PythonCall:
    """Return a node's call: inputs in order, attributes by name, results as the standard or the model states them."""
    arguments: list[Argument] = [number if ctx.has(number) else None for number in range(len(ctx.inputs))]
    attributes = {attribute.name: _value(ctx, attribute) for attribute in ctx.node.attribute}
    inferred = _inferred(step, ctx)
    results = [_best(inferred.get(name), own) for name, own in zip(step.outputs, stated, strict=True)]
    return PythonCall(arguments, results, attributes)


def _value(ctx: Context, attribute: AttributeProto) -> Any:
    """The value of an attribute as Python has it; texts, and tensors as arrays."""
    what = f"attribute '{attribute.name}'"
    match attribute.type:
        case AttributeProto.TENSOR:
            return to_array(attribute.t, ctx.folder, what)
        case AttributeProto.SPARSE_TENSOR:
            return dense(attribute.sparse_tensor, ctx.folder, what)
        case AttributeProto.STRING:
            return attribute.s.decode(errors="replace")
        case AttributeProto.STRINGS:
            return [text.decode(errors="replace") for text in attribute.strings]
        case AttributeProto.INT | AttributeProto.FLOAT:
            return onnx.helper.get_attribute_value(attribute)
        case AttributeProto.INTS | AttributeProto.FLOATS:
            return list(cast("list[Any]", onnx.helper.get_attribute_value(attribute)))
        case _:
            ctx.fail(f"{what} that is a number, a text or a tensor", AttributeProto.AttributeType.Name(attribute.type))


def _best(inferred: TypeProto | None, own: Stated) -> Stated:
    """The type of a result: that which the standard says for these inputs goes before the model's for any inputs."""
    tensors = [of_type(inferred), own] if inferred is not None and inferred.HasField("tensor_type") else [own]
    return next((stated for stated in tensors if stated.shape is not None and None not in stated.shape), tensors[0])


_NO_NUMBERS = (TensorProto.UNDEFINED, TensorProto.STRING)


def of_type(type_: TypeProto) -> Stated:
    """Return the type of a result as far as an ONNX type says it; nothing for what is no tensor, or of texts."""
    tensor = type_.tensor_type
    dtype = dtype_of(tensor.elem_type, "a result") if tensor.elem_type not in _NO_NUMBERS else None
    if not tensor.HasField("shape"):
        return Stated(None, dtype)
    extents = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    return Stated([extent if extent is None or extent >= 0 else None for extent in extents], dtype)


def _inferred(step: Step, ctx: Context) -> dict[str, TypeProto]:
    """The types of the outputs of an operator of the standard for these inputs; none of other operators."""
    node: NodeProto = ctx.node
    try:
        schema = onnx.defs.get_schema(node.op_type, ctx.opset, canonical(node.domain))
        types = {
            name: type_of(tensor) for name, tensor in zip(step.inputs, ctx.inputs, strict=False) if tensor is not None
        }
        return dict(onnx.shape_inference.infer_node_outputs(schema, node, types, opset_imports=opset_imports(step)))
    except (onnx.defs.SchemaError, onnx.shape_inference.InferenceError):
        return {}


def opset_imports(step: Step) -> list[onnx.OperatorSetIdProto]:
    """Return the versions of the domains that a node was written for."""
    return [onnx.helper.make_opsetid(domain, version) for domain, version in node_of(step).opsets.items()]


def type_of(tensor: Tensor) -> TypeProto:
    """Return the ONNX type of a tensor; sizes of the call have their names."""
    shape = tensor.array.shape if tensor.array is not None else shape_of(cast(SSAValue, tensor.value))
    dims = [str(extent) if isinstance(extent, SizeExpr) else extent for extent in cast("Sequence[Size]", shape)]
    return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(tensor.dtype)), dims)
