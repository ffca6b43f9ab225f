"""Poolings of one to three spatial axes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from ...dialects.relay.elementwise import PowerOp
from ...dialects.relay.pooling import SPATIAL
from ...dialects.relay.scatter import ScatterElementsOp
from ...dialects.sizes import proves, same_shape, symbols_of
from ..importing.attributes import Flag, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, absolute, sqrt
from ..meanings import pads, pools
from ..meanings.windows import Sizes, Window
from .context import Context
from .known import filled_value
from .window import explicit_pads, image_of, window


def _window(ctx: Context, image: Sizes) -> tuple[Window, Sizes]:
    """The window, and how far the last one reaches beyond the image and its padding."""
    # Beside another auto_pad than NOTSET, onnxruntime's poolings do not look at pads.
    ctx.ignore("pads")
    sliding = window(ctx, image, ctx.ints("kernel_shape", count=len(image), least=1))
    spans = [d * (size - 1) + 1 for d, size in zip(sliding.dilation, sliding.kernel, strict=True)]
    if any(proves(pad, ">=", span) for pad, span in zip(sliding.padding, spans + spans, strict=True)):
        # A window of padding only has no element.
        ctx.fail(f"pads smaller than the window, {spans}", str(list(sliding.padding)))
    return sliding, sliding.outgrowth(image) if ctx.is_one("ceil_mode") else _shortfall(ctx, sliding, image)


def _shortfall(ctx: Context, window: Window, image: Sizes) -> Sizes:
    """Return how far the only window of each axis reaches beyond a padded image that is smaller.

    There is one where less than a stride is missing, as onnxruntime divides towards zero; else there is none. An
    image of symbolic size has to be as large as a window, which the program asks of every call.
    """

    def missing(axis: int) -> int:
        span = window.dilation[axis] * (window.kernel[axis] - 1) + 1
        lack = span - (image[axis] + window.before[axis] + window.after[axis])
        if proves(lack, "<=", 0):
            return 0
        if symbols_of(lack):
            ctx.require(-lack)
            return 0
        return lack if lack < window.strides[axis] else 0

    return tuple(missing(axis) for axis in range(len(image)))


def _max_pool(ctx: Context, x: Term) -> Term | tuple[Term, Term]:
    sliding, beyond = _window(ctx, image_of(ctx))
    if not any(ctx.node.output[1:]):
        return pools.pool(pools.MAX, x, sliding.longer(beyond))
    columns_first = ctx.flag("storage_order", others=None)
    return pools.max_pool_with_places(x, sliding.longer(beyond), int(columns_first))


def _nhwc_max_pool(ctx: Context, x: Term) -> Term:
    """The largest elements, of data whose channels come last."""
    rank = len(image_of(ctx))
    sliding, beyond = _window(ctx, x.shape[1:-1])
    return pools.pool(pools.MAX, x, sliding.longer(beyond), f"N{SPATIAL[rank]}C")


def _avg_pool(ctx: Context, x: Term, counts_padding: bool) -> Term:
    return pools.avg_pool(x, *_window(ctx, image_of(ctx)), counts_padding)


def _power(x: Term, p: int) -> Term:
    """|x| ** p."""
    return x * x if p == 2 else absolute(x) if p == 1 else absolute(x).apply(PowerOp, p)


def _root(total: Term, p: int) -> Term:
    """total ** (1 / p)."""
    return sqrt(total) if p == 2 else total if p == 1 else total.apply(PowerOp, 1 / p)


def _lp_pool(ctx: Context, x: Term, p: int) -> Term:
    """The root of the window's sum of powers."""
    sliding, beyond = _window(ctx, image_of(ctx))
    return _root(pools.sum_pool(_power(x, p), sliding.longer(beyond)), p)


def _image_axes(x: Term) -> Sizes:
    if len(x.shape) < 3:
        x.ctx.fail("an input of at least 3 dimensions", f"shape {list(x.shape)}")
    return tuple(range(2, len(x.shape)))


def _global_lp_pool(x: Term, p: int) -> Term:
    """The root of the image's sum of powers."""
    return _root(_power(x, p).sum(*_image_axes(x)), p)


def _global(largest: bool) -> Callable[[Term], Term]:
    def pooled(x: Term) -> Term:
        _image_axes(x)
        return pools.global_pool(x, largest)

    return pooled


def _max_unpool(ctx: Context, x: Term, at: Term, wanted: Sizes | None = None) -> Term:
    """Zeros with each element at its place in the pooled image; a larger `output_shape` has it at its beginning."""
    image = image_of(ctx)
    rank = len(image)
    kernel, strides = ctx.ints("kernel_shape", count=rank, least=1), ctx.ints("strides", 1, count=rank, least=1)
    before, after = explicit_pads(ctx, rank)
    columns = zip(image, kernel, strides, before, after, strict=True)
    whole = (*x.shape[:2], *((extent - 1) * s + k - a - b for extent, k, s, a, b in columns))
    zeros = Term(ctx, filled_value(ctx, np.zeros((), x.dtype), (prod(whole),), "zeros"))
    count = prod(x.shape)
    result = zeros.apply(ScatterElementsOp, at.reshape(count), x.reshape(count)).reshape(*whole)
    if wanted is None or same_shape(wanted, whole):
        return result
    for a, b in zip(wanted, whole, strict=False):
        ctx.require_least(a, b, f"whether {a} are {b}")
    if len(wanted) != len(whole) or any(proves(a, "<", b) for a, b in zip(wanted, whole, strict=True)):
        ctx.fail(f"an output shape of at least {list(whole)}", str(list(wanted)))
    return pads.padded(result, [(0, a - b) for a, b in zip(wanted, whole, strict=True)])


_P = Int(2)
TABLE: dict[str, Converter[Context]] = {
    "AveragePool": row(_avg_pool, "X", counts_padding=Flag(False, name="count_include_pad")),
    "GlobalAveragePool": row(_global(largest=False), "X"),
    "GlobalLpPool": row(_global_lp_pool, "X", p=_P),
    "GlobalMaxPool": row(_global(largest=True), "X"),
    "LpPool": row(_lp_pool, "X", p=_P),
    "MaxPool": row(_max_pool, "X", unread={"storage_order": "of the indices alone, which read it"}),
    "MaxUnpool": row(_max_unpool, "X I output_shape:ints?"),
}
MICROSOFT = {"NhwcMaxPool": row(_nhwc_max_pool, "x")}
