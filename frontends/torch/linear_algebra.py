"""Diagonals, norms, distances and products of matrices beyond `products`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.linear_algebra import DetOp, InverseOp
from ...dialects.relay.reduce import MaxOp, MinOp, SumOp
from ...dialects.relay.transform import PadOp, TakeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr
from ..importing.attributes import Flag, Float, Int, Ints
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, absolute, constant, log, places, where
from ..meanings import linear_algebra
from ..meanings.linear_algebra import sign_and_log_of_determinant, solve, solve_from_left
from ..meanings.products import dot, kron, matmul, outer, vecdot, with_addend
from ..meanings.reductions import norm
from ..meanings.slices import diagonal
from .context import Context
from .promotion import FLOAT, common_type, floating, meeting, operand


def _rank_one(ctx: Context) -> SSAValue:
    """beta * self + alpha * (vec1 outer vec2)."""
    dtype = common_type(ctx, ("self", "vec1", "vec2"))
    addend, rows, columns = (operand(ctx, name, dtype) for name in ("self", "vec1", "vec2"))
    return with_addend(outer(rows, columns), addend, ctx.number("alpha", 1), ctx.number("beta", 1)).value


def _chained(name: str) -> Converter[Context]:
    """One matrix after the other, from the left."""
    return Converter(lambda ctx: reduce(matmul, (Term(ctx, value) for value in ctx.list_of(name))).value)


def _matrix_power(square: Term, exponent: int) -> Term:
    """A matrix times itself, by squares."""
    if exponent < 1:
        square.ctx.fail("an exponent of at least 1", str(exponent))
    result: Term | None = None
    while exponent:
        if exponent % 2:
            result = square if result is None else matmul(result, square)
        exponent //= 2
        square = matmul(square, square) if exponent else square
    assert result is not None
    return result.apply(CopyOp)


# Diagonals.


def _on_diagonal(x: Term, offset: int = 0, first: int = -2, second: int = -1) -> Term:
    """The last axis on a diagonal of two new axes, with 0 elsewhere."""
    rank = len(x.shape) + 1
    if not all(-rank <= axis < rank for axis in (first, second)) or first % rank == second % rank:
        x.ctx.fail(f"two axes of {rank}", f"{first} and {second}")
    first, second = first % rank, second % rank
    zero, count = constant(x.ctx, np.zeros((), x.dtype), "zero"), x.shape[-1]
    if offset:
        # Behind the data for one above the diagonal, where the row says the element; else the column says it.
        x = x.apply(PadOp, zero, pad_width=(0, 0) * (rank - 2) + (0, abs(offset)))
        count = count + abs(offset)
    rows, columns = places(x.ctx, count, 2, 0), places(x.ctx, count, 2, 1)
    on = columns.equal(rows + offset) if offset else columns.equal(rows)
    spread = x.reshape(*x.shape, 1) if offset >= 0 else x.reshape(*x.shape[:-1], 1, x.shape[-1])
    value = where(on, spread, zero)
    rest = iter(range(rank - 2))
    order = [rank - 2 if at == first else rank - 1 if at == second else next(rest) for at in range(rank)]
    return value if order == sorted(order) else value.apply(TransposeOp, axes=order)


def _diag(x: Term, offset: int) -> Term:
    """A matrix with a diagonal, or the diagonal of a matrix."""
    return _on_diagonal(x, offset) if len(x.shape) == 1 else diagonal(x, offset)


def _diagflat(x: Term, offset: int) -> Term:
    return _on_diagonal(x.reshape(prod(x.shape)), offset)


def _trace(x: Term) -> Term:
    return linear_algebra.trace(x.to("int64") if x.dtype.kind in "iub" else x)


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
            result = norm(x.reshape(prod(x.shape)))
            result = result.reshape(*(1,) * rank) if keepdims else result
        elif (len(axes) == 2 or (not axes and rank == 2)) and (of_matrices or ctx.given("ord")):
            result = _matrix_norm(ctx, x, axes or [0, 1], keepdims)
        else:
            order = ctx.float("ord", 2.0) if ctx.given("ord") else 2.0
            result = norm(x, order, axes or None, keepdims)
        return result.to(dtype).value

    return Converter(convert)


def _matrix_norm(ctx: Context, x: Term, axes: list[int], keepdims: bool) -> Term:
    order = ctx.argument("ord")
    if order is None or order == "fro":
        return norm(x, 2.0, axes, keepdims)
    if not isinstance(order, int | float) or abs(order) not in (1, float("inf")):
        ctx.fail("ord fro, 1, -1, inf or -inf of matrices", repr(order))
    summed, rest = axes if abs(order) == 1 else axes[::-1]
    total = absolute(x).apply(SumOp, axis=(summed,), keepdims=True)
    result = total.apply(MaxOp if order > 0 else MinOp, axis=(rest,), keepdims=True)
    if keepdims:
        return result
    return result.reshape(*[extent for at, extent in enumerate(result.shape) if at not in axes])


def _frobenius(x: Term, axes: Sequence[int], keepdims: bool) -> Term:
    return norm(x, 2.0, axes or None, keepdims)


def _cdist(a: Term, b: Term, p: float) -> Term:
    """Distances of the rows of two matrices, as a norm says."""
    return norm(a.reshape(*a.shape[:-1], 1, a.shape[-1]) - b.reshape(*b.shape[:-2], 1, *b.shape[-2:]), p, (-1,))


def _pdist(x: Term, p: float) -> Term:
    """Distances of each pair of rows, in the order of the first and then of the second."""
    count = x.shape[0]
    if isinstance(cast(Size, count), SizeExpr):
        x.ctx.fail("a number of rows known at import", str(count))
    pairs = [x.apply(TakeOp, constant(x.ctx, at, "rows"), axis=0) for at in np.triu_indices(count, 1)]
    return norm(pairs[0] - pairs[1], p, (1,))


def _pairwise_distance(a: Term, b: Term, p: float, epsilon: float, keepdims: bool) -> Term:
    return norm(a - b + epsilon, p, (-1,), keepdims)


def _in_floats(function: Callable[..., Term | tuple[Term, ...]], name: str) -> Converter[Context]:
    def computed(x: Term) -> Term | tuple[Term, ...]:
        return function(x.to(floating(x.dtype)))

    return row(computed, name)


def _log_of_determinant(x: Term) -> Term:
    return log(linear_algebra.determinant(x))


def _solve(matrix: Term, right: Term, left: bool) -> Term:
    return solve(matrix, right) if left else solve_from_left(matrix, right)


_P = Float(2.0, name="p")
_KEEPDIMS = Flag(False, name="keepdim")
_power = row(_matrix_power, "self", exponent=Int(name="n"))

TABLE: dict[str, Converter[Context]] = {
    "aten._pdist_forward.default": row(_pdist, "self", p=_P),
    "aten.addr.default": Converter(_rank_one),
    "aten.cdist.default": row(_cdist, "x1 x2", unread={"compute_mode": "of rounding"}, p=_P),
    "aten.chain_matmul.default": _chained("matrices"),
    "aten.diag.default": row(_diag, "self", offset=Int(0, name="diagonal")),
    "aten.diag_embed.default": row(
        _on_diagonal, "self", offset=Int(0), first=Int(-2, name="dim1"), second=Int(-1, name="dim2")
    ),
    "aten.diagflat.default": row(_diagflat, "self", offset=Int(0)),
    "aten.frobenius_norm.dim": row(_frobenius, "self", axes=Ints((), name="dim"), keepdims=_KEEPDIMS),
    "aten.inner.default": row(partial(dot, axis=-1), "self other"),
    "aten.kron.default": row(kron, "self other"),
    "aten.linalg_det.default": row(DetOp, "A"),
    "aten.linalg_inv.default": row(InverseOp, "A"),
    "aten.linalg_matrix_norm.default": _linalg_norm("self"),
    "aten.linalg_matrix_norm.str_ord": _linalg_norm("self"),
    "aten.linalg_matrix_power.default": _power,
    "aten.linalg_multi_dot.default": _chained("tensors"),
    "aten.linalg_norm.default": _linalg_norm("self"),
    "aten.linalg_norm.ord_str": _linalg_norm("self"),
    "aten.linalg_slogdet.default": _in_floats(sign_and_log_of_determinant, "A"),
    "aten.linalg_solve.default": row(_solve, "A B", left=Flag(True)),
    "aten.linalg_vecdot.default": row(vecdot, "x y", axis=Int(-1, name="dim")),
    "aten.logdet.default": _in_floats(_log_of_determinant, "self"),
    "aten.matrix_power.default": _power,
    "aten.pairwise_distance.default": meeting(
        *(_pairwise_distance, "x1 x2"), dtype=floating, p=_P, epsilon=Float(1e-6, name="eps"), keepdims=_KEEPDIMS
    ),
    "aten.slogdet.default": _in_floats(sign_and_log_of_determinant, "self"),
    "aten.trace.default": row(_trace, "self"),
    "aten.vdot.default": row(vecdot, "self other"),
}
