"""Einsum, by matrix products; determinants, triangles and identities."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.linear_algebra import (
    DetOp,
    DynamicTimeWarpingOp,
    EinsumOp,
    Equation,
    InverseOp,
    Letters,
    TriluOp,
)
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.transform import ReshapeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, same
from ...support.dtypes import Array
from ..importing.converter import Converter, Narrowed
from ..importing.products import dense, product
from ..importing.terms import Term, maximum, places, sqrt, term
from .context import Context
from .tensors import dtype_of

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

Named = tuple[Term, Letters]
"""A tensor with a letter for each axis."""


def einsum(ctx: Context) -> SSAValue:
    """Operand after operand is multiplied with what the ones before gave, as matrices where a letter is summed over."""
    text = ctx.str("equation", "")
    terms = [term(ctx, index) for index in range(len(ctx.inputs))]
    try:
        equation = Equation.of(text, [one.shape for one in terms])
    except ValueError as error:
        ctx.fail(*error.args)
    operands = list(zip(terms, equation.operands, strict=True))
    total, *others = operands
    for place, other in enumerate(others):
        later = {name for _, names in others[place + 1 :] for name in names}
        total = _contracted(total, other, {*equation.result, *later})
    found, names = _alone(total, set(equation.result))
    return _ordered(found, names, equation.result).value


def _generic(operands: Sequence[Named], result: Letters) -> Named:
    """relay.einsum, with letters of its own for the axes."""
    every = dict.fromkeys(name for _, names in operands for name in names)
    letter = dict(zip(every, _ALPHABET, strict=False))
    if len(letter) < len(every):
        operands[0][0].ctx.fail(f"an equation of at most {len(_ALPHABET)} axes", str(len(every)))
    spelled = ["".join(letter[name] for name in names) for _, names in operands]
    equation = f"{','.join(spelled)}->{''.join(letter[name] for name in result)}"
    (first, *others) = [one for one, _ in operands]
    return first.apply(EinsumOp, *others, equation=equation), result


def _alone(named: Named, kept: set[str]) -> Named:
    """An operand of its own: diagonals taken, and what no other needs summed over."""
    data, names = named
    result = tuple(name for name in dict.fromkeys(names) if name in kept)
    if len(set(names)) < len(names):
        return _generic([named], result)
    gone = [axis for axis, name in enumerate(names) if name not in kept]
    return (data.apply(SumOp, axis=gone), result) if gone else named


def _ordered(data: Term, names: Letters, wanted: Letters) -> Term:
    return data if names == wanted else data.apply(TransposeOp, axes=[names.index(name) for name in wanted])


def _contracted(left: Named, right: Named, kept: set[str]) -> Named:
    """Two operands as one, of the letters in `kept`: batches of matrix products."""
    (a, own), (b, other) = _alone(left, kept | set(right[1])), _alone(right, kept | set(left[1]))
    shared = [name for name in own if name in other]
    extents = dict(zip(own, a.shape, strict=True)) | dict(zip(other, b.shape, strict=True))
    batch = [name for name in shared if name in kept]
    inner = [name for name in shared if name not in kept]
    rows = [name for name in own if name not in shared]
    columns = [name for name in other if name not in shared]
    result = (*batch, *rows, *columns)
    broadcasts = any(not same(a.shape[own.index(name)], b.shape[other.index(name)]) for name in shared)
    if not inner or broadcasts:
        return _generic([(a, own), (b, other)], result)

    def size(names: list[str]) -> int:
        return prod(extents[name] for name in names)

    ctx, outer = a.ctx, [extents[name] for name in batch]
    x = _ordered(a, own, (*batch, *rows, *inner)).reshape(*outer, size(rows), size(inner))
    y = _ordered(b, other, (*batch, *inner, *columns)).reshape(*outer, size(inner), size(columns))
    total = Term(ctx, product(ctx, x.value, y.value))
    return total.reshape(*(extents[name] for name in result)), result


def det(ctx: Context) -> SSAValue:
    return ctx.emit(DetOp, ctx.value(0))


def trilu(ctx: Context) -> SSAValue:
    k = ctx.value(1) if ctx.has(1) else ctx.constant(np.asarray(0), "k")
    return ctx.emit(TriluOp, ctx.value(0), k, upper=bool(ctx.int("upper", 1)))


def eye_like(ctx: Context) -> Array | SSAValue:
    """Ones on diagonal `k` of a matrix of the input's shape."""
    shape, code = ctx.shape(0), ctx.int("dtype", 0)
    if len(shape) != 2:
        ctx.fail("a matrix", f"shape {list(shape)}")
    dtype = dtype_of(code, f"EyeLike '{ctx.node.output[0]}'") if code else ctx.dtype(0)
    k = ctx.int("k", 0)
    if any(isinstance(extent, SizeExpr) for extent in cast("Sequence[Size]", shape)):
        row, column = (places(ctx, extent, 2, axis) for axis, extent in enumerate(shape))
        return (row + k).equal(column).to(dtype).value
    ctx.fits(shape, dtype)
    return np.eye(*shape, k).astype(dtype)


def inverse(ctx: Context) -> SSAValue:
    return ctx.emit(InverseOp, ctx.value(0))


def cdist(ctx: Context) -> SSAValue:
    """The distances of each row of a matrix from each row of another, by the products of rows."""
    a, b, metric = term(ctx, 0), term(ctx, 1), ctx.str("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        ctx.fail("metric euclidean or sqeuclidean", repr(metric))
    products = dense(ctx, a.value, b.value, True)
    squares = [(x * x).sum(1).reshape(*place) for x, place in ((a, (a.shape[0], 1)), (b, (1, b.shape[0])))]
    distance = maximum(squares[0] + squares[1] - Term(ctx, products) * 2.0, 0.0)
    return (sqrt(distance) if metric == "euclidean" else distance).value


def dynamic_time_warping(ctx: Context) -> Narrowed:
    """The cheapest path through a matrix of costs, or through the one matrix of a batch."""
    costs, shape = ctx.value(0), ctx.shape(0)
    if len(shape) == 3:
        costs = ctx.emit(ReshapeOp, costs, newshape=shape[1:])
    path, count = ctx.emit_all(DynamicTimeWarpingOp, costs)
    return Narrowed(path, count, 1)


TABLE = {
    "Det": Converter(det),
    "Einsum": Converter(einsum),
    "EyeLike": Converter(eye_like),
    "Trilu": Converter(trilu),
}
MICROSOFT = {
    "CDist": Converter(cdist),
    "DynamicTimeWarping": Converter(dynamic_time_warping),
    "Inverse": Converter(inverse),
    "Trilu": Converter(trilu),
}
