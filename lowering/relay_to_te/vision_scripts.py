"""Loops over regions and boxes, as hybrid scripts. The outermost loop of each may run in parallel."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def roi_align(
    data: Any, rois: Any, sizes: Any, ratio: Any, scale: Any, half: Any, narrowest: Any, average: Any, whole: Any
) -> Any:
    """Channels are the last axis of `data`, and of the result: what a sample weighs is computed once for all of them.

    sizes: of the bins; ratio: samples per axis, 0 for one per pixel; half: 0.5 if pixels are centred there.

    average: of samples, not the greatest. whole: samples are sums of four weighted pixels, not the greatest of them.
    """
    out = output_tensor((rois.shape[0], sizes[0], sizes[1], data.shape[3]), data.dtype)
    for r in range(rois.shape[0]):
        image = min(max(int64(rois[r, 0]), 0), data.shape[0] - 1)
        left = rois[r, 1] * scale - half
        top = rois[r, 2] * scale - half
        width = max(rois[r, 3] * scale - half - left, narrowest) / sizes[1]
        height = max(rois[r, 4] * scale - half - top, narrowest) / sizes[0]
        rows = int64(ratio)
        columns = int64(ratio)
        if rows < 1:
            rows = int64(ceil(max(height, 0.0)))
            columns = int64(ceil(max(width, 0.0)))
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                for c in vectorize(data.shape[3]):
                    out[r, i, j, c] = float32(0.0)
                seen = int64(0)
                a = int64(0)
                while a < rows:
                    y = top + height * (float32(a) + 0.5) / float32(rows) + height * float32(i)
                    inside = y >= -1.0 and y <= data.shape[1] * 1.0
                    y = min(max(y, 0.0), (data.shape[1] - 1) * 1.0)
                    y0 = int64(y)
                    fy = y - float32(y0)
                    y1 = min(y0 + 1, data.shape[1] - 1)
                    b = int64(0)
                    while b < columns:
                        x = left + width * (float32(b) + 0.5) / float32(columns) + width * float32(j)
                        here = inside and x >= -1.0 and x <= data.shape[2] * 1.0
                        x = min(max(x, 0.0), (data.shape[2] - 1) * 1.0)
                        x0 = int64(x)
                        fx = x - float32(x0)
                        x1 = min(x0 + 1, data.shape[2] - 1)
                        ratio_p = (1.0 - fy) * (1.0 - fx)
                        ratio_q = (1.0 - fy) * fx
                        ratio_s = fy * (1.0 - fx)
                        ratio_t = fy * fx
                        kept = float32(1.0) if here else float32(0.0)
                        for c in vectorize(data.shape[3]):
                            p = data[image, y0, x0, c] * ratio_p
                            q = data[image, y0, x1, c] * ratio_q
                            s = data[image, y1, x0, c] * ratio_s
                            t = data[image, y1, x1, c] * ratio_t
                            value = (p + q + s + t if whole else max(max(p, q), max(s, t))) * kept
                            if average:
                                out[r, i, j, c] = out[r, i, j, c] + value
                            else:
                                out[r, i, j, c] = value if seen == 0 else max(out[r, i, j, c], value)
                        seen += 1
                        b += 1
                    a += 1
                if average:
                    count = float32(max(seen, 1))
                    for c in vectorize(data.shape[3]):
                        out[r, i, j, c] = out[r, i, j, c] / count
    return out


@te.hybrid.script
def roi_pool(data: Any, rois: Any, sizes: Any, scale: Any) -> Any:
    out = output_tensor((rois.shape[0], data.shape[1], sizes[0], sizes[1]), data.dtype)
    for r in range(rois.shape[0]):
        image = min(max(int64(rois[r, 0]), 0), data.shape[0] - 1)
        left = int64(floor(rois[r, 1] * scale + 0.5))
        top = int64(floor(rois[r, 2] * scale + 0.5))
        width = float32(max(int64(floor(rois[r, 3] * scale + 0.5)) - left + 1, 1)) / sizes[1]
        height = float32(max(int64(floor(rois[r, 4] * scale + 0.5)) - top + 1, 1)) / sizes[0]
        for c in range(data.shape[1]):
            for i in range(sizes[0]):
                first = min(max(int64(floor(height * float32(i))) + top, 0), data.shape[2])
                last = min(max(int64(ceil(height * float32(i + 1))) + top, 0), data.shape[2])
                for j in range(sizes[1]):
                    begin = min(max(int64(floor(width * float32(j))) + left, 0), data.shape[3])
                    end = min(max(int64(ceil(width * float32(j + 1))) + left, 0), data.shape[3])
                    best = data[image, c, min(first, data.shape[2] - 1), min(begin, data.shape[3] - 1)]
                    if first >= last or begin >= end:
                        best = best * 0.0
                    y = first
                    while y < last:
                        x = begin
                        while x < end:
                            best = max(best, data[image, c, y, x])
                            x += 1
                        y += 1
                    out[r, c, i, j] = best
    return out


@te.hybrid.script
def suppress(corners: Any, scores: Any, order: Any, most: Any, iou: Any, least: Any, bound: Any, overlaps: Any) -> Any:
    """The boxes that are kept of each class, (batch * classes, bound), and how many.

    corners (batch, 5, boxes): lower and upper corner, area. `overlaps(box, kept, iou)`: 1 where that is too much, of
    the five numbers of each. A box meets eight kept ones at a time; where there are none yet, nothing overlaps.
    """
    kept = output_tensor((scores.shape[0] * scores.shape[1], bound), "int64")
    counts = output_tensor((scores.shape[0] * scores.shape[1],), "int64")
    chosen = allocate((scores.shape[0] * scores.shape[1], 5, bound + 8), corners.dtype, "global")
    for row in range(scores.shape[0] * scores.shape[1]):
        hits = allocate((8,), "float32", "local")
        own = allocate((5,), corners.dtype, "local")
        for j in range(bound + 8):
            chosen[row, 0, j] = 1e30
            chosen[row, 1, j] = 1e30
            chosen[row, 2, j] = -1e30
            chosen[row, 3, j] = -1e30
            chosen[row, 4, j] = 0.0
        batch = row // scores.shape[1]
        found = int64(0)
        limit = min(max(most[0], 0), bound)
        i = int64(0)
        while i < scores.shape[2] and found < limit:
            box = order[row, min(i, scores.shape[2] - 1)]
            i += 1
            if scores[batch, row % scores.shape[1], box] > least[0]:
                for k in range(5):
                    own[k] = corners[batch, k, box]
                j = int64(0)
                free = int64(1)
                while j < found:
                    for q in vectorize(8):
                        hits[q] = overlaps(own, chosen, row, j + q, iou)
                    some = max(max(hits[0], hits[1]), max(hits[2], hits[3]))
                    some = max(some, max(max(hits[4], hits[5]), max(hits[6], hits[7])))
                    j += 8
                    if some > 0.0:
                        free = int64(0)
                        j = found
                if free > 0:
                    for k in range(5):
                        chosen[row, k, found] = own[k]
                    kept[row, found] = box
                    found += 1
            else:
                # The scores descend.
                i = int64(scores.shape[2])
        counts[row] = found
    return kept, counts


@te.hybrid.script
def suppress_softly(corners: Any, scores: Any, iou: Any, least: Any, scale: Any, bound: Any) -> Any:
    """The boxes that are taken, their lowered scores, and how many.

    corners (1, 5, boxes): lower and upper corner, area. A box that is out has the least score.
    """
    taken = output_tensor((bound,), "int64")
    lowered = output_tensor((bound,), scores.dtype)
    number = output_tensor((), "int64")
    left = allocate((scores.shape[0],), scores.dtype, "global")
    for j in range(scores.shape[0]):
        left[j] = scores[j]
    for k in range(bound):
        taken[k] = int64(0)
        lowered[k] = scores[0] * 0.0
    found = int64(0)
    going = int64(1)
    while found < bound and going > 0:
        best = int64(-1)
        top = least[0]
        for j in range(scores.shape[0]):
            if left[j] > top:
                top = left[j]
                best = int64(j)
        if best < 0:
            going = int64(0)
        else:
            taken[found] = best
            lowered[found] = top
            left[best] = least[0]
            found += 1
            for j in range(scores.shape[0]):
                if left[j] > least[0]:
                    height = min(corners[0, 2, j], corners[0, 2, best]) - max(corners[0, 0, j], corners[0, 0, best])
                    width = min(corners[0, 3, j], corners[0, 3, best]) - max(corners[0, 1, j], corners[0, 1, best])
                    shared = max(height, 0.0) * max(width, 0.0)
                    union = corners[0, 4, j] + corners[0, 4, best] - shared
                    overlap = shared / union if shared > 0.0 and union > 0.0 else shared * 0.0
                    if overlap >= iou[0]:
                        left[j] = least[0]
                    else:
                        left[j] = left[j] * exp(scale[0] * overlap * overlap)
    number[()] = found
    return taken, lowered, number


@te.hybrid.script
def gathered(kept: Any, counts: Any, classes: Any) -> Any:
    """The points (batch, class, box) of all that are kept, one after the other, and how many."""
    points = output_tensor((kept.shape[0] * kept.shape[1], 3), "int64")
    number = output_tensor((), "int64")
    found = int64(0)
    for row in range(kept.shape[0]):
        i = int64(0)
        while i < counts[row]:
            points[found, 0] = row // classes
            points[found, 1] = row % classes
            points[found, 2] = kept[row, i]
            found += 1
            i += 1
    number[()] = found
    while found < kept.shape[0] * kept.shape[1]:
        points[found, 0] = 0
        points[found, 1] = 0
        points[found, 2] = 0
        found += 1
    return points, number
