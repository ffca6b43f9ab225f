"""Operators of StableHLO that LiteRT's kernels run: rows of the table that programs of StableHLO have."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from ..importing.attributes import Int
from ..importing.converter import Converter, Result
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.windows import Sizes
from ..stablehlo import context as stablehlo
from ..stablehlo import elementwise, indexing, scatters, shaping, windows
from ..stablehlo.nodes import Node
from .context import Context

_FUNCTIONS = ("", "add", "mul", "minimum", "maximum", "logical_and", "logical_or")
_OPTIONS: dict[str, tuple[str, ...]] = {
    "gather": ("OffsetDims", "CollapsedSliceDims", "StartIndexMap", "SliceSizes"),
    "pad": ("EdgePaddingLow", "EdgePaddingHigh", "InteriorPadding"),
    "reduce_window": ("WindowDimensions", "WindowStrides", "BaseDilations", "WindowDilations", "Padding"),
    "scatter": ("UpdateWindowDims", "InsertedWindowDims", "ScatterDimsToOperandDims"),
}
"""Operator -> the options that are lists of numbers, by the names that the schema has for them."""
_WITH_VECTORS = frozenset({"gather", "scatter"})


def _named(name: str) -> str:
    """The name that StableHLO has for an option: `OffsetDims` is `offset_dims`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _row(name: str, converter: Converter[stablehlo.Context]) -> Converter[Context]:
    """A row of StableHLO's table, whose properties are the options of an operator of TFLite."""

    def convert(ctx: Context) -> Result | tuple[Result, ...]:
        attributes: dict[str, Any] = {_named(option): ctx.ints(option, ()) for option in _OPTIONS.get(name, ())}
        if name in _WITH_VECTORS:
            attributes["index_vector_dim"] = int(ctx.int("IndexVectorDim", 0))
        body = ctx.node.body.removeprefix("STABLEHLO_").lower()
        node = Node(
            op_type=ctx.op_type,
            leaf=ctx.leaf,
            layer=ctx.node.layer,
            index=ctx.node.index,
            attributes=attributes,
            body="update" if name == "scatter" and not body else body,
            body_text=ctx.node.body,
        )
        state = {own.name: getattr(ctx, own.name) for own in fields(ctx) if own.name != "node"}
        return converter.apply(stablehlo.Context(**state, node=node))

    regions = ("BodySubgraphIndex", "UpdateComputationSubgraphIndex")
    return Converter(convert, unread=dict.fromkeys(regions, "read with the file, as the body of the node"))


def _reduce_window(x: Term, start: Term, kernel: Sizes, strides: Sizes, dilation: Sizes, which: int) -> Term:
    rank = len(x.shape)
    if not len(kernel) == len(strides) == len(dilation) == rank:
        x.ctx.fail(f"{rank} numbers for each of three inputs", str([len(kernel), len(strides), len(dilation)]))
    body = _FUNCTIONS[which] if 0 <= which < len(_FUNCTIONS) else ""
    return windows.reduced(x, start, body, kernel, strides, (1,) * rank, dilation, (0,) * (2 * rank))


TABLE: dict[str, Converter[Context]] = {
    "REDUCE_WINDOW": row(
        _reduce_window,
        "input start kernel:ints strides:ints dilation:ints",
        which=Int(0, name="ReduceFunction"),
    ),
    **{
        f"STABLEHLO_{name.upper()}": _row(name, rows.TABLE[name])
        for rows, names in (
            (elementwise, ("add", "and", "maximum", "minimum", "multiply", "shift_left")),
            (indexing, ("gather",)),
            (scatters, ("scatter",)),
            (shaping, ("pad",)),
            (windows, ("reduce_window",)),
        )
        for name in names
    },
}
