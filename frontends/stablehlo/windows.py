"""Windows that are reduced: poolings, running sums, and other ones tap by tap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic
from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.pooling import SPATIAL
from ...dialects.relay.transform import ConcatenateOp, StridedSliceOp
from ..importing.attributes import REQUIRED, Ints
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, absolute, exp, where
from ..meanings import pools
from ..meanings.windows import Sizes, Window
from .context import Context
from .known import uniform
from .reductions import neutral
from .shaping import padded

Numbers = Sequence[int]
_MOST_TAPS = 1024
"""Of a window: each is a slice of the data."""

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


Join = Callable[[Term, Term], Term]


def _joining(x: Term, body: str) -> Join:
    """Return what puts two values, such as `x`, together by a body."""
    if body == "logaddexp":
        return _logaddexp
    op, logical = _BODIES[body]
    chosen = logical if logical is not None and x.dtype == np.bool_ else op
    return lambda a, b: a.apply(chosen, b)


def _logaddexp(a: Term, b: Term) -> Term:
    apart = a - b
    near = a.apply(ew.MaximumOp, b) + exp(-absolute(apart)).apply(ew.Log1pOp)
    return where(apart.apply(ew.IsNanOp), a + b, near)


def reduced(
    x: Term,
    start: Term,
    body: str,
    kernel: Numbers,
    strides: Numbers,
    apart: Numbers,
    dilation: Numbers,
    edges: Numbers,
) -> Term:
    """Reduce each window, from a start value that also stands for what is outside."""
    ctx = x.ctx
    if body not in (*_BODIES, "logaddexp"):
        ctx.fail(f"one operator among {', '.join(_BODIES)} on windows, or logaddexp", body or "another")
    if min((*kernel, *strides, *apart, *dilation), default=1) < 1:
        ctx.fail("positive windows, strides and dilations", f"{kernel}, {strides}, {apart} and {dilation}")
    if prod(kernel) > _MOST_TAPS:
        ctx.fail(f"windows of at most {_MOST_TAPS} elements", str(prod(kernel)))
    inner = [n - 1 for n in apart]
    x = padded(x, start, edges[0::2], edges[1::2], inner)
    shape, join, total = x.shape, _joining(x, body), start.reshape()
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    result = [max((n - span) // s + 1, 0) for n, span, s in zip(shape, spans, strides, strict=True)]
    if not all(result):
        ctx.fail(f"windows that fit {list(shape)}", str(list(spans)))
    for tap in product(*map(range, kernel)):
        begin = [t * d for t, d in zip(tap, dilation, strict=True)]
        end = [b + (n - 1) * s + 1 for b, n, s in zip(begin, result, strides, strict=True)]
        total = join(total, x.apply(StridedSliceOp, begin=begin, end=end, strides=strides))
    return total


def _reduce_window(
    ctx: Context,
    x: Term,
    start: Term,
    kernel: Sizes,
    strides: Sizes,
    apart: Sizes,
    dilation: Sizes,
    edges: Sizes,
) -> Term:
    if len(ctx.inputs) != 2:
        ctx.fail("data and a start", f"{len(ctx.inputs)} inputs")
    body, first = ctx.node.body, uniform(ctx, 1)
    if body in (*_BODIES, "logaddexp") and first is not None and first == neutral(body, x.dtype) and set(apart) <= {1}:
        for shorter in (_running, _pooled):
            if (result := shorter(x, body, kernel, strides, dilation, edges)) is not None:
                return result
    return reduced(x, start, body or ctx.node.body_text, kernel, strides, apart, dilation, edges)


def _running(x: Term, body: str, kernel: Sizes, strides: Sizes, dilation: Sizes, edges: Sizes) -> Term | None:
    """A window that begins before the first element of an axis and ends at each one, or the other way round."""
    wide = [axis for axis, k in enumerate(kernel) if k != 1]
    if len(wide) != 1 or any(s != 1 for s in (*strides, *dilation)):
        return None
    (axis,) = wide
    extent = x.shape[axis]
    others = [n for at, n in enumerate(edges) if at // 2 != axis]
    before, after = edges[2 * axis], edges[2 * axis + 1]
    if any(others) or kernel[axis] != extent or (before, after) not in ((extent - 1, 0), (0, extent - 1)):
        return None
    reverse = after > 0
    if x.dtype != np.bool_ and body in ("add", "multiply"):
        return x.apply(CumsumOp if body == "add" else CumprodOp, axis=axis, dtype=x.dtype.name, reverse=reverse)
    join, total, reach = _joining(x, body), x, 1
    # Windows of twice the reach are those of the reach, and those a reach before.
    while reach < extent:
        total = _with_neighbours(join, total, axis, reach, reverse)
        reach *= 2
    return total


def _with_neighbours(join: Join, x: Term, axis: int, reach: int, reverse: bool) -> Term:
    """Each element with the one `reach` before it, or behind it; those that have none stay."""
    extent = x.shape[axis]

    def part(begin: int, end: int) -> Term:
        return x.apply(StridedSliceOp, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))

    joined = join(part(0, extent - reach), part(reach, extent))
    parts = [joined, part(extent - reach, extent)] if reverse else [part(0, reach), joined]
    return Term(x.ctx, x.ctx.emit(ConcatenateOp, [part.value for part in parts], axis=axis))


_SELECTIONS: dict[str, type[Operator]] = {
    "GE": logic.GreaterEqualOp,
    "GT": ew.GreaterOp,
    "LE": logic.LessEqualOp,
    "LT": ew.LessOp,
}


def _select_and_scatter(
    ctx: Context, x: Term, source: Term, start: Term, kernel: Sizes, strides: Sizes, edges: Sizes
) -> Term:
    """The gradient of a pooling: of each window one element is selected, to which the window's source is added.

    The first element is kept while its comparison with the next one holds. What is outside of the data is not selected.
    """
    rank, shape, windows = len(x.shape), x.shape, source.shape
    direction, _, body = ctx.node.body.partition(" ")
    if direction not in _SELECTIONS or body != "add" or x.dtype == np.bool_:
        wanted = f"one comparison among {', '.join(_SELECTIONS)} that selects, and add of numbers that scatters"
        ctx.fail(wanted, ctx.node.body_text or "another")
    low, high = edges[0::2], edges[1::2]
    if min((*kernel, *strides), default=1) < 1 or prod(kernel) > _MOST_TAPS or min(edges, default=0) < 0:
        ctx.fail(f"positive windows of at most {_MOST_TAPS} elements, inside", f"{kernel}, {strides} and {edges}")
    x = padded(x, x.number(0), low, high, [0] * rank)
    inside = np.pad(np.ones(shape, np.bool_), list(zip(low, high, strict=True)))
    fitting = tuple((n - k) // s + 1 for n, k, s in zip(x.shape, kernel, strides, strict=True))
    if windows != fitting:
        ctx.fail(f"a source of {list(fitting)}, an element for each window", str(list(windows)))
    selected = which = None
    taps = list(product(*map(range, kernel)))
    for number, begin in enumerate(taps):
        end = [b + (n - 1) * s + 1 for b, n, s in zip(begin, windows, strides, strict=True)]
        value = x.apply(StridedSliceOp, begin=begin, end=end, strides=strides)
        seen = inside[tuple(slice(b, e, s) for b, e, s in zip(begin, end, strides, strict=True))]
        tap = Term(ctx, ctx.constant(np.where(seen, number, -1).astype(np.int32), "places"))
        if selected is None or which is None:
            selected, which = value, tap
            continue
        stays = selected.apply(_SELECTIONS[direction], value).apply(logic.LogicalAndOp, which > -1)
        stays = stays if seen.all() else stays.apply(logic.LogicalOrOp, tap < 0)
        selected, which = where(stays, selected, value), where(stays, which, tap)
    assert which is not None
    total = start.reshape(*(1,) * rank)
    for number, begin in enumerate(taps):
        part = where(which.equal(number), source, 0)
        before = [b - n for b, n in zip(begin, low, strict=True)]
        behind = [extent - b - (n - 1) * s - 1 for extent, b, n, s in zip(shape, before, windows, strides, strict=True)]
        total = total + padded(part, source.number(0), before, behind, [s - 1 for s in strides])
    return total


def _pooled(x: Term, body: str, kernel: Sizes, strides: Sizes, dilation: Sizes, edges: Sizes) -> Term | None:
    """A pooling: of windows over one to three axes of data with two others beside them; None where it is none."""
    rank = len(x.shape)
    wide = [
        axis for axis in range(rank) if kernel[axis] != 1 or strides[axis] != 1 or any(edges[2 * axis : 2 * axis + 2])
    ]
    if body not in ("add", "maximum") or x.dtype.kind in "iub" or min(edges, default=0) < 0 or not wide:
        return None
    spatial = list(range(1, rank - 1)) if wide[-1] < rank - 1 and wide[0] > 0 else list(range(2, rank))
    if not set(wide) <= set(spatial) or len(spatial) not in pools.MAX:
        return None
    kernel, strides, dilation = (tuple(numbers[axis] for axis in spatial) for numbers in (kernel, strides, dilation))
    before, after = (tuple(edges[2 * axis + end] for axis in spatial) for end in (0, 1))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    # What a pooling has never seen: windows that lie outside, with nothing of the data.
    if any(max(pads) >= span for *pads, span in zip(before, after, spans, strict=True)):
        return None
    window, letters = Window(kernel, strides, dilation, before, after), SPATIAL[len(spatial)]
    layout = f"N{letters}C" if spatial[0] == 1 else f"NC{letters}"
    return pools.pool(pools.MAX, x, window, layout) if body == "maximum" else pools.sum_pool(x, window, layout=layout)


def _ints(name: str, default: Any = REQUIRED, each: int = 1) -> Ints:
    """So many numbers for each axis of the data."""
    return Ints(default, count=lambda ctx: each * len(ctx.shape(0)), name=name)


_STRIDES, _EDGES = _ints("window_strides", 1), _ints("padding", 0, each=2)
TABLE: dict[str, Converter[Context]] = {
    "reduce_window": row(
        _reduce_window,
        "operand start",
        kernel=_ints("window_dimensions"),
        strides=_STRIDES,
        apart=_ints("base_dilations", 1),
        dilation=_ints("window_dilations", 1),
        edges=_EDGES,
    ),
    "select_and_scatter": row(
        _select_and_scatter,
        "operand source start",
        kernel=_ints("window_dimensions", 1),
        strides=_STRIDES,
        edges=_EDGES,
    ),
}
