"""Nodes as Python functions take them: their attributes, and what the file states of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...runtime.interpreting.flow import Step
from ..importing.model import Model
from ..importing.python_calls import PythonCall
from ..importing.results import Stated
from ..importing.tensor import Tensor
from .context import Context
from .inputs import SHAPES
from .result_types import result_dtype
from .values import array_of, extents_of


def python_call_of(step: Step, ctx: Context, stated: Sequence[Stated]) -> PythonCall:
    """Return a node's call: inputs in order, attributes by name but for element types, which the arrays have."""
    attributes = {
        name: _value(ctx, name, value)
        for name, value in ctx.node.attributes.items()
        if not name.startswith("_") and value.WhichOneof("value") not in ("type", None) and not value.list.type
    }
    return PythonCall(list(range(len(ctx.inputs))), stated, attributes)


def _value(ctx: Context, name: str, value: Any) -> Any:
    match value.WhichOneof("value"):
        case "s":
            return value.s.decode(errors="replace")
        case "shape":
            return extents_of(value.shape)
        case "tensor":
            return array_of(value.tensor, f"attribute '{name}'")
        case "list":
            fields: tuple[Any, ...] = (value.list.i, value.list.f, value.list.b)
            numbers = [number for field in fields for number in field]
            return [text.decode(errors="replace") for text in value.list.s] or numbers
        case "i" | "f" | "b" as kind:
            return getattr(value, kind)
        case kind:
            ctx.fail(f"attribute '{name}' that is a number, a text or a tensor", str(kind))


def stated_results(model: Model, step: Step, ctx: Context, tensors: Mapping[str, Tensor]) -> list[Stated]:
    """Return the results: shapes of `_output_shapes`, element types as the operators' definitions have them.

    Of outputs of the model what the signature says.
    """
    shapes = list(ctx.node.attributes[SHAPES].list.shape) if SHAPES in ctx.node.attributes else []
    results: list[Stated] = []
    for at, name in enumerate(step.outputs):
        signed: Stated = model.source.signed.get(name, Stated())
        shape = signed.shape if signed.shape is not None or at >= len(shapes) else open_extents(shapes[at])
        results.append(Stated(shape, signed.dtype if signed.dtype is not None else result_dtype(ctx.node, at)))
    return results


def open_extents(shape: Any) -> list[int | None] | None:
    """Return the extents of a TensorShapeProto, None for those that are open; None where even their number is."""
    extents = extents_of(shape)
    return None if extents is None else [None if extent < 0 else extent for extent in extents]
