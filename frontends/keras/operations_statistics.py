"""Operations of `keras.ops` on what is distributed along axes: without what is no number, and in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.reduce import AllOp, MaxOp, MeanOp, MinOp, ProdOp, SumOp
from ...support.dtypes import Array
from ..importing.attributes import Flag, Float, Int, Ints, Word
from ..importing.terms import Term, is_nan, where
from ..importing.terms import sqrt as root
from ..meanings import reductions
from ..meanings.moves import flat
from ..meanings.products import dot
from ..meanings.sorting import search_sorted
from ..meanings.statistics import INTERPOLATIONS, Interpolation, quantile, trapezoid
from .context import Context
from .operands import argument_term, array_of, axes_option, floating, meeting, operands
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


def _quantile(points: Callable[[Context], Array]) -> Row:
    def computed(ctx: Context, axes: tuple[int, ...] | None, keepdims: bool, method: Interpolation) -> Term:
        return quantile(argument_term(ctx, floats=True), points(ctx), axes, keepdims, method)

    method = Word("linear", among=INTERPOLATIONS)
    return declared(computed, "", axes=_AXES, keepdims=Flag(False), method=method)


def _points(scale: float) -> Callable[[Context], Array]:
    def points(ctx: Context) -> Array:
        array = array_of(ctx, ctx.argument(1, "q"))
        if array is None or array.ndim > 1 or not array.size or array.min() < 0 or array.max() > scale:
            ctx.fail(f"known numbers from 0 to {scale:g} as q", "others")
        return array.astype(np.float64) / scale

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


def _digitize(ctx: Context) -> Term:
    x, edges = operands(ctx, ctx.argument(0, "x"), ctx.argument(1, "bins"))
    return search_sorted(edges, x, True, dtype="int32")


def _search_sorted(ctx: Context, side: str) -> Term:
    edges, x = operands(ctx, ctx.argument(0, "sorted_sequence"), ctx.argument(1, "values"))
    return search_sorted(edges, x, side == "right", dtype="int32")


def _trapezoid(ctx: Context, dx: float, axis: int) -> Term:
    x = ctx.argument(1, "x", ctx.option("x"))
    (y, *points) = operands(ctx, ctx.argument(0, "y"), *([] if x is None else [x]), floats=True)
    return trapezoid(y, *points[:1], dx=dx, axis=axis)


def _vdot(a: Term, b: Term) -> Term:
    return dot(flat(a), flat(b))


TABLE: dict[str, Row] = {
    "Average": Row(_average),
    "Diff": declared(_differences, "a", axis=Int(-1), n=Int(1, least=1)),
    "Digitize": declared(_digitize, ""),
    "Inner": meeting(partial(dot, axis=-1)),
    "Median": _quantile(lambda ctx: np.asarray(0.5)),
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
    "SearchSorted": declared(_search_sorted, "", side=Word("left", among=("left", "right"))),
    "Trapezoid": declared(_trapezoid, "", dx=Float(1.0), axis=Int(-1)),
    "Vdot": meeting(_vdot),
}
