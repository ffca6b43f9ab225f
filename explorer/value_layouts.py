"""The layouts of what kernel calls give: as they store it, and as the model has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import LocationAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from ..dialects.relay.core import CallOp, FuncOp, ReturnOp
from ..dialects.relay.layout import parse_layout
from ..dialects.relay.layout_traits import Layout
from ..dialects.relay.operator import Operator, shape_of
from ..dialects.relay.traits import OpPattern
from ..dialects.relay.transform import LayoutTransformOp, Reshaping, TransposeOp
from ..planning.artifact import Artifact
from ..provenance.span import leaves
from .layers import functions, snapshot
from .results import results

_POINTWISE = (OpPattern.ELEMWISE, OpPattern.BROADCAST)


def call_layouts(artifact: Artifact) -> dict[int, tuple[str, str]]:
    """Number of a call -> the layout in which it stores its result, and that in which the layer has it in the model.

    `("NCHW16c", "NCHW")`. Only calls that give the value of a layer in another layout than the model's.
    """
    imported = functions(snapshot(artifact, "relay"))
    fused = functions(snapshot(artifact, "fused"))
    model = _of_layers(imported)
    stored = _of_values(fused["main"], fused, {})
    calls = [op for op in fused["main"].block.ops if isinstance(op, CallOp)]
    layouts: dict[int, tuple[str, str]] = {}
    for (number, output), values in results(artifact).items():
        value = calls[number].results[output]
        kept = stored.get(value, "")
        for leaf, _ in values if kept and not output else ():
            if leaf not in model:
                continue
            layout, shape = model[leaf]
            plain = layout or "".join(axis.letter for axis in parse_layout(kept) if not axis.factor)
            if kept != plain and _shape(shape_of(value), kept, plain) == shape:
                layouts[number] = kept, plain
                break
    return layouts


def _of_layers(imported: Mapping[str, FuncOp]) -> dict[LocationAttr, tuple[str, tuple[int, ...]]]:
    """Leaf of a layer -> layout and shape of the first result of its last operator, as it was imported."""
    main = imported["main"]
    layouts = _of_values(main, imported, {})
    results: dict[LocationAttr, tuple[str, tuple[int, ...]]] = {}
    for op in main.block.ops:
        if isinstance(op, Operator) and op.results:
            for leaf in leaves(op.location):
                results[leaf] = layouts.get(op.results[0], ""), shape_of(op.results[0])
    return results


def _of_values(func: FuncOp, functions: Mapping[str, FuncOp], arguments: Mapping[int, str]) -> dict[SSAValue, str]:
    """The layouts of values of a function, where operators tell them; `arguments`: those of its arguments."""
    layouts: dict[SSAValue, str] = {
        func.block.args[position]: layout for position, layout in arguments.items() if layout
    }
    for op in func.block.ops:
        if isinstance(op, ReturnOp) or not op.results:
            continue
        layout = _of_result(op, functions, layouts)
        if layout and len(parse_layout(layout)) == len(shape_of(op.results[0])):
            layouts[op.results[0]] = layout
    return layouts


def _of_result(op: Operation, functions: Mapping[str, FuncOp], layouts: Mapping[SSAValue, str]) -> str:
    """The layout of the first result of an op; "" where nothing tells it."""
    if isinstance(op, CallOp):
        callee = functions[op.callee.string_value()]
        arguments = {position: layouts.get(value, "") for position, value in enumerate(op.arguments)}
        return _of_values(callee, functions, arguments).get(callee.return_op.operands[0], "")
    if isinstance(op, LayoutTransformOp):
        return op.dst_layout.data
    for name in ("out_layout", "data_layout", "layout"):
        if isinstance(attribute := getattr(op, name, None), StringAttr) and attribute.data:
            return attribute.data
    if isinstance(op, TransposeOp):
        return _permuted(layouts.get(op.operands[0], ""), op)
    shape = shape_of(op.results[0])
    if op.name.endswith("_NCHWc"):
        return f"NCHW{shape[-1]}c"
    # Reshapes have a `Layout`, too, for where no element moves.
    keeps_axes = op.has_trait(Layout) and not isinstance(op, Reshaping)
    if not isinstance(op, Operator) or not (keeps_axes or op.is_pointwise() or op.pattern() in _POINTWISE):
        return ""
    rank = len(shape)
    return next((layouts[value] for value in op.operands if value in layouts and len(shape_of(value)) == rank), "")


def _permuted(layout: str, op: TransposeOp) -> str:
    """The layout of what `op` makes of a tensor in a layout without blocks."""
    order = op.order(op.signature)
    return "".join(layout[axis] for axis in order) if layout.isalpha() and len(layout) == len(order) else ""


def _shape(shape: Sequence[int], layout: str, plain: str) -> tuple[int, ...] | None:
    """The shape in `plain` of a tensor of a shape in `layout`; None where `plain` has other axes, or blocks."""
    extents: dict[str, int] = {}
    for axis, extent in zip(parse_layout(layout), shape, strict=True):
        extents[axis.letter] = extents.get(axis.letter, 1) * extent
    if not plain.isalpha() or set(plain) != set(extents):
        return None
    return tuple(extents[letter] for letter in plain)
