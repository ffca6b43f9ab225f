"""Windows that are reduced: poolings, running sums, and other ones tap by tap."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic
from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.nn import (
    AvgPool1DOp,
    AvgPool2DOp,
    AvgPool3DOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
)
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ConcatenateOp, StridedSliceOp
from ..importing import context as importing
from ..importing.converter import Converter
from ..importing.products import reshaped
from ..importing.tensor import shape_of
from ..importing.terms import Term
from .context import Context
from .known import uniform
from .reductions import neutral
from .shaping import padded

Numbers = Sequence[int]
_MOST_TAPS = 1024
"""Of a window: each is a slice of the data."""
_MAX_POOL: dict[int, type[Operator]] = {1: MaxPool1DOp, 2: MaxPool2DOp, 3: MaxPool3DOp}
_AVG_POOL: dict[int, type[Operator]] = {1: AvgPool1DOp, 2: AvgPool2DOp, 3: AvgPool3DOp}
_LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}

_BODIES: dict[str, tuple[type[Operator], type[Operator] | None]] = {
    "add": (ew.AddOp, logic.LogicalOrOp),
    "mul": (ew.MultiplyOp, logic.LogicalAndOp),
    "multiply": (ew.MultiplyOp, logic.LogicalAndOp),
    "maximum": (ew.MaximumOp, logic.LogicalOrOp),
    "minimum": (ew.MinimumOp, logic.LogicalAndOp),
    "and": (logic.BitwiseAndOp, logic.LogicalAndOp),
    "or": (logic.BitwiseOrOp, logic.LogicalOrOp),
    "logical_and": (logic.LogicalAndOp, None),
    "logical_or": (logic.LogicalOrOp, None),
}


def reduced(
    ctx: importing.Context,
    body: str,
    kernel: Numbers,
    strides: Numbers,
    apart: Numbers,
    dilation: Numbers,
    edges: Numbers,
) -> SSAValue:
    """Reduce each window of input 0, from a start value, input 1, that also stands for what is outside."""
    if body not in _BODIES:
        ctx.fail(f"one operator among {', '.join(_BODIES)} on windows", body or "another")
    if min((*kernel, *strides, *apart, *dilation), default=1) < 1:
        ctx.fail("positive windows, strides and dilations", f"{kernel}, {strides}, {apart} and {dilation}")
    if prod(kernel) > _MOST_TAPS:
        ctx.fail(f"windows of at most {_MOST_TAPS} elements", str(prod(kernel)))
    inner = [n - 1 for n in apart]
    x = padded(ctx, ctx.value(0), ctx.value(1), edges[0::2], edges[1::2], inner)
    shape, (op, logical) = shape_of(x), _BODIES[body]
    op = logical if logical is not None and ctx.dtype(0) == np.bool_ else op
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    result = [max((n - span) // s + 1, 0) for n, span, s in zip(shape, spans, strides, strict=True)]
    if not all(result):
        ctx.fail(f"windows that fit {list(shape)}", str(list(spans)))
    total = reshaped(ctx, ctx.value(1), ())
    for tap in product(*map(range, kernel)):
        begin = [t * d for t, d in zip(tap, dilation, strict=True)]
        end = [b + (n - 1) * s + 1 for b, n, s in zip(begin, result, strides, strict=True)]
        total = ctx.emit(op, total, ctx.emit(StridedSliceOp, x, begin=begin, end=end, strides=strides))
    return total


def _reduce_window(ctx: Context) -> SSAValue:
    if len(ctx.inputs) != 2:
        ctx.fail("data and a start", f"{len(ctx.inputs)} inputs")
    rank = len(ctx.shape(0))
    kernel = ctx.ints("window_dimensions", rank)
    names = ("window_strides", "base_dilations", "window_dilations")
    strides, apart, dilation = (ctx.ints(name, rank, 1) for name in names)
    edges = ctx.ints("padding", 2 * rank, 0)
    body = ctx.node.body
    start = uniform(ctx, 1)
    if body in _BODIES and start is not None and start == neutral(body, ctx.dtype(0)):
        if apart == (1,) * rank:
            running = _running(ctx, kernel, strides, dilation, edges)
            if running is not None:
                return running
            pooled = _pooled(ctx, kernel, strides, dilation, edges)
            if pooled is not None:
                return pooled
    return reduced(ctx, body or ctx.node.body_text, kernel, strides, apart, dilation, edges)


def _running(ctx: Context, kernel: Numbers, strides: Numbers, dilation: Numbers, edges: Numbers) -> SSAValue | None:
    """A window that begins before the first element of an axis and ends at each one, or the other way round."""
    shape = ctx.shape(0)
    wide = [axis for axis, k in enumerate(kernel) if k != 1]
    if len(wide) != 1 or any(s != 1 for s in (*strides, *dilation)):
        return None
    (axis,) = wide
    extent = shape[axis]
    others = [n for at, n in enumerate(edges) if at // 2 != axis]
    before, after = edges[2 * axis], edges[2 * axis + 1]
    if any(others) or kernel[axis] != extent or (before, after) not in ((extent - 1, 0), (0, extent - 1)):
        return None
    reverse = after > 0
    body = ctx.node.body
    if ctx.dtype(0) != np.bool_ and body in ("add", "multiply"):
        op = CumsumOp if body == "add" else CumprodOp
        return ctx.emit(op, ctx.value(0), axis=axis, dtype=ctx.dtype(0).name, reverse=reverse)
    op, logical = _BODIES[body]
    op = logical if logical is not None and ctx.dtype(0) == np.bool_ else op
    total, reach = ctx.value(0), 1
    # Windows of twice the reach are those of the reach, and those a reach before.
    while reach < extent:
        total = _with_neighbours(ctx, op, total, axis, reach, reverse)
        reach *= 2
    return total


def _with_neighbours(ctx: Context, op: type[Operator], x: SSAValue, axis: int, reach: int, reverse: bool) -> SSAValue:
    """Each element with the one `reach` before it, or behind it; those that have none stay."""
    shape = shape_of(x)

    def part(begin: int, end: int) -> SSAValue:
        begins = [begin if at == axis else 0 for at in range(len(shape))]
        ends = [end if at == axis else extent for at, extent in enumerate(shape)]
        return ctx.emit(StridedSliceOp, x, begin=begins, end=ends, strides=[1] * len(shape))

    extent = shape[axis]
    joined = ctx.emit(op, part(0, extent - reach), part(reach, extent))
    parts = [joined, part(extent - reach, extent)] if reverse else [part(0, reach), joined]
    return ctx.emit(ConcatenateOp, parts, axis=axis)


def _pooled(ctx: Context, kernel: Numbers, strides: Numbers, dilation: Numbers, edges: Numbers) -> SSAValue | None:
    """A pooling: of windows over one to three axes of data with two others beside them; None where it is none."""
    shape, body, dtype = ctx.shape(0), ctx.node.body, ctx.dtype(0)
    rank = len(shape)
    wide = [
        axis for axis in range(rank) if kernel[axis] != 1 or strides[axis] != 1 or any(edges[2 * axis : 2 * axis + 2])
    ]
    if body not in ("add", "maximum") or dtype.kind in "iub" or min(edges, default=0) < 0 or not wide:
        return None
    spatial = list(range(1, rank - 1)) if wide[-1] < rank - 1 and wide[0] > 0 else list(range(2, rank))
    if not set(wide) <= set(spatial) or len(spatial) not in _LAYOUTS:
        return None
    pads = [(edges[2 * axis], edges[2 * axis + 1]) for axis in spatial]
    spans = [(kernel[axis] - 1) * dilation[axis] + 1 for axis in spatial]
    # What a pooling has never seen: windows that lie outside, with nothing of the data.
    if any(max(pad) >= span for pad, span in zip(pads, spans, strict=True)):
        return None
    attributes = {
        "pool_size": [kernel[axis] for axis in spatial],
        "strides": [strides[axis] for axis in spatial],
        "dilation": [dilation[axis] for axis in spatial],
        "padding": [*(before for before, _ in pads), *(after for _, after in pads)],
        "layout": _LAYOUTS[len(spatial)][spatial[0] == 1],
    }
    if body == "maximum":
        return ctx.emit(_MAX_POOL[len(spatial)], ctx.value(0), **attributes)
    average = ctx.emit(_AVG_POOL[len(spatial)], ctx.value(0), **attributes, count_include_pad=True)
    return (Term(ctx, average) * float(prod(kernel))).value


TABLE: dict[str, Converter[Context]] = {"reduce_window": Converter(_reduce_window)}
