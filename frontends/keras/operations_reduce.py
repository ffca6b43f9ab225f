"""Operations of `keras.ops` along axes, and products."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.ir import SSAValue

from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import Operator
from ...dialects.relay.reduce import AllOp, AnyOp, ArgMaxOp, ArgMinOp, MaxOp, MeanOp, MinOp, ProdOp, SumOp
from ..importing.attributes import Flag, Int, Ints
from ..importing.terms import Term
from ..meanings import linear_algebra, products, reductions, sorting
from ..meanings.attention import added, attended, both, heads_first, score_dtype
from ..meanings.einsum import einsum
from ..meanings.norms import unit_norm
from .attention import bias_of, seen_by_position
from .context import Context
from .nests import items_of, whole, wholes
from .operands import argument_term, axes_option, dtype_option, floating, meeting, operands
from .rows import Row, declared


def _over(
    function: Callable[..., Term | tuple[Term, ...]], prepare: Callable[[Term], Term] = lambda x: x, name: str = "axis"
) -> Row:
    def computed(x: Term, axes: tuple[int, ...] | None, keepdims: bool) -> Term | tuple[Term, ...]:
        return function(prepare(x), axes, keepdims)

    return declared(computed, "x", axes=Ints(None, name=name), keepdims=Flag(False))


def _reduced(op: type[Operator], prepare: Callable[[Term], Term] = lambda x: x) -> Row:
    return _over(partial(reductions.reduced, op), prepare)


def _summable(x: Term) -> Term:
    """Truth values and small integers count as 32 bits, with a sign where they have one."""
    if is_float(x.dtype) or x.dtype.itemsize >= 4:
        return x
    return x.to("uint32" if x.dtype.kind == "u" else "int32")


def _truth(x: Term) -> Term:
    return x.to("bool")


def _count_nonzero(x: Term, axes: tuple[int, ...] | None) -> Term:
    return reductions.reduced(SumOp, x.to("bool").to("int32"), axes)


def _place(op: type[Operator]) -> Row:
    return declared(partial(reductions.place, op, dtype="int32"), "x", axis=Int(None), keepdims=Flag(False))


def _running(op: type[Operator]) -> Row:
    def computed(ctx: Context, x: Term, axis: int | None) -> Term:
        x = x.to("int32") if x.dtype.kind == "b" else x
        dtype = dtype_option(ctx)
        return reductions.running(op, x if dtype is None else x.to(dtype), axis)

    return declared(computed, "x", axis=Int(None))


def _einsum(ctx: Context) -> SSAValue:
    return einsum(*operands(ctx, *ctx.node.arguments), equation=ctx.word("subscripts")).value


def _tensordot(ctx: Context) -> SSAValue:
    a, b = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"))
    ranks, option = (len(a.shape), len(b.shape)), ctx.option("axes", 2)
    if (count := whole(option)) is not None:
        left, right = list(range(ranks[0] - count, ranks[0])), list(range(count))
    else:
        pair = [[axis] if isinstance(axis, int) else wholes(axis) or [] for axis in items_of(option) or ()]
        if len(pair) != 2 or len(pair[0]) != len(pair[1]):
            ctx.fail("axes of both operands, as many of each", repr(option))
        left, right = ([ctx.axis(axis, rank) for axis in axes] for axes, rank in zip(pair, ranks, strict=True))
    return products.tensordot(a, b, left, right).value


def _normalize(ctx: Context) -> SSAValue:
    """Divided by the norm along axes."""
    x = argument_term(ctx, floats=True)
    order, epsilon = ctx.option("order", 2), ctx.option("epsilon")
    axes = axes_option(ctx, len(x.shape))
    least = 1e-7 if epsilon is None else ctx.float("epsilon")
    if order not in (1, 2):
        ctx.fail("order 1 or 2", repr(order))
    return unit_norm(x, axes, least, order).value


def _norm(ctx: Context, x: Term, axes: tuple[int, ...] | None, keepdims: bool) -> Term:
    """The Euclidean norm, or along an axis that of sums."""
    along_one = len(reductions.axes_of(x, axes)) == 1
    match ctx.option("ord"):
        case None | "fro":
            return reductions.norm_2(floating(x), axes, keepdims)
        case 2 if along_one:
            return reductions.norm_2(floating(x), axes, keepdims)
        case 1 if along_one:
            return reductions.norm_1(floating(x), axes, keepdims)
        case other:
            ctx.fail("ord 1 or 2 along an axis, or fro", repr(other))


def _attention(ctx: Context) -> SSAValue:
    """Queries, keys and values (batch, length, heads, size), of which heads of keys may be shared."""
    parts = (Term(ctx, ctx.data(at, name)) for at, name in enumerate(("query", "key", "value")))
    query, key, value = map(heads_first, parts)
    scale, cap = ctx.argument(5, "scale"), ctx.option("attn_logits_soft_cap")
    mask = None if ctx.argument(4, "mask") is None else argument_term(ctx, 4, "mask").to("bool")
    mask = both(mask, seen_by_position(ctx, query.shape[2], key.shape[2], ctx.flag("is_causal", False)))
    dtype = score_dtype(query)
    more = None if ctx.argument(3, "bias") is None else argument_term(ctx, 3, "bias").to(dtype)
    bias = added(bias_of(mask, dtype), more)
    softcap = 0.0 if cap is None else ctx.float("attn_logits_soft_cap")
    result, _ = attended(query, key, value, bias, None if scale is None else float(scale), softcap=softcap)
    return heads_first(result).value


def _in_floats(function: Callable[[Term], Term | tuple[Term, ...]]) -> Callable[[Term], Term | tuple[Term, ...]]:
    return lambda x: function(floating(x))


TABLE: dict[str, Row] = {
    "All": _reduced(AllOp, _truth),
    "Amax": _reduced(MaxOp),
    "Amin": _reduced(MinOp),
    "Any": _reduced(AnyOp, _truth),
    "Argmax": _place(ArgMaxOp),
    "Argmin": _place(ArgMinOp),
    "Argsort": declared(partial(sorting.argsort, dtype="int32"), "x", axis=Int(-1)),
    "CountNonzero": declared(_count_nonzero, "x", axes=Ints(None, name="axis")),
    "Cumprod": _running(CumprodOp),
    "Cumsum": _running(CumsumOp),
    "Det": declared(_in_floats(linear_algebra.determinant), "x"),
    "Dot": meeting(products.dot),
    "DotProductAttention": Row(_attention),
    "Einsum": Row(_einsum),
    "Inv": declared(_in_floats(linear_algebra.inverse), "x"),
    "Logsumexp": _over(reductions.log_sum_exp, floating),
    "Matmul": meeting(products.matmul),
    "Max": _reduced(MaxOp),
    "Mean": _reduced(MeanOp, floating),
    "Min": _reduced(MinOp),
    "Moments": _over(reductions.moments, floating, "axes"),
    "Norm": declared(_norm, "x", axes=Ints(None, name="axis"), keepdims=Flag(False)),
    "Normalize": Row(_normalize),
    "Outer": meeting(products.outer),
    "Prod": _reduced(ProdOp, _summable),
    "Slogdet": declared(_in_floats(linear_algebra.sign_and_log_of_determinant), "x"),
    "Solve": meeting(linear_algebra.solve, "a b", floats=True),
    "Sort": declared(sorting.sort, "x", axis=Int(-1)),
    "Std": _over(reductions.deviation, floating),
    "Sum": _reduced(SumOp, _summable),
    "Tensordot": Row(_tensordot),
    "TopK": declared(partial(reductions.top_k, dtype="int32"), "x", k=Int(least=0)),
    "Var": _over(reductions.variance, floating),
}
