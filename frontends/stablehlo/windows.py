"""Windows that are reduced: poolings, running sums, and other ones tap by tap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from ..importing.terms import Term, absolute, exp, where
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


Join = Callable[[SSAValue, SSAValue], SSAValue]


def _joining(ctx: importing.Context, body: str) -> Join:
    """Return what puts two values together by a body."""
    if body == "logaddexp":
        return lambda a, b: _logaddexp(Term(ctx, a), Term(ctx, b)).value
    op, logical = _BODIES[body]
    chosen = logical if logical is not None and ctx.dtype(0) == np.bool_ else op
    return lambda a, b: ctx.emit(chosen, a, b)


def _logaddexp(a: Term, b: Term) -> Term:
    apart = a - b
    near = a.apply(ew.MaximumOp, b) + exp(-absolute(apart)).apply(ew.Log1pOp)
    return where(apart.apply(ew.IsNanOp), a + b, near)


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
    if body not in (*_BODIES, "logaddexp"):
        ctx.fail(f"one operator among {', '.join(_BODIES)} on windows, or logaddexp", body or "another")
    if min((*kernel, *strides, *apart, *dilation), default=1) < 1:
        ctx.fail("positive windows, strides and dilations", f"{kernel}, {strides}, {apart} and {dilation}")
    if prod(kernel) > _MOST_TAPS:
        ctx.fail(f"windows of at most {_MOST_TAPS} elements", str(prod(kernel)))
    inner = [n - 1 for n in apart]
    x = padded(ctx, ctx.value(0), ctx.value(1), edges[0::2], edges[1::2], inner)
    shape, join = shape_of(x), _joining(ctx, body)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    result = [max((n - span) // s + 1, 0) for n, span, s in zip(shape, spans, strides, strict=True)]
    if not all(result):
        ctx.fail(f"windows that fit {list(shape)}", str(list(spans)))
    total = reshaped(ctx, ctx.value(1), ())
    for tap in product(*map(range, kernel)):
        begin = [t * d for t, d in zip(tap, dilation, strict=True)]
        end = [b + (n - 1) * s + 1 for b, n, s in zip(begin, result, strides, strict=True)]
        total = join(total, ctx.emit(StridedSliceOp, x, begin=begin, end=end, strides=strides))
    return total


def _reduce_window(ctx: Context) -> SSAValue:
    if len(ctx.inputs) != 2:
        ctx.fail("data and a start", f"{len(ctx.inputs)} inputs")
    rank = len(ctx.shape(0))
    kernel = ctx.ints("window_dimensions", count=rank)
    names = ("window_strides", "base_dilations", "window_dilations")
    strides, apart, dilation = (ctx.ints(name, 1, count=rank) for name in names)
    edges = ctx.ints("padding", 0, count=2 * rank)
    body = ctx.node.body
    start = uniform(ctx, 1)
    if body in (*_BODIES, "logaddexp") and start is not None and start == neutral(body, ctx.dtype(0)):
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
    join = _joining(ctx, body)
    total, reach = ctx.value(0), 1
    # Windows of twice the reach are those of the reach, and those a reach before.
    while reach < extent:
        total = _with_neighbours(ctx, join, total, axis, reach, reverse)
        reach *= 2
    return total


def _with_neighbours(ctx: Context, join: Join, x: SSAValue, axis: int, reach: int, reverse: bool) -> SSAValue:
    """Each element with the one `reach` before it, or behind it; those that have none stay."""
    shape = shape_of(x)

    def part(begin: int, end: int) -> SSAValue:
        begins = [begin if at == axis else 0 for at in range(len(shape))]
        ends = [end if at == axis else extent for at, extent in enumerate(shape)]
        return ctx.emit(StridedSliceOp, x, begin=begins, end=ends, strides=[1] * len(shape))

    extent = shape[axis]
    joined = join(part(0, extent - reach), part(reach, extent))
    parts = [joined, part(extent - reach, extent)] if reverse else [part(0, reach), joined]
    return ctx.emit(ConcatenateOp, parts, axis=axis)


_SELECTIONS: dict[str, type[Operator]] = {
    "GE": logic.GreaterEqualOp,
    "GT": ew.GreaterOp,
    "LE": logic.LessEqualOp,
    "LT": ew.LessOp,
}


def _select_and_scatter(ctx: Context) -> SSAValue:
    """The gradient of a pooling: of each window one element is selected, to which the window's source is added.

    The first element is kept while its comparison with the next one holds. What is outside of the data is not selected.
    """
    rank = len(ctx.shape(0))
    direction, _, body = ctx.node.body.partition(" ")
    if direction not in _SELECTIONS or body != "add" or ctx.dtype(0) == np.bool_:
        wanted = f"one comparison among {', '.join(_SELECTIONS)} that selects, and add of numbers that scatters"
        ctx.fail(wanted, ctx.node.body_text or "another")
    kernel, strides = (ctx.ints(name, 1, count=rank) for name in ("window_dimensions", "window_strides"))
    edges = ctx.ints("padding", 0, count=2 * rank)
    low, high = edges[0::2], edges[1::2]
    if min((*kernel, *strides), default=1) < 1 or prod(kernel) > _MOST_TAPS or min(edges, default=0) < 0:
        ctx.fail(f"positive windows of at most {_MOST_TAPS} elements, inside", f"{kernel}, {strides} and {edges}")
    shape, windows = ctx.shape(0), ctx.shape(1)
    x = padded(ctx, ctx.value(0), ctx.number(0, ctx.dtype(0).name), low, high, [0] * rank)
    inside = np.pad(np.ones(shape, np.bool_), list(zip(low, high, strict=True)))
    wide = shape_of(x)
    fitting = tuple((n - k) // s + 1 for n, k, s in zip(wide, kernel, strides, strict=True))
    if windows != fitting:
        ctx.fail(f"a source of {list(fitting)}, an element for each window", str(list(windows)))
    selected = which = None
    taps = list(product(*map(range, kernel)))
    for number, begin in enumerate(taps):
        end = [b + (n - 1) * s + 1 for b, n, s in zip(begin, windows, strides, strict=True)]
        value = Term(ctx, ctx.emit(StridedSliceOp, x, begin=begin, end=end, strides=strides))
        seen = inside[tuple(slice(b, e, s) for b, e, s in zip(begin, end, strides, strict=True))]
        tap = Term(ctx, ctx.constant(np.where(seen, number, -1).astype(np.int32), "places"))
        if selected is None or which is None:
            selected, which = value, tap
            continue
        stays = selected.apply(_SELECTIONS[direction], value).apply(logic.LogicalAndOp, which > -1)
        stays = stays if seen.all() else stays.apply(logic.LogicalOrOp, tap < 0)
        selected, which = where(stays, selected, value), where(stays, which, tap)
    assert which is not None
    source, zero = ctx.term(1), ctx.number(0, ctx.dtype(1).name)
    total = Term(ctx, reshaped(ctx, ctx.value(2), (1,) * rank))
    for number, begin in enumerate(taps):
        part = where(which.equal(number), source, 0)
        before = [b - n for b, n in zip(begin, low, strict=True)]
        behind = [extent - b - (n - 1) * s - 1 for extent, b, n, s in zip(shape, before, windows, strides, strict=True)]
        total = total + Term(ctx, padded(ctx, part.value, zero, before, behind, [s - 1 for s in strides]))
    return total.value


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


TABLE: dict[str, Converter[Context]] = {
    "reduce_window": Converter(_reduce_window),
    "select_and_scatter": Converter(_select_and_scatter),
}
