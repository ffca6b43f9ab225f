"""The analyses of TVM's `tir.analysis` that exist here."""

from __future__ import annotations

from whence.support.errors import WhenceError
from whence.te.language.expr import Expr
from whence.tir import transform
from whence.tir.function import PrimFunc
from whence.tir.structure import first_mismatch


def expr_deep_equal(lhs: Expr, rhs: Expr) -> bool:
    """Return whether two expressions are built alike of the same variables."""
    return first_mismatch(lhs, rhs) is None


def verify_memory(func: PrimFunc) -> bool:
    """Return whether no parallel or vectorized loop writes an element twice, or reads one of another iteration."""
    try:
        transform.VerifyMemory()(func)
    except WhenceError:
        return False
    return True
