"""Loops that put rows or elements where they belong, as hybrid scripts."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def segment_sum(x: Any, ids: Any, extents: Any, sizes: Any, zero: Any, row: Any, added: Any) -> Any:
    """Sums of the rows of `x`, each added to row number `row(ids, u)`; sizes: rows of the result, width, rows of `x`.

    `added(total, ids, u, number)` is a total with the number of row `u`, if that belongs anywhere.
    """
    out = output_tensor(extents, zero.dtype)
    whole = view(out, (sizes[0] * sizes[1],))
    for i in vectorize(sizes[0] * sizes[1]):
        whole[i] = zero
    total = view(out, (sizes[0], sizes[1]))
    rows = view(x, (sizes[2], sizes[1]))
    for u in range(sizes[2]):
        at = row(ids, u)
        for j in vectorize(sizes[1]):
            total[at, j] = added(total[at, j], ids, u, rows[u, j])
    return out


@te.hybrid.script
def sparse_to_dense(filled: Any, indices: Any, values: Any, sizes: Any, place: Any, chosen: Any) -> Any:
    """`filled` with `values` in place of some elements; sizes: the elements of both.

    Value `u` goes to position `place(indices, u)`, which becomes `chosen(old, new, indices, u)`.
    """
    out = output_tensor(filled.shape, filled.dtype)
    target = view(out, (sizes[0],))
    given = view(filled, (sizes[0],))
    for i in vectorize(sizes[0]):
        target[i] = given[i]
    new = view(values, (sizes[1],))
    for u in range(sizes[1]):
        at = place(indices, u)
        target[at] = chosen(target[at], new[u], indices, u)
    return out
