"""Operations of `keras.ops` along axes, and products."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.logic import LogicalAndOp
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import Operator
from ...dialects.relay.reduce import AllOp, AnyOp, ArgMaxOp, ArgMinOp, MaxOp, MeanOp, MinOp, ProdOp, SumOp, VarianceOp
from ...dialects.relay.sorting import ArgsortOp, SortOp, TopKOp
from ...dialects.relay.transform import TransposeOp
from ..importing.attention import Scores, added, weighted
from ..importing.einsum import contraction
from ..importing.products import product
from ..importing.tensor import shape_of
from ..importing.terms import Term, absolute, maximum, where
from ..importing.terms import sqrt as root
from ..meanings.formulas import log_sum_exp
from .attention import hidden, lowest, seen_by_position
from .context import Context
from .nests import items_of, whole, wholes
from .operands import argument_term, axes_option, dtype_option, operands
from .rows import Row


def _reduced(op: type[Operator], prepare: Callable[[Term], Term] = lambda x: x) -> Row:
    def convert(ctx: Context) -> SSAValue:
        x = prepare(argument_term(ctx))
        return _over(ctx, op, x).value

    return Row(convert)


def _over(ctx: Context, op: type[Operator], x: Term, name: str = "axis") -> Term:
    axes = axes_option(ctx, len(x.shape), name)
    return x.apply(op, axis=axes, keepdims=ctx.flag("keepdims", False)) if axes else x


def _summable(x: Term) -> Term:
    """Truth values and small integers count as 32 bits, with a sign where they have one."""
    if is_float(x.dtype) or x.dtype.itemsize >= 4:
        return x
    return x.to("uint32" if x.dtype.kind == "u" else "int32")


def _floating(x: Term) -> Term:
    return x if is_float(x.dtype) else x.to("float32")


def _truth(x: Term) -> Term:
    return x.to("bool")


def _variance(ctx: Context) -> Term:
    x = _floating(argument_term(ctx))
    wide = x.to("float32") if x.dtype.itemsize < 4 else x
    axes = axes_option(ctx, len(x.shape))
    mean = wide.mean(*axes)
    return wide.apply(VarianceOp, mean, axis=axes, keepdims=ctx.flag("keepdims", False)).to(x.dtype)


def _moments(ctx: Context) -> tuple[SSAValue, SSAValue]:
    x = _floating(argument_term(ctx))
    axes, keep = axes_option(ctx, len(x.shape), "axes"), ctx.flag("keepdims", False)
    mean = x.mean(*axes)
    variance = x.apply(VarianceOp, mean, axis=axes, keepdims=keep)
    return x.apply(MeanOp, axis=axes, keepdims=keep).value, variance.value


def _logsumexp(ctx: Context) -> SSAValue:
    x = _floating(argument_term(ctx))
    axes = axes_option(ctx, len(x.shape))
    return log_sum_exp(x, axes, ctx.flag("keepdims", False)).value


def _count_nonzero(ctx: Context) -> SSAValue:
    x = argument_term(ctx)
    ones = where(x.equal(0.0 if is_float(x.dtype) else 0), 0, Term(ctx, ctx.constant(np.asarray(1, np.int32), "one")))
    axes = axes_option(ctx, len(x.shape))
    return ones.apply(SumOp, axis=axes, keepdims=False).value


def _arg(op: type[Operator]) -> Row:
    def convert(ctx: Context) -> SSAValue:
        x = argument_term(ctx)
        rank = len(x.shape)
        if ctx.option("axis") is None:
            x, axis = x.reshape(prod(x.shape)), 0
        else:
            axis = ctx.axis(ctx.int("axis"), rank)
        return x.apply(op, axis=(axis,), keepdims=ctx.flag("keepdims", False)).to("int32").value

    return Row(convert)


def _running(op: type[Operator]) -> Row:
    def convert(ctx: Context) -> SSAValue:
        x = argument_term(ctx)
        x = x.to("int32") if x.dtype.kind == "b" else x
        dtype = dtype_option(ctx)
        x = x if dtype is None else x.to(dtype)
        if ctx.option("axis") is None:
            return x.reshape(prod(x.shape)).apply(op, axis=0).value
        return x.apply(op, axis=ctx.axis(ctx.int("axis"), len(x.shape))).value

    return Row(convert)


def _sort(ctx: Context) -> SSAValue:
    x = argument_term(ctx)
    return x.apply(SortOp, axis=ctx.axis(ctx.int("axis", -1), len(x.shape))).value


def _argsort(ctx: Context) -> SSAValue:
    x = argument_term(ctx)
    return x.apply(ArgsortOp, axis=ctx.axis(ctx.int("axis", -1), len(x.shape)), dtype="int32").value


def _top_k(ctx: Context) -> tuple[SSAValue, ...]:
    return ctx.emit_all(TopKOp, ctx.data(0, "x"), k=ctx.int("k", least=1), axis=-1, ret_type="both", dtype="int32")


def _matmul(ctx: Context) -> SSAValue:
    a, b = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"))
    return product(ctx, a.value, b.value)


def _dot(ctx: Context) -> SSAValue:
    """Of the last axis and the last but one; of vectors their only ones."""
    a, b = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"))
    ranks = len(a.shape), len(b.shape)
    if 0 in ranks:
        return (a * b).value
    if ranks[1] > 2:
        letters, more = "abcdefgh"[: ranks[0] - 1], "stuvwxy"[: ranks[1] - 2]
        return contraction(ctx, f"{letters}i,{more}iz->{letters}{more}z", [a, b])
    return product(ctx, a.value, b.value)


def _einsum(ctx: Context) -> SSAValue:
    terms = operands(ctx, *ctx.node.arguments)
    return contraction(ctx, ctx.word("subscripts"), terms)


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
    names = [chr(ord("a") + at) for at in range(ranks[0])]
    others = [chr(ord("A") + at) for at in range(ranks[1])]
    for axis, other in zip(left, right, strict=True):
        others[other] = names[axis]
    kept = [n for at, n in enumerate(names) if at not in left] + [n for at, n in enumerate(others) if at not in right]
    return contraction(ctx, f"{''.join(names)},{''.join(others)}->{''.join(kept)}", [a, b])


def _outer(ctx: Context) -> SSAValue:
    a, b = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"))
    return (a.reshape(prod(a.shape), 1) * b.reshape(1, prod(b.shape))).value


def _normalize(ctx: Context) -> SSAValue:
    """Divided by the norm along axes."""
    x = _floating(argument_term(ctx))
    order, epsilon = ctx.option("order", 2), ctx.option("epsilon")
    axes = axes_option(ctx, len(x.shape))
    least = 1e-7 if epsilon is None else ctx.float("epsilon")
    match order:
        case 1:
            norm = absolute(x).sum(*axes)
        case 2:
            return (x / root(maximum((x * x).sum(*axes), least * least))).value
        case _:
            ctx.fail("order 1 or 2", repr(order))
    return (x / maximum(norm, least)).value


def _norm(ctx: Context) -> SSAValue:
    """The Euclidean norm, that of sums, or the greatest, along an axis."""
    x = _floating(argument_term(ctx))
    axes, keep = axes_option(ctx, len(x.shape)), ctx.flag("keepdims", False)
    match ctx.option("ord"):
        case None | "fro":
            return root((x * x).apply(SumOp, axis=axes, keepdims=keep)).value
        case 2 if len(axes) == 1:
            return root((x * x).apply(SumOp, axis=axes, keepdims=keep)).value
        case 1 if len(axes) == 1:
            return absolute(x).apply(SumOp, axis=axes, keepdims=keep).value
        case other:
            ctx.fail("ord 1 or 2 along an axis, or fro", repr(other))


def _attention(ctx: Context) -> SSAValue:
    """Queries, keys and values (batch, length, heads, size), of which heads of keys may be shared."""
    parts = (ctx.data(at, name) for at, name in enumerate(("query", "key", "value")))
    query, key, value = (ctx.emit(TransposeOp, term, axes=(0, 2, 1, 3)) for term in parts)
    scale, cap = ctx.argument(5, "scale"), ctx.option("attn_logits_soft_cap")
    mask = None if ctx.argument(4, "mask") is None else argument_term(ctx, 4, "mask").to("bool")
    if ctx.flag("is_causal", False):
        seen = seen_by_position(ctx, shape_of(query)[2], shape_of(key)[2], True)
        mask = seen if mask is None or seen is None else mask.apply(LogicalAndOp, seen)
    bias = hidden(ctx, mask, query, lowest(Term(ctx, query).dtype))
    if ctx.argument(3, "bias") is not None:
        bias = added(ctx, bias, argument_term(ctx, 3, "bias").value)
    softcap = 0.0 if cap is None else ctx.float("attn_logits_soft_cap")
    scores = Scores(ctx, query, key, None if scale is None else float(scale), softcap, bias)
    return ctx.emit(TransposeOp, weighted(ctx, scores.compute(), value), axes=(0, 2, 1, 3))


def _mean(ctx: Context) -> SSAValue:
    return _over(ctx, MeanOp, _floating(argument_term(ctx))).value


TABLE: dict[str, Row] = {
    "All": _reduced(AllOp, _truth),
    "Amax": _reduced(MaxOp),
    "Amin": _reduced(MinOp),
    "Any": _reduced(AnyOp, _truth),
    "Argmax": _arg(ArgMaxOp),
    "Argmin": _arg(ArgMinOp),
    "Argsort": Row(_argsort),
    "CountNonzero": Row(_count_nonzero),
    "Cumprod": _running(CumprodOp),
    "Cumsum": _running(CumsumOp),
    "Dot": Row(_dot),
    "DotProductAttention": Row(_attention),
    "Einsum": Row(_einsum),
    "Logsumexp": Row(_logsumexp),
    "Matmul": Row(_matmul),
    "Max": _reduced(MaxOp),
    "Mean": Row(_mean),
    "Min": _reduced(MinOp),
    "Moments": Row(_moments),
    "Norm": Row(_norm),
    "Normalize": Row(_normalize),
    "Outer": Row(_outer),
    "Prod": _reduced(ProdOp, _summable),
    "Sort": Row(_sort),
    "Std": Row(lambda ctx: root(_variance(ctx)).value),
    "Sum": _reduced(SumOp, _summable),
    "Tensordot": Row(_tensordot),
    "TopK": Row(_top_k),
    "Var": Row(lambda ctx: _variance(ctx).value),
}
