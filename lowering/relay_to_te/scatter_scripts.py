"""Loops that write where indices say, as hybrid scripts."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def nonzero(x: Any, extent: Any) -> Any:
    """The row-major positions of the elements that are not 0, zeros behind them, and how many there are."""
    places = output_tensor((extent,), "int64")
    number = output_tensor((), "int64")
    flat = view(x, (extent,))
    found = int64(0)
    for i in range(extent):
        # What is stored behind the last one is written over, or masked by the reader.
        places[found] = i
        found += int64(flat[i] != 0)
    number[()] = found
    return places, number


@te.hybrid.script
def scatter_rows(x: Any, updates: Any, indices: Any, sizes: Any, row: Any, act: Any) -> Any:
    """`x` as (rows, width), updated in a whole row, or one column after another, for each of `count` updates.

    sizes: rows, width, count. `row(indices, u)` is the row that update number `u` goes to.
    """
    out = output_tensor(x.shape, x.dtype)
    whole = view(out, (sizes[0] * sizes[1],))
    given = view(x, (sizes[0] * sizes[1],))
    for i in vectorize(sizes[0] * sizes[1]):
        whole[i] = given[i]
    target = view(out, (sizes[0], sizes[1]))
    new = view(updates, (sizes[2], sizes[1]))
    for u in range(sizes[2]):
        at = row(indices, u)
        for j in vectorize(sizes[1]):
            target[at, j] = act(target[at, j], new[u, j])
    return out


@te.hybrid.script
def scatter_elements(x: Any, updates: Any, indices: Any, size: Any, count: Any, place: Any, act: Any) -> Any:
    """`x`, of `size` elements, updated in `count` of them; `place(indices, u)` is the one of update number `u`."""
    out = output_tensor(x.shape, x.dtype)
    target = view(out, (size,))
    given = view(x, (size,))
    for i in vectorize(size):
        target[i] = given[i]
    new = view(updates, (count,))
    for u in range(count):
        at = place(indices, u)
        target[at] = act(target[at], new[u])
    return out


@te.hybrid.script
def set_rows(x: Any, new: Any, sizes: Any, start: Any) -> Any:
    """`x` as (outer, rows, width), which the result's memory holds, with `new` rows from `start` on.

    sizes: outer, rows, new rows, width.
    """
    out = output_tensor(x.shape, x.dtype)
    target = view(out, (sizes[0], sizes[1], sizes[3]))
    given = view(new, (sizes[0], sizes[2], sizes[3]))
    for i in range(sizes[0]):
        for r in range(sizes[2]):
            for j in vectorize(sizes[3]):
                target[i, start + r, j] = given[i, r, j]
    return out
