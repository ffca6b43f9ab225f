"""Operations of `keras.ops` on what is distributed along axes: without what is no number, and in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.reduce import AllOp, MaxOp, MeanOp, MinOp, ProdOp, SumOp
from ...dialects.relay.sorting import SearchSortedOp, SortOp
from ...dialects.relay.transform import StridedSliceOp
from ...dialects.sizes import symbols_of
from ..importing.einsum import contraction
from ..importing.terms import Term, is_nan, where
from ..importing.terms import sqrt as root
from .context import Context
from .operands import argument_term, array_of, axes_option, operands
from .operations_shape import permuted
from .rows import Row


def _numbers(x: Term, other: float) -> Term:
    """The term with another number for what is none."""
    return where(x.apply(ew.IsNanOp), other, x)


def _reduced(op: type[Operator], other: float) -> Row:
    """A reduction of the numbers alone, of which `other` is neutral; of none there is no extreme."""

    def convert(ctx: Context) -> SSAValue:
        x = argument_term(ctx, floats=True)
        axes = axes_option(ctx, len(x.shape))
        keep = ctx.flag("keepdims", False)
        result = _numbers(x, other).apply(op, axis=axes, keepdims=keep)
        if op in (MaxOp, MinOp):
            result = where(is_nan(x).apply(AllOp, axis=axes, keepdims=keep), np.nan, result)
        return result.value

    return Row(convert)


def _running(op: type[Operator], other: float) -> Row:
    def convert(ctx: Context) -> SSAValue:
        x = _numbers(argument_term(ctx, floats=True), other)
        if ctx.option("axis") is None:
            return x.reshape(prod(x.shape)).apply(op, axis=0).value
        return x.apply(op, axis=ctx.axis(ctx.int("axis"), len(x.shape))).value

    return Row(convert)


def _mean_of_numbers(x: Term, axes: tuple[int, ...], keep: bool) -> Term:
    some = where(x.apply(ew.IsNanOp), 0.0, x.apply(ew.OnesLikeOp))
    return _numbers(x, 0.0).apply(SumOp, axis=axes, keepdims=keep) / some.apply(SumOp, axis=axes, keepdims=keep)


def _nan_mean(ctx: Context) -> SSAValue:
    x = argument_term(ctx, floats=True)
    return _mean_of_numbers(x, axes_option(ctx, len(x.shape)), ctx.flag("keepdims", False)).value


def _nan_variance(ctx: Context) -> Term:
    x = argument_term(ctx, floats=True)
    axes = axes_option(ctx, len(x.shape))
    off = x - _mean_of_numbers(x, axes, True)
    return _mean_of_numbers(off * off, axes, ctx.flag("keepdims", False))


def _range(ctx: Context) -> SSAValue:
    x = argument_term(ctx)
    axes, keep = axes_option(ctx, len(x.shape)), ctx.flag("keepdims", False)
    return (x.apply(MaxOp, axis=axes, keepdims=keep) - x.apply(MinOp, axis=axes, keepdims=keep)).value


def _quantile(points: Callable[[Context], list[float] | float]) -> Row:
    """Elements at parts of the way from the least to the greatest, or between two of them."""

    def convert(ctx: Context) -> SSAValue:
        x = argument_term(ctx, floats=True)
        axes, rank, wanted = axes_option(ctx, len(x.shape)), len(x.shape), points(ctx)
        if ctx.option("method", "linear") != "linear":
            ctx.fail("quantiles by 'linear'", repr(ctx.option("method")))
        extents = [x.shape[at] for at in axes]
        if any(map(symbols_of, extents)):
            ctx.fail("axes of known sizes", str(extents))
        kept = [at for at in range(rank) if at not in axes]
        count = prod(extents)
        flat = Term(ctx, permuted(ctx, x.value, (*kept, *axes))).reshape(*(x.shape[at] for at in kept), count)
        ordered = flat.apply(SortOp, axis=len(kept))
        # NaN is the last.
        missing = is_nan(_between(ordered, len(kept), count - 1))
        keep = ctx.flag("keepdims", False)
        shape = [1 if at in axes else x.shape[at] for at in range(rank)] if keep else [x.shape[at] for at in kept]
        results = [
            where(missing, np.nan, _between(ordered, len(kept), point * (count - 1))).reshape(*shape)
            for point in np.atleast_1d(wanted).tolist()
        ]
        if isinstance(wanted, float):
            return results[0].value
        return ctx.emit(StackOp, [result.value for result in results], axis=0)

    return Row(convert)


def _between(ordered: Term, axis: int, at: float) -> Term:
    """Of sorted elements what lies at a place that may be between two."""
    low = int(np.floor(at))

    def element(index: int) -> Term:
        return ordered.apply(StridedSliceOp, begin=(index,), end=(index + 1,), axes=(axis,))

    part = at - low
    return element(low) if part == 0 else element(low) * (1 - part) + element(low + 1) * part


def _points(scale: float) -> Callable[[Context], list[float] | float]:
    def points(ctx: Context) -> list[float] | float:
        array = array_of(ctx, ctx.argument(1, "q"))
        if array is None or array.ndim > 1 or not array.size or array.min() < 0 or array.max() > scale:
            ctx.fail(f"known numbers from 0 to {scale:g} as q", "others")
        flat = (array.reshape(-1).astype(np.float64) / scale).tolist()
        return flat if array.ndim else float(flat[0])

    return points


def _average(ctx: Context) -> SSAValue:
    """The mean, or one in which each element has a weight."""
    if ctx.argument(1, "weights") is None:
        x = argument_term(ctx, floats=True)
        return x.apply(MeanOp, axis=axes_option(ctx, len(x.shape)), keepdims=False).value
    x, weights = operands(ctx, ctx.argument(0, "x"), ctx.argument(1, "weights"), floats=True)
    axes = axes_option(ctx, len(x.shape))
    if len(weights.shape) != len(x.shape):
        if len(axes) != 1 or len(weights.shape) != 1:
            ctx.fail("a weight for each element along one axis", f"shape {list(weights.shape)}")
        axis = axes[0]
        weights = weights.reshape(*(x.shape[axis] if at == axis else 1 for at in range(len(x.shape))))
    total = (x * weights).apply(SumOp, axis=axes, keepdims=False)
    return (total / (weights + x * 0.0).apply(SumOp, axis=axes, keepdims=False)).value


def _differences(ctx: Context) -> SSAValue:
    """Each element less the one before it."""
    x = argument_term(ctx, 0, "a")
    axis = ctx.axis(ctx.int("axis", -1), len(x.shape))
    for _ in range(ctx.int("n", 1, least=1)):
        extent = x.shape[axis]
        later, earlier = (
            x.apply(StridedSliceOp, begin=(begin,), end=(end,), axes=(axis,))
            for begin, end in ((1, extent), (0, extent - 1))
        )
        x = later - earlier
    return x.value


def _found(ctx: Context, edges: Term, x: Term, right: bool) -> SSAValue:
    return ctx.emit(SearchSortedOp, edges.value, x.value, right=right, dtype="int32")


def _digitize(ctx: Context) -> SSAValue:
    x, edges = operands(ctx, ctx.argument(0, "x"), ctx.argument(1, "bins"))
    return _found(ctx, edges, x, True)


def _search(ctx: Context) -> SSAValue:
    edges, x = operands(ctx, ctx.argument(0, "sorted_sequence"), ctx.argument(1, "values"))
    return _found(ctx, edges, x, ctx.choice("side", ("left", "right"), "left") == "right")


def _trapezoid(ctx: Context) -> SSAValue:
    """The area below points at equal distances."""
    if ctx.argument(1, "x") is not None or ctx.option("x") is not None:
        ctx.fail("points at equal distances", "x")
    y = argument_term(ctx, 0, "y", floats=True)
    axis = ctx.axis(ctx.int("axis", -1), len(y.shape))
    extent = y.shape[axis]
    ends = [y.apply(StridedSliceOp, begin=(b,), end=(e,), axes=(axis,)) for b, e in ((1, extent), (0, extent - 1))]
    total = reduce(lambda a, b: a + b, ends).apply(SumOp, axis=(axis,), keepdims=False)
    return (total * (ctx.float("dx", 1.0) / 2)).value


def _inner(ctx: Context) -> SSAValue:
    """The product along the last axes."""
    a, b = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"))
    if not a.shape or not b.shape:
        return (a * b).value
    rows, columns = "abcdefgh"[: len(a.shape) - 1], "ABCDEFGH"[: len(b.shape) - 1]
    return contraction(ctx, f"{rows}z,{columns}z->{rows}{columns}", [a, b])


def _vdot(ctx: Context) -> SSAValue:
    a, b = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"))
    return contraction(ctx, "a,a->", [a.reshape(prod(a.shape)), b.reshape(prod(b.shape))])


TABLE: dict[str, Row] = {
    "Average": Row(_average),
    "Diff": Row(_differences),
    "Digitize": Row(_digitize),
    "Inner": Row(_inner),
    "Median": _quantile(lambda ctx: 0.5),
    "Nancumprod": _running(CumprodOp, 1.0),
    "Nancumsum": _running(CumsumOp, 0.0),
    "Nanmax": _reduced(MaxOp, -np.inf),
    "Nanmean": Row(_nan_mean),
    "Nanmin": _reduced(MinOp, np.inf),
    "Nanprod": _reduced(ProdOp, 1.0),
    "Nanstd": Row(lambda ctx: root(_nan_variance(ctx)).value),
    "Nansum": _reduced(SumOp, 0.0),
    "Nanvar": Row(lambda ctx: _nan_variance(ctx).value),
    "Percentile": _quantile(_points(100)),
    "Ptp": Row(_range),
    "Quantile": _quantile(_points(1)),
    "SearchSorted": Row(_search),
    "Trapezoid": Row(_trapezoid),
    "Vdot": Row(_vdot),
}
