"""Operations of `keras.ops` on what is distributed along axes: without what is no number, and in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.reduce import AllOp, MaxOp, MeanOp, MinOp, ProdOp, SumOp
from ...dialects.relay.sorting import SearchSortedOp, SortOp
from ...dialects.relay.transform import StridedSliceOp
from ...dialects.sizes import symbols_of
from ..importing.attributes import Flag, Int, Ints
from ..importing.einsum import contraction
from ..importing.terms import Term, is_nan, where
from ..importing.terms import sqrt as root
from ..meanings import reductions
from ..meanings.moves import transpose
from .context import Context
from .operands import argument_term, array_of, axes_option, floating, operands
from .rows import Row, declared

_AXES = Ints(None, name="axis")


def _of_numbers(function: Callable[..., Term]) -> Row:
    def computed(x: Term, axes: tuple[int, ...] | None, keepdims: bool) -> Term:
        return function(floating(x), axes=axes, keepdims=keepdims)

    return declared(computed, "x", axes=_AXES, keepdims=Flag(False))


def _reduced(op: type[Operator], neutral: float) -> Row:
    return _of_numbers(partial(reductions.of_numbers, op, neutral=neutral))


def _extreme(op: type[Operator], neutral: float) -> Row:
    """The largest or smallest number; of none it is NaN."""

    def computed(x: Term, axes: tuple[int, ...] | None, keepdims: bool) -> Term:
        none = reductions.reduced(AllOp, is_nan(x), axes, keepdims)
        return where(none, np.nan, reductions.of_numbers(op, x, neutral, axes, keepdims))

    return _of_numbers(computed)


def _running(op: type[Operator], neutral: float) -> Row:
    def computed(x: Term, axis: int | None) -> Term:
        x = floating(x)
        return reductions.running(op, where(is_nan(x), neutral, x), axis)

    return declared(computed, "x", axis=Int(None))


def _deviation_of_numbers(x: Term, axes: tuple[int, ...] | None, keepdims: bool) -> Term:
    return root(reductions.variance_of_numbers(x, axes, keepdims))


def _range(x: Term, axes: tuple[int, ...] | None, keepdims: bool) -> Term:
    return reductions.reduced(MaxOp, x, axes, keepdims) - reductions.reduced(MinOp, x, axes, keepdims)


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
        flat = transpose(x, (*kept, *axes)).reshape(*(x.shape[at] for at in kept), count)
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


def _differences(x: Term, axis: int, n: int) -> Term:
    """Each element less the one before it."""
    for _ in range(n):
        before, after = reductions.neighbours(x, axis)
        x = after - before
    return x


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
    before, after = reductions.neighbours(y, axis)
    return ((after + before).apply(SumOp, axis=(axis,), keepdims=False) * (ctx.float("dx", 1.0) / 2)).value


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
    "Diff": declared(_differences, "a", axis=Int(-1), n=Int(1, least=1)),
    "Digitize": Row(_digitize),
    "Inner": Row(_inner),
    "Median": _quantile(lambda ctx: 0.5),
    "Nancumprod": _running(CumprodOp, 1.0),
    "Nancumsum": _running(CumsumOp, 0.0),
    "Nanmax": _extreme(MaxOp, -np.inf),
    "Nanmean": _of_numbers(reductions.mean_of_numbers),
    "Nanmin": _extreme(MinOp, np.inf),
    "Nanprod": _reduced(ProdOp, 1.0),
    "Nanstd": _of_numbers(_deviation_of_numbers),
    "Nansum": _reduced(SumOp, 0.0),
    "Nanvar": _of_numbers(reductions.variance_of_numbers),
    "Percentile": _quantile(_points(100)),
    "Ptp": declared(_range, "x", axes=_AXES, keepdims=Flag(False)),
    "Quantile": _quantile(_points(1)),
    "SearchSorted": Row(_search),
    "Trapezoid": Row(_trapezoid),
    "Vdot": Row(_vdot),
}
