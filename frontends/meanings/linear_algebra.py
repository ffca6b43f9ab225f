"""Matrices: inverses, determinants, triangles and diagonals, of the last two axes or of two that are named."""

from __future__ import annotations

import numpy as np

from ...dialects.relay.linear_algebra import DetOp, InverseOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.transform import PadOp, TransposeOp
from ...dialects.sizes import symbols_of
from ...support.dtypes import Array
from ..importing.context import Context
from ..importing.terms import Term, absolute, constant, log, places, where
from .products import matmul
from .slices import diagonal


def determinant(x: Term) -> Term:
    return x.apply(DetOp)


def inverse(x: Term) -> Term:
    return x.apply(InverseOp)


def solve(matrix: Term, right: Term, adjoint: bool = False) -> Term:
    """The x of `matrix @ x = right`, or with `adjoint` of that of the transpose, by the inverse."""
    return matmul(inverse(matrix), right, transpose_left=adjoint)


def solve_from_left(matrix: Term, left: Term) -> Term:
    """The x of `x @ matrix = left`, by the inverse."""
    return matmul(left, inverse(matrix))


def sign_and_log_of_determinant(x: Term) -> tuple[Term, Term]:
    value = determinant(x)
    return where(value > 0.0, 1.0, where(value < 0.0, value.number(-1.0), 0.0)), log(absolute(value))


# Diagonals.


def eye(ctx: Context, rows: int, columns: int, dtype: np.dtype[np.generic], k: int = 0) -> Array | Term:
    """Ones on diagonal `k` of a matrix."""
    if not any(map(symbols_of, (rows, columns))):
        ctx.fits((rows, columns), dtype)
        return np.eye(rows, columns, k).astype(dtype)
    return (places(ctx, rows, 2, 0) + k).equal(places(ctx, columns, 2, 1)).to(dtype)


def trace(x: Term, offset: int = 0, first: int = 0, second: int = 1) -> Term:
    """The sum of a diagonal."""
    return diagonal(x, offset, first, second).apply(SumOp, axis=(-1,), keepdims=False)


def on_diagonal(x: Term, offset: int = 0, first: int = -2, second: int = -1, elsewhere: Term | None = None) -> Term:
    """The last axis on a diagonal of two new axes, with 0 elsewhere, or another number."""
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
    value = where(on, spread, zero if elsewhere is None else elsewhere)
    rest = iter(range(rank - 2))
    order = [rank - 2 if at == first else rank - 1 if at == second else next(rest) for at in range(rank)]
    return value if order == sorted(order) else value.apply(TransposeOp, axes=order)
