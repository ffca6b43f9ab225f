"""Loops that carry a sum or product along, as hybrid scripts on views of tensors.

The outermost loop of each may run in parallel.

The element at step i is that at `first + step * i`, and `combine(total, element)` the next total.
"""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def along_rows(
    x: Any,
    shape: Any,
    outer: Any,
    extent: Any,
    first: Any,
    step: Any,
    dtype: Any,
    start: Any,
    combine: Any,
    chosen: Any,
) -> Any:
    """Along the last axis of views (outer, extent) of x and the result, a tensor of `shape`.

    What is written is `chosen(total, next)`.
    """
    result = output_tensor(shape, dtype)
    y = view(result, (outer, extent))
    data = view(x, (outer, extent))
    for row in range(outer):
        total = start
        for i in range(extent):
            following = combine(total, data[row, first + step * i])
            y[row, first + step * i] = chosen(total, following)
            total = following
    return result


@te.hybrid.script
def across_rows(
    x: Any,
    shape: Any,
    outer: Any,
    extent: Any,
    inner: Any,
    begins: Any,
    first: Any,
    step: Any,
    dtype: Any,
    late: Any,
    begin: Any,
    combine: Any,
) -> Any:
    """Along the middle axis of views (outer, extent, inner) of x and the result, for vectors of the last one.

    What is written is that of the step before, combined with the element of `late` steps before, 0 or 1; at first
    `begin(element)`. `begins` is 1, or 0 where the axis has no elements.
    """
    result = output_tensor(shape, dtype)
    y = view(result, (outer, extent, inner))
    data = view(x, (outer, extent, inner))
    for row in range(outer):
        for _ in range(begins):
            for k in vectorize(inner):
                y[row, first, k] = begin(data[row, first, k])
        for i in range(1, extent):
            for k in vectorize(inner):
                y[row, first + step * i, k] = combine(
                    y[row, first + step * (i - 1), k], data[row, first + step * (i - late), k]
                )
    return result
