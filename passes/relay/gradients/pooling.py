"""Gradients of poolings over images, `NCHW`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from xdsl.ir import SSAValue

from ....dialects.element_types import numpy_dtype
from ....dialects.relay.core import ConstantOp
from ....dialects.relay.dilation import DilateOp
from ....dialects.relay.elementwise import AddOp, EqualOp, LogicalNotOp
from ....dialects.relay.logic import LogicalAndOp, LogicalOrOp
from ....dialects.relay.numerics import lowest
from ....dialects.relay.operator import Operator, element_of, shape_of
from ....dialects.relay.pooling import (
    AvgPool2DOp,
    GlobalAvgPool2DOp,
    GlobalMaxPool2DOp,
    MaxPool2DOp,
    Window,
    WindowedPool,
)
from ....dialects.relay.reduce import SumOp
from ....dialects.relay.transform import PadOp
from .site import Gradients, Rule, Site


def _windows(s: Site) -> list[Window]:
    if s.sig.str("layout") != "NCHW":
        s.sig.fail("layout NCHW, to take a gradient", s.sig.str("layout"))
    assert isinstance(s.op, WindowedPool)
    return s.op.windows(s.sig)


def _reach(window: Window, extent: int) -> int:
    """The extent of the padded image that all windows, and the image, are within."""
    last = (window.count - 1) * window.stride + window.dilation * (window.size - 1) + 1
    return max(last, window.before + extent)


def _padded(s: Site, windows: Sequence[Window], fill: float) -> SSAValue:
    """The image with all that windows reach."""
    image = shape_of(s.x)[2:]
    width = [0, 0, 0, 0]
    for window, extent in zip(windows, image, strict=True):
        width += [window.before, _reach(window, extent) - window.before - extent]
    if not any(width):
        return s.x
    return s.add(PadOp(s.x, s.scalar(fill, s.x), pad_width=width))


def _spread(s: Site, windows: Sequence[Window], parts: dict[tuple[int, ...], SSAValue]) -> SSAValue:
    """The image of which each part lies where the windows have the element of that place, all added up."""
    image = shape_of(s.x)[2:]
    total: SSAValue | None = None
    for offset, part in parts.items():
        strides = [window.stride for window in windows]
        grad = part if strides == [1, 1] else s.add(DilateOp(part, strides=[1, 1, *strides]))
        width = [0, 0, 0, 0]
        for at, window, extent, now in zip(offset, windows, image, shape_of(grad)[2:], strict=True):
            start = at * window.dilation
            width += [start, _reach(window, extent) - start - now]
        laid = s.add(PadOp(grad, s.scalar(0.0, grad), pad_width=width)) if any(width) else grad
        total = laid if total is None else s.add(AddOp(total, laid))
    assert total is not None
    begin = [0, 0, *(window.before for window in windows)]
    end = [*shape_of(s.x)[:2], *(window.before + extent for window, extent in zip(windows, image, strict=True))]
    return total if shape_of(total) == shape_of(s.x) else s.cut(total, begin, end)


def _places(windows: Sequence[Window]) -> list[tuple[int, ...]]:
    return list(product(*(range(window.size) for window in windows)))


def _max_pool(s: Site, g: Sequence[SSAValue]) -> Gradients:
    """The first of the greatest elements of a window gets its gradient."""
    windows = _windows(s)
    padded = _padded(s, windows, float(lowest(np.dtype(numpy_dtype(element_of(s.x))))))
    zeros, claimed = s.zeros(g[0]), None
    parts: dict[tuple[int, ...], SSAValue] = {}
    for offset in _places(windows):
        begin = [0, 0, *(at * w.dilation for at, w in zip(offset, windows, strict=True))]
        ends = [b + (w.count - 1) * w.stride + 1 for b, w in zip(begin[2:], windows, strict=True)]
        steps = [1, 1, *(w.stride for w in windows)]
        hit = s.add(EqualOp(s.cut(padded, begin, [*shape_of(s.x)[:2], *ends], steps), s.y))
        first = hit if claimed is None else s.add(LogicalAndOp(hit, s.add(LogicalNotOp(claimed))))
        claimed = hit if claimed is None else s.add(LogicalOrOp(claimed, hit))
        parts[offset] = s.where(first, g[0], zeros)
    return [_spread(s, windows, parts)]


def _avg_pool(s: Site, g: Sequence[SSAValue]) -> Gradients:
    windows, padded = _windows(s), bool(s.sig.get("count_include_pad"))
    rows, columns = (
        np.maximum(window.elements(extent, padded), 1)
        for window, extent in zip(windows, shape_of(s.x)[2:], strict=True)
    )
    counts = (rows[:, None] * columns[None, :]).astype(numpy_dtype(element_of(s.x)))
    part = s.div(g[0], s.add(ConstantOp.of(counts, s.module, "counts")))
    return [_spread(s, windows, dict.fromkeys(_places(windows), part))]


def _global_avg_pool(s: Site, g: Sequence[SSAValue]) -> Gradients:
    axes = GlobalAvgPool2DOp.image_axes(s.sig)
    count = float(np.prod([shape_of(s.x)[axis] for axis in axes]))
    return [s.broadcast(s.div(g[0], count), shape_of(s.x))]


def _global_max_pool(s: Site, g: Sequence[SSAValue]) -> Gradients:
    axes = list(GlobalMaxPool2DOp.image_axes(s.sig))
    zeros, ones = s.zeros(s.x), s.plus(s.zeros(s.x), 1.0)
    hits = s.where(s.add(EqualOp(s.x, s.broadcast(s.y, shape_of(s.x)))), ones, zeros)
    number = s.add(SumOp(hits, axis=axes, keepdims=True))
    return [s.mul(hits, s.div(g[0], number))]


RULES: dict[type[Operator], Rule] = {
    MaxPool2DOp: _max_pool,
    AvgPool2DOp: _avg_pool,
    GlobalAvgPool2DOp: _global_avg_pool,
    GlobalMaxPool2DOp: _global_max_pool,
}
