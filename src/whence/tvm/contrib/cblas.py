"""Products of matrices that a library computes, by TVM's names: here numpy is that library."""

from __future__ import annotations

from typing import Any

from whence import te
from whence.support.errors import ScheduleError, expectation

_LIBRARY = "tvm.contrib.cblas"


def matmul(lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False, **kwargs: Any) -> te.Tensor:
    """The product of two matrices, (n, k) and (k, m), as a tensor (n, m) of the first one's dtype.

    transa, transb: True for a matrix that is transposed first. kwargs: those of `te.extern`, such as `name`. Raises
    ScheduleError for inner extents that differ.
    """
    return _product("matmul", lhs, rhs, transa, transb, **kwargs)


def batch_matmul(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False, iterative: bool = False, **kwargs: Any
) -> te.Tensor:
    """The products of two batches of matrices, (b, n, k) and (b, k, m), as `matmul`.

    iterative: one product at a time, in the name of the function that is called; the values are the same.
    """
    return _product("batch_matmul_iterative" if iterative else "batch_matmul", lhs, rhs, transa, transb, **kwargs)


def _product(name: str, lhs: te.Tensor, rhs: te.Tensor, transa: bool, transb: bool, **kwargs: Any) -> te.Tensor:
    rank = 2 if name == "matmul" else 3
    if len(lhs.shape) != rank or len(rhs.shape) != rank:
        ranks = f"{len(lhs.shape)} and {len(rhs.shape)}"
        raise ScheduleError(expectation(f"cblas.{name}", f"tensors of {rank} dimensions", ranks))
    rows, inner = lhs.shape[-2:] if not transa else reversed(lhs.shape[-2:])
    other, columns = rhs.shape[-2:] if not transb else reversed(rhs.shape[-2:])
    if isinstance(inner, int) and isinstance(other, int) and inner != other:
        raise ScheduleError(expectation(f"cblas.{name}", f"a second tensor of {inner} rows", str(other)))
    options: dict[str, Any] = {"name": "C", "dtype": lhs.dtype, **kwargs}
    return te.extern(
        (*lhs.shape[:-2], rows, columns),
        [lhs, rhs],
        lambda ins, outs: te.call_packed(f"{_LIBRARY}.{name}", ins[0], ins[1], outs[0], transa, transb),
        **options,
    )
