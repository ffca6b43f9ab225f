"""Matrices: inverses, determinants, triangles and diagonals, of the last two axes or of two that are named."""

from __future__ import annotations

import numpy as np

from ...dialects.relay.linear_algebra import DetOp, InverseOp
from ...dialects.relay.reduce import SumOp
from ...dialects.sizes import same_shape, symbols_of
from ...support.dtypes import Array
from ..importing.context import Context
from ..importing.terms import Term, absolute, log, places, where
from .products import matmul
from .slices import diagonal


def determinant(x: Term) -> Term:
    return x.apply(DetOp)


def inverse(x: Term) -> Term:
    return x.apply(InverseOp)


def solve(matrix: Term, right: Term, adjoint: bool = False) -> Term:
    """The x of `matrix @ x = right`, or with `adjoint` of that of the transpose, by the inverse.

    right: columns (.., n, k), or vectors (.., n) as many as matrices.
    """
    vectors = same_shape(right.shape, matrix.shape[:-1])
    columns = right.reshape(*right.shape, 1) if vectors else right
    result = matmul(inverse(matrix), columns, transpose_left=adjoint)
    return result.reshape(*right.shape) if vectors else result


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
