"""Loops over the boxes of detectors, as hybrid scripts. The outermost loop of each may run in parallel."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def valid_boxes(data: Any, least: Any, holds: Any) -> Any:
    """`holds(data, least, batch, box)` says which boxes stay."""
    count = output_tensor((data.shape[0],), "int32")
    boxes = output_tensor(data.shape, data.dtype)
    indices = output_tensor((data.shape[0], data.shape[1]), "int32")
    for b in range(data.shape[0]):
        found = int64(0)
        for n in range(data.shape[1]):
            if holds(data, least, b, n):
                for k in range(data.shape[2]):
                    boxes[b, found, k] = data[b, n, k]
                indices[b, found] = n
                found += 1
        count[b] = found
        while found < data.shape[1]:
            for k in range(data.shape[2]):
                boxes[b, found, k] = -1.0
            indices[b, found] = -1
            found += 1
    return count, boxes, indices


@te.hybrid.script
def surviving(data: Any, order: Any, valid: Any, most: Any, iou: Any, columns: Any, covers: Any) -> Any:
    """For each place of a result the number of the box there, -1 for none.

    columns: of the score and of the first of four coordinates, and how many boxes are looked at, if that is above 0.
    `covers(data, batch, kept, box)` says whether a kept box may cover another one.
    """
    places = output_tensor((data.shape[0], data.shape[1]), "int64")
    for b in range(data.shape[0]):
        count = min(max(int64(valid[b]), 0), data.shape[1])
        for j in range(data.shape[1]):
            places[b, j] = int64(-1)
        if iou[0] > 0.0:
            found = int64(0)
            last = min(count, columns[2]) if columns[2] > 0 else count
            j = int64(0)
            while j < last:
                box = order[b, min(j, data.shape[1] - 1)]
                free = int64(1)
                if found == most[0]:
                    free = int64(0)
                else:
                    if data[b, box, columns[0]] > 0.0:
                        left = min(data[b, box, columns[1]], data[b, box, columns[1] + 2])
                        right = max(data[b, box, columns[1]], data[b, box, columns[1] + 2])
                        top = min(data[b, box, columns[1] + 1], data[b, box, columns[1] + 3])
                        bottom = max(data[b, box, columns[1] + 1], data[b, box, columns[1] + 3])
                        k = int64(0)
                        while k < j:
                            other = max(places[b, k], 0)
                            if places[b, k] >= 0 and covers(data, b, other, box):
                                x0 = min(data[b, other, columns[1]], data[b, other, columns[1] + 2])
                                x1 = max(data[b, other, columns[1]], data[b, other, columns[1] + 2])
                                y0 = min(data[b, other, columns[1] + 1], data[b, other, columns[1] + 3])
                                y1 = max(data[b, other, columns[1] + 1], data[b, other, columns[1] + 3])
                                width = max(min(right, x1) - max(left, x0), 0.0)
                                height = max(min(bottom, y1) - max(top, y0), 0.0)
                                shared = width * height
                                union = (right - left) * (bottom - top) + (x1 - x0) * (y1 - y0) - shared
                                if union > 0.0 and shared / union >= iou[0]:
                                    free = int64(0)
                                    k = j
                            k += 1
                        found += free
                if free > 0:
                    places[b, j] = box
                j += 1
        else:
            for j in range(data.shape[1]):
                if j < count:
                    places[b, j] = int64(j)
    return places


@te.hybrid.script
def compacted(values: Any) -> Any:
    """In each row what is not negative first, in order, -1 behind; and how many there are."""
    out = output_tensor(values.shape, values.dtype)
    number = output_tensor((values.shape[0], 1), "int32")
    for b in range(values.shape[0]):
        found = int64(0)
        for n in range(values.shape[1]):
            if values[b, n] >= 0:
                out[b, found] = values[b, n]
                found += 1
        number[b, 0] = found
        while found < values.shape[1]:
            out[b, found] = -1
            found += 1
    return out, number


@te.hybrid.script
def likeliest(chances: Any, boxes: Any, threshold: Any) -> Any:
    """Class, chance and box of what is no background, and how many there are."""
    rows = output_tensor((boxes.shape[0], boxes.shape[1], 6), chances.dtype)
    count = output_tensor((boxes.shape[0],), "int32")
    for b in range(boxes.shape[0]):
        found = int64(0)
        for n in range(boxes.shape[1]):
            best = chances[b, 1, n]
            kind = int64(0)
            for c in range(chances.shape[1] - 1):
                if chances[b, c + 1, n] > best:
                    best = chances[b, c + 1, n]
                    kind = int64(c)
            if best > -1.0 and best >= threshold:
                rows[b, found, 0] = kind
                rows[b, found, 1] = best
                for k in range(4):
                    rows[b, found, k + 2] = boxes[b, n, k]
                found += 1
        count[b] = found
        while found < boxes.shape[1]:
            for k in range(6):
                rows[b, found, k] = -1.0
            found += 1
    return rows, count
