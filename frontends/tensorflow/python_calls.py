"""Nodes as Python functions take them: their attributes, and what the file states of their results."""

from __future__ import annotations

from typing import Any

from ...runtime.flow import Step
from ..importing.python_calls import PythonCall, Stated
from .context import Context
from .values import DTYPES, array_of, extents_of, value_type

_SHAPES = "_output_shapes"
_ELEMENTS = ("T", "dtype", "out_type", "output_type", "DstT", "Tout")
"""Attributes that say the element type of results, where they say one, the first that there is."""


def python_call_of(step: Step, ctx: Context) -> PythonCall:
    """Return a node's call: inputs in order, attributes by name but for element types, which the arrays have."""
    attributes = {
        name: _value(ctx, name, value)
        for name, value in ctx.node.attributes.items()
        if not name.startswith("_") and value.WhichOneof("value") not in ("type", None) and not value.list.type
    }
    return PythonCall(list(range(len(ctx.inputs))), _stated(step, ctx), attributes)


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


def _stated(step: Step, ctx: Context) -> list[Stated]:
    """The results: shapes of `_output_shapes`; the element type of an attribute that says one for all."""
    shapes = list(ctx.node.attributes[_SHAPES].list.shape) if _SHAPES in ctx.node.attributes else []
    numbers = [value_type(ctx.node.attributes[name].type) for name in _ELEMENTS if name in ctx.node.attributes]
    dtype = DTYPES.get(numbers[0]) if len(set(numbers)) == 1 else None
    results: list[Stated] = []
    for at in range(len(step.outputs)):
        extents = extents_of(shapes[at]) if at < len(shapes) else None
        results.append(Stated(None if extents is None else [None if n < 0 else n for n in extents], dtype))
    return results
