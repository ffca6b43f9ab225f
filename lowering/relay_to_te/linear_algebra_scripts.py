"""Loops of linear algebra, as hybrid scripts. Their outermost loop may run in parallel."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def determinants(x: Any, batch: Any, n: Any, dtype: Any, one: Any) -> Any:
    """Of a view (batch, n, n): the product of the pivots of Gauss's elimination, rows exchanged for the largest."""
    y = output_tensor((batch,), dtype)
    work = allocate((batch, n, n), dtype, "global")
    data = view(x, (batch, n, n))
    for b in range(batch):
        for i in range(n):
            for j in range(n):
                work[b, i, j] = data[b, i, j]
        product = one
        for k in range(n):
            pivot = int64(k)
            for i in range(k + 1, n):
                if te.abs(work[b, i, k]) > te.abs(work[b, pivot, k]):
                    pivot = int64(i)
            if pivot != k:
                product = product * (one * -1)
            for j in range(n):
                kept = work[b, k, j]
                work[b, k, j] = work[b, pivot, j]
                work[b, pivot, j] = kept
            product = product * work[b, k, k]
            for i in range(k + 1, n):
                # A pivot of 0 has only zeros below it.
                divisor = one if work[b, k, k] == 0 else work[b, k, k]
                share = work[b, i, k] / divisor
                for j in range(k, n):
                    work[b, i, j] = work[b, i, j] - share * work[b, k, j]
        y[b] = product
    return y
