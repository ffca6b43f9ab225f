"""Loops of linear algebra, as hybrid scripts. Their outermost loop may run in parallel."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def determinants(x: Any, batch: Any, n: Any, dtype: Any, one: Any) -> Any:
    """Determinants of a view (batch, n, n): products of the pivots of Gauss's elimination with partial pivoting."""
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


@te.hybrid.script
def inverses(x: Any, batch: Any, n: Any, dtype: Any, one: Any) -> Any:
    """Inverses of a view (batch, n, n) by Gauss-Jordan elimination with partial pivoting."""
    y = output_tensor((batch, n, n), dtype)
    work = allocate((batch, n, n), dtype, "global")
    data = view(x, (batch, n, n))
    for b in range(batch):
        for i in range(n):
            for j in range(n):
                work[b, i, j] = data[b, i, j]
                y[b, i, j] = one if i == j else one * 0
        for k in range(n):
            pivot = int64(k)
            for i in range(k + 1, n):
                if te.abs(work[b, i, k]) > te.abs(work[b, pivot, k]):
                    pivot = int64(i)
            largest = work[b, pivot, k]
            for j in range(n):
                upper = work[b, k, j]
                work[b, k, j] = work[b, pivot, j] / largest
                lower = y[b, k, j]
                y[b, k, j] = y[b, pivot, j] / largest
                if pivot != k:
                    work[b, pivot, j] = upper
                    y[b, pivot, j] = lower
            for i in range(n):
                if i != k:
                    share = work[b, i, k]
                    for j in range(n):
                        work[b, i, j] = work[b, i, j] - share * work[b, k, j]
                        y[b, i, j] = y[b, i, j] - share * y[b, k, j]
    return y


@te.hybrid.script
def warped(x: Any, m: Any, n: Any, dtype: Any, wide: Any, infinite: Any) -> Any:
    """The path is found from its end, and turned about. Moves are 0 to the next row and column, 1 row, 2 column."""
    path = output_tensor((2, m + n - 1), "int32")
    number = output_tensor((1,), "int64")
    costs = allocate((m + 1, n + 1), dtype, "global")
    moves = allocate((m + 1, n + 1), "int32", "global")
    back = allocate((2, m + n - 1), "int32", "global")
    for i in range(m + 1):
        for j in range(n + 1):
            costs[i, j] = infinite
            moves[i, j] = 2
            if i > 0:
                moves[i, j] = 1
    costs[0, 0] = 0.0
    for i in range(m):
        for j in range(n):
            both = costs[i, j]
            down = costs[i, j + 1]
            right = costs[i + 1, j]
            cost = right
            move = 2
            if both < te.minimum(down, right):
                cost = both
                move = 0
            if down < te.minimum(both, right):
                cost = down
                move = 1
            costs[i + 1, j + 1] = wide(x[i, j]) + cost
            moves[i + 1, j + 1] = move
    row = int64(m)
    column = int64(n)
    count = int64(0)
    while row + column > 0:
        back[0, count] = int32(row - 1)
        back[1, count] = int32(column - 1)
        count = count + 1
        taken = moves[row, column]
        if taken != 2:
            row = row - 1
        if taken != 1:
            column = column - 1
    for k in range(m + n - 1):
        for side in range(2):
            path[side, k] = 0
            if k < count:
                path[side, k] = back[side, count - 1 - k]
    number[0] = count
    return path, number
