"""Loops that sort, as hybrid scripts. Rows are those of a view (outer, extent, inner) of a tensor, along `extent`.

`before(a, b)` says whether the number `a` comes before `b`, so that equals keep their order. Numbers are compared as
`key` makes them. The outermost loop of each script may run in parallel.
"""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def merge_sort(x: Any, outer: Any, extent: Any, inner: Any, dtype: Any, key: Any, before: Any) -> Any:
    """The indices that sort each row: runs of 1, 2, 4, .. are merged, from one half of the buffers to the other."""
    order = output_tensor((outer * inner, extent), "int64")
    keys = allocate((2 * outer * inner * extent,), dtype, "global")
    places = allocate((2 * outer * inner * extent,), "int64", "global")
    data = view(x, (outer, extent, inner))
    for row in range(outer * inner):
        for i in range(extent):
            keys[row * extent + i] = key(data[row // inner, i, row % inner])
            places[row * extent + i] = i
        width = int64(1)
        # Where the row begins in the half that is read, and in the one that is written.
        source = int64(row) * extent
        target = source + outer * inner * extent
        while width < extent:
            low = int64(0)
            while low < extent:
                to = target + low
                left = source + low
                middle = source + min(low + width, extent)
                right = middle
                high = source + min(low + width * 2, extent)
                while left < middle and right < high:
                    swap = before(keys[right], keys[left])
                    # By its place, which is chosen without a branch.
                    chosen = right if swap else left
                    keys[to] = keys[chosen]
                    places[to] = places[chosen]
                    right += int64(swap)
                    left += 1 - int64(swap)
                    to += 1
                while left < middle:
                    keys[to] = keys[left]
                    places[to] = places[left]
                    left += 1
                    to += 1
                while right < high:
                    keys[to] = keys[right]
                    places[to] = places[right]
                    right += 1
                    to += 1
                low += width * 2
            width = width * 2
            other = source
            source = target
            target = other
        for i in range(extent):
            order[row, i] = places[source + i]
    return order


@te.hybrid.script
def heap_select(x: Any, outer: Any, extent: Any, inner: Any, count: Any, dtype: Any, key: Any, before: Any) -> Any:
    """The indices of the first `count` of each row, sorted: the last of those found so far is the root of a heap."""
    order = output_tensor((outer * inner, count), "int64")
    keys = allocate((outer * inner, count), dtype, "global")
    data = view(x, (outer, extent, inner))
    for row in range(outer * inner):
        for i in range(count):
            # The heap grows: up from a leaf, as long as the parent, which is no later one, does not come behind.
            value = key(data[row // inner, i, row % inner])
            at = int64(i)
            parent = (at - 1) // 2
            while at > 0 and not before(value, keys[row, max(parent, 0)]):
                keys[row, at] = keys[row, parent]
                order[row, at] = order[row, parent]
                at = parent
                parent = (at - 1) // 2
            keys[row, at] = value
            order[row, at] = i
        size = int64(count)
        i = int64(count)
        while size > 0:
            last = keys[row, 0]
            while i < extent and not before(key(data[row // inner, min(i, extent - 1), row % inner]), last):
                i += 1
            value = last
            place = i
            if i < extent:
                # A better one takes the place of the last.
                value = key(data[row // inner, i, row % inner])
                i += 1
            else:
                # All were seen: the last goes to the end, and the heap shrinks.
                size -= 1
                value = keys[row, size]
                place = order[row, size]
                keys[row, size] = last
                order[row, size] = order[row, 0]
            at = int64(0)
            child = int64(1)
            while child < size:
                beside = min(child + 1, size - 1)
                a = keys[row, child]
                b = keys[row, beside]
                if before(a, b) or (not before(b, a) and order[row, child] < order[row, beside]):
                    child = beside
                    a = b
                if before(value, a) or (not before(a, value) and place < order[row, child]):
                    keys[row, at] = a
                    order[row, at] = order[row, child]
                    at = child
                    child = at * 2 + 1
                else:
                    child = size
            keys[row, at] = value
            order[row, at] = place
    return order


@te.hybrid.script
def insertion_sort_rows(x: Any, rows: Any, width: Any, before: Any) -> Any:
    """The indices that sort whole rows of `x` (rows, width), by their first elements that differ."""
    order = output_tensor((rows,), "int64")
    for once in range(1):
        for i in range(rows):
            at = int64(i)
            rises = at > 0
            while rises:
                column = int64(0)
                above = order[at - 1]
                while column < width - 1 and x[above, column] == x[i, column]:
                    column += 1
                rises = before(x[i, column], x[above, column])
                if rises:
                    order[at] = above
                    at -= 1
                    rises = at > 0
            order[at] = i + once
    return order


@te.hybrid.script
def distinct(x: Any, order: Any, rows: Any, width: Any, ascending: Any) -> Any:
    """Compute the further results of `relay.padded_unique`: first positions, inverse, counts, number. `order` sorts."""
    indices = output_tensor((rows,), "int64")
    inverse = output_tensor((rows,), "int64")
    counts = output_tensor((rows,), "int64")
    number = output_tensor((), "int64")
    first = allocate((rows,), "int64", "global")
    place = allocate((rows,), "int64", "global")
    for i in range(rows):
        indices[i] = 0
        counts[i] = 0
    found = int64(0)
    for i in range(rows):
        here = order[i]
        column = int64(0)
        if i > 0:
            above = order[i - 1]
            while column < width and x[above, min(column, width - 1)] == x[here, min(column, width - 1)]:
                column += 1
        # Those that are equal follow one another, the one that appears first before the others.
        again = i > 0 and column == width
        first[here] = first[order[max(i - 1, 0)]] if again else here
        if not again:
            place[here] = found
            found += 1
    if ascending == 0:
        found = int64(0)
        for i in range(rows):
            if first[i] == i:
                place[i] = found
                found += 1
    number[()] = found
    for i in range(rows):
        inverse[i] = place[first[i]]
        indices[place[first[i]]] = first[i]
        counts[place[first[i]]] += 1
    return indices, inverse, counts, number


@te.hybrid.script
def binary_search(rows: Any, x: Any, outer: Any, extent: Any, inner: Any, goes_on: Any) -> Any:
    """For each of `x` (outer, inner) the number of those in its row before it, as `goes_on(theirs, its)` says."""
    place = output_tensor((outer, inner), "int64")
    data = view(rows, (outer, extent))
    wanted = view(x, (outer, inner))
    for i in range(outer):
        for j in range(inner):
            low = int64(0)
            high = int64(extent)
            while low < high:
                middle = (low + high) // 2
                if goes_on(data[i, middle], wanted[i, j]):
                    low = middle + 1
                else:
                    high = middle
            place[i, j] = low
    return place


@te.hybrid.script
def inverted(x: Any) -> Any:
    """Return the position of each index in a permutation `x` of one dimension."""
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = 0
    for i in range(x.shape[0]):
        y[min(max(x[i], 0), x.shape[0] - 1)] = i
    return y
