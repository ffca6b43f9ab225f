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


@te.hybrid.script
def sparse_dense(dense: Any, data: Any, columns: Any, ends: Any, sizes: Any, zero: Any) -> Any:
    """`dense` times the transpose of a matrix in compressed rows; sizes: rows of blocks, blocks, and extents of one."""
    out = output_tensor((dense.shape[0], sizes[0] * sizes[2]), dense.dtype)
    blocks = view(data, (sizes[1], sizes[2], sizes[3]))
    for m in range(dense.shape[0]):
        for r in range(sizes[0]):
            for p in range(sizes[2]):
                out[m, r * sizes[2] + p] = zero
            at = min(max(int64(ends[r]), 0), sizes[1])
            last = min(max(int64(ends[r + 1]), 0), sizes[1])
            while at < last:
                first = int64(columns[at]) * sizes[3]
                for p in range(sizes[2]):
                    for q in range(sizes[3]):
                        place = min(max(first + q, 0), dense.shape[1] - 1)
                        value = dense[m, place] * blocks[at, p, q]
                        out[m, r * sizes[2] + p] = out[m, r * sizes[2] + p] + value
                at += 1
    return out


@te.hybrid.script
def sparse_add(dense: Any, data: Any, columns: Any, ends: Any) -> Any:
    out = output_tensor(dense.shape, dense.dtype)
    for r in range(dense.shape[0]):
        for c in range(dense.shape[1]):
            out[r, c] = dense[r, c]
        at = min(max(int64(ends[r]), 0), data.shape[0])
        last = min(max(int64(ends[r + 1]), 0), data.shape[0])
        while at < last:
            place = min(max(int64(columns[at]), 0), dense.shape[1] - 1)
            out[r, place] = out[r, place] + data[at]
            at += 1
    return out


@te.hybrid.script
def sparse_transpose(data: Any, columns: Any, ends: Any) -> Any:
    """Entries counted by column, then put there row by row."""
    values = output_tensor(data.shape, data.dtype)
    rows = output_tensor(columns.shape, columns.dtype)
    starts = output_tensor(ends.shape, ends.dtype)
    free = allocate((ends.shape[0],), "int64", "global")
    for r in range(ends.shape[0]):
        free[r] = int64(0)
    for e in range(data.shape[0]):
        values[e] = data[e] * 0
        rows[e] = 0
        place = min(max(int64(columns[e]) + 1, 0), ends.shape[0] - 1)
        free[place] = free[place] + 1
    for r in range(ends.shape[0] - 1):
        free[r + 1] = free[r + 1] + free[r]
    for r in range(ends.shape[0]):
        starts[r] = free[r]
    for r in range(ends.shape[0] - 1):
        at = min(max(int64(ends[r]), 0), data.shape[0])
        last = min(max(int64(ends[r + 1]), 0), data.shape[0])
        while at < last:
            column = min(max(int64(columns[at]), 0), ends.shape[0] - 2)
            place = min(max(free[column], 0), data.shape[0] - 1)
            values[place] = data[at]
            rows[place] = r
            free[column] = free[column] + 1
            at += 1
    return values, rows, starts
