"""Loops that carry a sum or product along, as hybrid scripts on views of tensors.

The outermost loop of each may run in parallel.

The element at step i is that at `first + step * i`. `combine(total, element)` is the next total; `chosen(total, next)`
what is written.
"""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def along_rows(
    x: Any, outer: Any, extent: Any, first: Any, step: Any, dtype: Any, start: Any, combine: Any, chosen: Any
) -> Any:
    """Along the last axis of a view (outer, extent)."""
    y = output_tensor((outer, extent), dtype)
    data = view(x, (outer, extent))
    for row in range(outer):
        total = start
        for i in range(extent):
            following = combine(total, data[row, first + step * i])
            y[row, first + step * i] = chosen(total, following)
            total = following
    return y


@te.hybrid.script
def across_rows(
    x: Any,
    outer: Any,
    extent: Any,
    inner: Any,
    first: Any,
    step: Any,
    dtype: Any,
    start: Any,
    combine: Any,
    chosen: Any,
) -> Any:
    """Along the middle axis of a view (outer, extent, inner), for vectors of the last one."""
    y = output_tensor((outer, extent, inner), dtype)
    totals = allocate((outer, inner), dtype, "global")
    data = view(x, (outer, extent, inner))
    for row in range(outer):
        for k in vectorize(inner):
            totals[row, k] = start
        for i in range(extent):
            for k in vectorize(inner):
                y[row, first + step * i, k] = chosen(
                    totals[row, k], combine(totals[row, k], data[row, first + step * i, k])
                )
                totals[row, k] = combine(totals[row, k], data[row, first + step * i, k])
    return y
