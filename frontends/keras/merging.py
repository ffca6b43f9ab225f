"""Layers of several inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.creation import OnesOp
from ...dialects.relay.norms import L2NormalizeOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.reduce import AnyOp
from ...dialects.relay.transform import BroadcastToOp, ConcatenateOp
from ..importing.tensor import shape_of
from ..importing.terms import Term, where
from ..meanings import elementwise
from ..meanings.products import dot_general
from .context import Context
from .masks import Masks, every, some
from .nests import whole, wholes
from .rows import Row


def _inputs(ctx: Context) -> list[Term]:
    """The inputs, of one rank: axes of 1 after the batch."""
    terms = [Term(ctx, value) for value in ctx.operands()]
    if len(terms) < 2:
        ctx.fail("a list of at least 2 tensors", str(len(terms)))
    rank = max(len(term.shape) for term in terms)
    grown: list[Term] = []
    for term in terms:
        batch, *rest = term.shape or (1,)
        grown.append(term.reshape(batch, *(1,) * (rank - 1 - len(rest)), *rest) if rank else term)
    return grown


def _masks(ctx: Context, values: Sequence[SSAValue]) -> list[Term | None]:
    """The mask of each tensor, with axes of 1 behind; None for one without."""
    masks: list[Term | None] = []
    for mask, value in zip(ctx.masks(ctx.argument(1, "mask") or [None] * len(values)), values, strict=True):
        shape = () if mask is None else shape_of(mask)
        ones = (1,) * (len(shape_of(value)) - len(shape))
        masks.append(None if mask is None else Term(ctx, mask).reshape(*shape, *ones))
    return masks


def _either(a: Term | None, b: Term | None) -> Term | None:
    """Both masks as one: what one of them counts; None where a tensor has none."""
    return None if a is None or b is None else a | b


def _mask_of_any(ctx: Context) -> SSAValue:
    """The mask of a result, all of whose operands have one: true where one of these is."""
    masks = [Term(ctx, mask) for mask in ctx.masks(ctx.argument(1, "mask")) if mask is not None]
    return reduce(lambda a, b: a | b, masks).value


def multiply(ctx: Context) -> SSAValue:
    """The product, in which what a mask leaves out is 1; and 0 where all masks leave it out."""
    terms = _inputs(ctx)
    masks = _masks(ctx, [term.value for term in terms])
    factors = [x if mask is None else where(mask, x, 1.0) for x, mask in zip(terms, masks, strict=True)]
    product, seen = reduce(lambda a, b: a * b, factors), reduce(_either, masks)
    return (product if seen is None else where(seen, product, 0.0)).value


def extreme(op: type[Operator]) -> Callable[[Context], SSAValue]:
    """The greatest or least: where the mask of one operand leaves it out, the other one."""

    def convert(ctx: Context) -> SSAValue:
        result, *terms = _inputs(ctx)
        seen, *masks = _masks(ctx, [term.value for term in (result, *terms)])
        for term, mask in zip(terms, masks, strict=True):
            other = term if mask is None else where(mask, term, result)
            result = (result if seen is None else where(seen, result, other)).apply(op, other)
            seen = _either(seen, mask)
        return result.value

    return convert


def _merged(function: Callable[..., Term]) -> Row:
    return Row(lambda ctx: function(*_inputs(ctx)).value, masks=_ANY)


def _subtract(ctx: Context) -> SSAValue:
    terms = _inputs(ctx)
    if len(terms) != 2:
        ctx.fail("two tensors", str(len(terms)))
    return (terms[0] - terms[1]).value


def scaled_sum(ctx: Context) -> SSAValue:
    """One tensor and another times a number: a layer of InceptionResNetV2 in keras.applications."""
    values = ctx.operands()
    if len(values) != 2:
        ctx.fail("two tensors", str(len(values)))
    return (Term(ctx, values[0]) + Term(ctx, values[1]) * ctx.float("scale")).value


def concatenate(ctx: Context) -> SSAValue:
    values = ctx.operands()
    if not values:
        ctx.fail("a list of tensors", "none")
    return ctx.emit(ConcatenateOp, values, axis=ctx.axis(ctx.int("axis", -1), len(shape_of(values[0]))))


def _mask_of_joined(ctx: Context) -> SSAValue:
    """The masks one after the other as the tensors are; those of a tensor without one are true."""
    values = ctx.operands()
    rank = len(shape_of(values[0]))
    axis = ctx.axis(ctx.int("axis", -1), rank)
    masks = [
        ctx.emit(OnesOp, shape=shape_of(value), dtype="bool")
        if mask is None
        else ctx.emit(BroadcastToOp, mask.value, shape=shape_of(value))
        for mask, value in zip(_masks(ctx, values), values, strict=True)
    ]
    joined = Term(ctx, ctx.emit(ConcatenateOp, masks, axis=axis))
    return joined.apply(AnyOp, axis=(rank - 1,), keepdims=False).value


def dot(ctx: Context) -> SSAValue:
    """The product of two tensors along one axis of each, for each of the batch."""
    values = ctx.operands()
    if len(values) != 2 or any(len(shape_of(value)) < 2 for value in values):
        ctx.fail("two tensors of at least 2 dimensions", str([list(shape_of(value)) for value in values]))
    ranks = [len(shape_of(value)) for value in values]
    option = ctx.option("axes")
    pair = [option, option] if whole(option) is not None else wholes(option)
    if pair is None or len(pair) != 2:
        ctx.fail("'axes' as one number or two", repr(option))
    axes = [ctx.axis(axis, rank) for axis, rank in zip(pair, ranks, strict=True)]
    if 0 in axes:
        ctx.fail("axes after the batch", str(axes))
    if ctx.flag("normalize", False):
        values = [
            ctx.emit(L2NormalizeOp, value, axis=(axis,), eps=1e-12) for value, axis in zip(values, axes, strict=True)
        ]
    left, right = (Term(ctx, value) for value in values)
    result = dot_general(left, right, ((0,), (0,)), ((axes[0],), (axes[1],)))
    return (result if len(result.shape) > 1 else result.reshape(*left.shape[:1], 1)).value


_ANY = Masks({"mask": 1}, computed=_mask_of_any, condition=every)
TABLE = {
    "Add": _merged(elementwise.combined(ew.AddOp)),
    "Average": _merged(elementwise.mean),
    "Concatenate": Row(concatenate, masks=Masks({"mask": 1}, computed=_mask_of_joined, condition=some)),
    "CustomScaleLayer": Row(scaled_sum),
    "Dot": Row(dot),
    "Maximum": Row(extreme(ew.MaximumOp), masks=_ANY),
    "Minimum": Row(extreme(ew.MinimumOp), masks=_ANY),
    "Multiply": Row(multiply, masks=_ANY),
    "Subtract": Row(_subtract, masks=_ANY),
}
