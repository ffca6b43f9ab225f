"""Pools: the largest element or the average of windows that slide over images, or of whole images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ...dialects.relay import pooling
from ...dialects.relay.attributes import Value
from ...dialects.relay.operator import Operator
from ...dialects.relay.pooling import SPATIAL, GlobalAvgPool2DOp, GlobalMaxPool2DOp
from ...dialects.relay.reduce import MaxOp, MeanOp
from ...dialects.relay.window_indices import MaxPoolWithArgmaxOp
from ...dialects.sizes import same
from ..importing.terms import Term
from . import pads
from .windows import Sizes, Window

ByRank = Mapping[int, type[Operator]]
MAX: ByRank = {1: pooling.MaxPool1DOp, 2: pooling.MaxPool2DOp, 3: pooling.MaxPool3DOp}
AVERAGE: ByRank = {1: pooling.AvgPool1DOp, 2: pooling.AvgPool2DOp, 3: pooling.AvgPool3DOp}
ADAPTIVE_MAX: ByRank = {
    1: pooling.AdaptiveMaxPool1DOp,
    2: pooling.AdaptiveMaxPool2DOp,
    3: pooling.AdaptiveMaxPool3DOp,
}
ADAPTIVE_AVERAGE: ByRank = {
    1: pooling.AdaptiveAvgPool1DOp,
    2: pooling.AdaptiveAvgPool2DOp,
    3: pooling.AdaptiveAvgPool3DOp,
}


def pool(ops: ByRank, x: Term, window: Window, layout: str = "", **more: Value) -> Term:
    """An operator on each window, in which padding does not count; channels first by default."""
    return x.apply(
        ops[len(window.kernel)],
        pool_size=window.kernel,
        strides=window.strides,
        dilation=window.dilation,
        padding=window.padding,
        layout=layout or f"NC{SPATIAL[len(window.kernel)]}",
        **more,
    )


def max_pool_with_places(x: Term, window: Window, storage_order: int = 0) -> tuple[Term, Term]:
    """The largest elements, and their places among all elements of all images.

    storage_order: 1 where the places count a channel of two axes column by column.
    """
    results = x.ctx.emit_all(
        MaxPoolWithArgmaxOp,
        x.value,
        pool_size=window.kernel,
        strides=window.strides,
        dilation=window.dilation,
        padding=window.padding,
        storage_order=storage_order,
    )
    return Term(x.ctx, results[0]), Term(x.ctx, results[1])


def avg_pool(x: Term, window: Window, beyond: Sizes, counts_padding: bool) -> Term:
    """The average of each window, of images whose channels come first.

    beyond: how far the last window reaches beyond the padded image; what is there is never part of an average. Padding
    that counts beside it is made a part of the image.
    """
    if counts_padding and _wide(beyond):
        x, window, counts_padding = padded(x, window), window.without_padding(), False
    counts = counts_padding and _wide(window.padding)
    return pool(AVERAGE, x, window.longer(beyond), count_include_pad=counts)


def sum_pool(x: Term, window: Window, divisor: float = 1.0, layout: str = "") -> Term:
    """The sum of each window over a divisor: by its average, in which padding counts as zeros."""
    mean = pool(AVERAGE, x, window, layout, count_include_pad=True)
    return mean * (prod(window.kernel) / divisor)


def padded(x: Term, window: Window) -> Term:
    """Images whose channels come first, with zeros where a window has padding."""
    return pads.padded(x, [(0, 0), (0, 0), *zip(window.before, window.after, strict=True)])


def _wide(padding: Sizes) -> bool:
    return any(not same(width, 0) for width in padding)


def global_pool(x: Term, largest: bool, layout: str = "", keepdims: bool = True) -> Term:
    """The largest element, or the average, of each channel of an image of any rank."""
    rank = len(x.shape) - 2
    axes = tuple(range(1, rank + 1) if layout.endswith("C") else range(2, rank + 2))
    if rank != 2:
        return x.apply(MaxOp if largest else MeanOp, axis=axes, keepdims=keepdims)
    result = x.apply(GlobalMaxPool2DOp if largest else GlobalAvgPool2DOp, layout=layout or "NCHW")
    return result if keepdims else result.reshape(*(n for at, n in enumerate(x.shape) if at not in axes))


def adaptive_pool(ops: ByRank, x: Term, size: Sequence[int], layout: str = "") -> Term:
    """A pooling to a size, whose windows may overlap by an element."""
    return x.apply(ops[len(size)], output_size=tuple(size), layout=layout or f"NC{SPATIAL[len(size)]}")
