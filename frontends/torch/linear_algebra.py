"""Diagonals, norms, distances and products of matrices beyond `products`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.linear_algebra import DetOp, InverseOp
from ...dialects.relay.reduce import MaxOp, MinOp, SumOp
from ...dialects.relay.transform import PadOp, TakeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr
from ..importing.converter import Converter
from ..importing.products import product
from ..importing.tensor import shape_of
from ..importing.terms import Term, absolute, log, places, where
from ..meanings.slices import diagonal
from .context import Context
from .normalization import norm_of
from .promotion import FLOAT, common_type, floating, number_term, operand
from .shaping import shaped


def _rank_one(ctx: Context) -> SSAValue:
    """beta * self + alpha * (vec1 outer vec2)."""
    dtype = common_type(ctx, ("self", "vec1", "vec2"))
    rows, columns = operand(ctx, "vec1", dtype), operand(ctx, "vec2", dtype)
    both = rows.reshape(rows.shape[0], 1) * columns.reshape(1, columns.shape[0])
    alpha, beta = ctx.number("alpha", 1), ctx.number("beta", 1)
    both = both if alpha == 1 else both * number_term(ctx, alpha, dtype)
    if beta == 0:
        return both.value
    before = operand(ctx, "self", dtype)
    return ((before if beta == 1 else before * number_term(ctx, beta, dtype)) + both).value


def _inner(ctx: Context) -> SSAValue:
    """Sums of products along the last axes of both."""
    left, right = ctx.of("self"), ctx.of("other")
    if not shape_of(left) or not shape_of(right):
        return (Term(ctx, left) * Term(ctx, right)).value
    rank = len(shape_of(right))
    if rank == 1:
        return product(ctx, left, right)
    depth = shape_of(right)[-1]
    flat = shaped(ctx, right, (prod(shape_of(right)[:-1]), depth))
    turned = ctx.emit(TransposeOp, flat, axes=(1, 0))
    return shaped(ctx, product(ctx, left, turned), (*shape_of(left)[:-1], *shape_of(right)[:-1]))


def _vecdot(ctx: Context) -> SSAValue:
    names = ("x", "y") if ctx.given("x") else ("self", "other")
    both = ctx.term(names[0]) * ctx.term(names[1])
    axis = ctx.axis("dim", len(both.shape), -1)
    return both.apply(SumOp, axis=(axis,), keepdims=False).value


def _kronecker(ctx: Context) -> SSAValue:
    """Each element of one times all of the other, as blocks."""
    a, b = ctx.term("self"), ctx.term("other")
    rank = max(len(a.shape), len(b.shape))
    shapes = [(*(1,) * (rank - len(x.shape)), *x.shape) for x in (a, b)]
    apart = [
        [extent for item in shapes[0] for extent in (item, 1)],
        [extent for item in shapes[1] for extent in (1, item)],
    ]
    both = a.reshape(*apart[0]) * b.reshape(*apart[1])
    return both.reshape(*[x * y for x, y in zip(*shapes, strict=True)]).value


def _chained(name: str) -> Converter[Context]:
    """One matrix after the other, from the left."""

    def convert(ctx: Context) -> SSAValue:
        first, *rest = ctx.list_of(name)
        for value in rest:
            first = product(ctx, first, value)
        return first

    return Converter(convert)


def _matrix_power(ctx: Context) -> SSAValue:
    """A matrix times itself, by squares."""
    exponent, square = ctx.int("n"), ctx.of("self")
    if exponent < 1:
        ctx.fail("an exponent of at least 1", str(exponent))
    result: SSAValue | None = None
    while exponent:
        if exponent % 2:
            result = square if result is None else product(ctx, result, square)
        exponent //= 2
        square = product(ctx, square, square) if exponent else square
    assert result is not None
    return ctx.emit(CopyOp, result)


# Diagonals.


def _diagonal_embedded(ctx: Context, data: SSAValue, offset: int, first: int, second: int) -> SSAValue:
    """The last axis on a diagonal of two new axes, with 0 elsewhere."""
    x = Term(ctx, data)
    rank = len(x.shape) + 1
    first, second = ctx.axis_in(first, rank, "dim1"), ctx.axis_in(second, rank, "dim2")
    if first == second:
        ctx.fail("two axes that differ", f"{first} and {second}")
    count = x.shape[-1]
    if offset:
        # Behind the data for one above the diagonal, where the row says the element; else the column says it.
        width = (0, 0) * (rank - 2) + (0, abs(offset))
        zero = ctx.scalar(0, data) if x.dtype.kind != "b" else ctx.constant(np.zeros((), np.bool_), "scalar")
        x = Term(ctx, ctx.emit(PadOp, x.value, zero, pad_width=width))
        count = count + abs(offset)
    rows, columns = places(ctx, count, 2, 0), places(ctx, count, 2, 1)
    on = columns.equal(rows + offset) if offset else columns.equal(rows)
    spread = x.reshape(*x.shape, 1) if offset >= 0 else x.reshape(*x.shape[:-1], 1, x.shape[-1])
    zero = ctx.constant(np.zeros((), x.dtype), "zero")
    value = where(on, spread, Term(ctx, zero)).value
    rest = iter(range(rank - 2))
    order = [rank - 2 if at == first else rank - 1 if at == second else next(rest) for at in range(rank)]
    return value if order == list(range(rank)) else ctx.emit(TransposeOp, value, axes=order)


def _diag_embed(ctx: Context) -> SSAValue:
    return _diagonal_embedded(ctx, ctx.of("self"), ctx.int("offset", 0), ctx.int("dim1", -2), ctx.int("dim2", -1))


def _diag(ctx: Context) -> SSAValue:
    """A matrix with a diagonal, or the diagonal of a matrix."""
    if len(ctx.shape_of("self")) == 1:
        return _diagonal_embedded(ctx, ctx.of("self"), ctx.int("diagonal", 0), 0, 1)
    return diagonal(ctx.term("self"), ctx.int("diagonal", 0)).value


def _diagflat(ctx: Context) -> SSAValue:
    data = ctx.of("self")
    return _diagonal_embedded(ctx, shaped(ctx, data, (prod(shape_of(data)),)), ctx.int("offset", 0), 0, 1)


def _trace(ctx: Context) -> SSAValue:
    x = diagonal(ctx.term("self"))
    x = x.to("int64") if x.dtype.kind in "iub" else x
    return x.apply(SumOp, axis=(0,), keepdims=False).value


# Norms and distances.


def _linalg_norm(name: str) -> Converter[Context]:
    """Of vectors along an axis, or of matrices on two; without `ord` and `dim` of all elements."""

    def convert(ctx: Context) -> SSAValue:
        x = ctx.term(name)
        dtype = ctx.element("dtype", None) or x.dtype
        x = x.to(FLOAT) if dtype.itemsize < 4 else x.to(dtype)
        rank, keepdims = len(x.shape), ctx.flag("keepdim")
        default = () if ctx.op_type != "aten.linalg_matrix_norm.default" else (-2, -1)
        axes = [ctx.axis_in(axis, rank) for axis in ctx.ints("dim", default)]
        of_matrices = isinstance(ctx.argument("ord"), str) or ctx.op_type.startswith("aten.linalg_matrix_norm")
        if not axes and not ctx.given("ord"):
            result = norm_of(x.reshape(prod(x.shape)), 2.0, [0], False)
            result = result.reshape(*(1,) * rank) if keepdims else result
        elif (len(axes) == 2 or (not axes and rank == 2)) and (of_matrices or ctx.given("ord")):
            result = _matrix_norm(ctx, x, axes or [0, 1], keepdims)
        else:
            order = ctx.float("ord", 2.0) if ctx.given("ord") else 2.0
            result = norm_of(x, order, axes or list(range(rank)), keepdims)
        return result.to(dtype).value

    return Converter(convert)


def _matrix_norm(ctx: Context, x: Term, axes: list[int], keepdims: bool) -> Term:
    order = ctx.argument("ord")
    if order is None or order == "fro":
        return norm_of(x, 2.0, axes, keepdims)
    if not isinstance(order, int | float) or abs(order) not in (1, float("inf")):
        ctx.fail("ord fro, 1, -1, inf or -inf of matrices", repr(order))
    summed, rest = axes if abs(order) == 1 else axes[::-1]
    total = absolute(x).apply(SumOp, axis=(summed,), keepdims=True)
    result = total.apply(MaxOp if order > 0 else MinOp, axis=(rest,), keepdims=True)
    if keepdims:
        return result
    return result.reshape(*[extent for at, extent in enumerate(result.shape) if at not in axes])


def _frobenius(ctx: Context) -> SSAValue:
    x = ctx.term("self")
    axes = [ctx.axis_in(axis, len(x.shape)) for axis in ctx.ints("dim", ())] or list(range(len(x.shape)))
    return norm_of(x, 2.0, axes, ctx.flag("keepdim")).value


def _cdist(ctx: Context) -> SSAValue:
    """Distances of the rows of two matrices, as a norm says."""
    a, b = ctx.term("x1"), ctx.term("x2")
    apart = a.reshape(*a.shape[:-1], 1, a.shape[-1]) - b.reshape(*b.shape[:-2], 1, *b.shape[-2:])
    return norm_of(apart, ctx.float("p", 2.0), [len(apart.shape) - 1], False).value


def _pdist(ctx: Context) -> SSAValue:
    """Distances of each pair of rows, in the order of the first and then of the second."""
    data = ctx.of("self")
    count = shape_of(data)[0]
    if isinstance(cast(Size, count), SizeExpr):
        ctx.fail("a number of rows known at import", str(count))
    pairs = [Term(ctx, ctx.emit(TakeOp, data, ctx.constant(at, "rows"), axis=0)) for at in np.triu_indices(count, 1)]
    return norm_of(pairs[0] - pairs[1], ctx.float("p", 2.0), [1], False).value


def _pairwise_distance(ctx: Context) -> SSAValue:
    dtype = floating(common_type(ctx, ("x1", "x2")))
    a, b = operand(ctx, "x1", dtype), operand(ctx, "x2", dtype)
    apart = a - b + ctx.float("eps", 1e-6)
    return norm_of(apart, ctx.float("p", 2.0), [len(apart.shape) - 1], ctx.flag("keepdim")).value


def _of_determinant(function: Callable[[Term], tuple[Term, ...]], name: str) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue | tuple[SSAValue, ...]:
        determinant = Term(ctx, ctx.emit(DetOp, operand(ctx, name, floating(ctx.dtype_of(name))).value))
        first, *rest = (term.value for term in function(determinant))
        return (first, *rest) if rest else first

    return Converter(convert)


def _sign_and_logarithm(x: Term) -> tuple[Term, ...]:
    return where(x > 0.0, x.number(1.0), where(x < 0.0, x.number(-1.0), 0.0)), log(absolute(x))


def _solve(ctx: Context) -> SSAValue:
    """The x of A x = B, by the inverse of A."""
    matrix, right = ctx.of("A"), ctx.of("B")
    if not ctx.flag("left", True):
        return product(ctx, right, ctx.emit(InverseOp, matrix))
    return product(ctx, ctx.emit(InverseOp, matrix), right)


TABLE: dict[str, Converter[Context]] = {
    "aten._pdist_forward.default": Converter(_pdist),
    "aten.addr.default": Converter(_rank_one),
    "aten.cdist.default": Converter(_cdist, unread={"compute_mode": "of rounding"}),
    "aten.chain_matmul.default": _chained("matrices"),
    "aten.diag.default": Converter(_diag),
    "aten.diag_embed.default": Converter(_diag_embed),
    "aten.diagflat.default": Converter(_diagflat),
    "aten.frobenius_norm.dim": Converter(_frobenius),
    "aten.inner.default": Converter(_inner),
    "aten.kron.default": Converter(_kronecker),
    "aten.linalg_matrix_norm.default": _linalg_norm("self"),
    "aten.linalg_matrix_norm.str_ord": _linalg_norm("self"),
    "aten.linalg_matrix_power.default": Converter(_matrix_power),
    "aten.linalg_multi_dot.default": _chained("tensors"),
    "aten.linalg_norm.default": _linalg_norm("self"),
    "aten.linalg_norm.ord_str": _linalg_norm("self"),
    "aten.linalg_slogdet.default": _of_determinant(_sign_and_logarithm, "A"),
    "aten.linalg_solve.default": Converter(_solve),
    "aten.linalg_vecdot.default": Converter(_vecdot),
    "aten.logdet.default": _of_determinant(lambda x: (log(x),), "self"),
    "aten.matrix_power.default": Converter(_matrix_power),
    "aten.pairwise_distance.default": Converter(_pairwise_distance),
    "aten.slogdet.default": _of_determinant(_sign_and_logarithm, "self"),
    "aten.trace.default": Converter(_trace),
    "aten.vdot.default": Converter(_vecdot),
}
