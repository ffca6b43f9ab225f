"""Winograd's convolutions: where they are faster than others, and the operators that compute them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...dialects.relay.convolution import CONV_LAYOUTS
from ...dialects.relay.nn import Conv, Conv2DOp
from ...dialects.relay.operator import shape_of
from ...dialects.relay.winograd import POINTS, TILE, WINDOW, WinogradConv2DOp, WinogradWeightTransformOp
from ...dialects.sizes import Size, SizeExpr
from .blocking import in_layouts, moved

_LEAST = 64
"""Channels from which on products take most of the time."""
_GAIN = 1.1
"""The ratio of times from which on weights of more bytes, and other rounding, are worth it."""
_PORTS = 2
"""Products of vectors that a core begins in a cycle."""
_ENDS = 24
"""Cycles that it takes to transform a vector of a tile's data, or to make one of its results."""
_BYTES = 4
"""Bytes of weights that come from memory in a cycle."""
_OVERLAP = 0.2
"""The part of the shorter of two times that is not hidden behind the longer."""


def winograd_pays(op: Conv, block_in: int, block_out: int, lanes: int) -> bool:
    """Return whether a convolution in blocks of channels is faster with transformed weights, in vectors of `lanes`.

    Its products are 16 for 4 results instead of 36, but its weights are 16 numbers instead of 9: of few pixels, these
    come from memory more slowly than their products are computed.
    """
    sig = op.signature
    outputs, channels, *window = shape_of(op.operands[1])
    image: Sequence[Size] = shape_of(op.results[0])
    plain = isinstance(op, Conv2DOp) and window == [WINDOW, WINDOW] and sig.int("groups") == 1
    if not plain or {*sig.ints("strides"), *sig.ints("dilation")} != {1}:
        return False
    fills = block_in % lanes == block_out % lanes == 0 and min(channels, outputs) >= _LEAST
    if not fills or any(isinstance(extent, SizeExpr) for extent in image):
        return False
    images, _, rows, columns = shape_of(op.results[0])
    tiles = images * -(-rows // TILE) * -(-columns // TILE)
    products = channels * outputs / lanes / _PORTS
    ends = tiles * (channels + outputs) / lanes * _ENDS
    direct = _time(images * rows * columns * products * WINDOW**2, WINDOW**2 * channels * outputs)
    return direct >= _GAIN * _time(tiles * products * POINTS**2 + ends, POINTS**2 * channels * outputs)


def _time(cycles: float, weights: int) -> float:
    """The cycles of some work for which so many weights come from memory."""
    memory = 4 * weights / _BYTES
    return max(cycles, memory) + _OVERLAP * min(cycles, memory)


def in_winograd_form(op: Conv, layouts: Sequence[str]) -> list[Operation]:
    """The operators that compute a convolution on a transformed weight, in layouts of data, weight and result."""
    data, filters = op.operands
    weight = WinogradWeightTransformOp(filters, tile_size=TILE, location=op.location)
    plain = moved(op, data, weight, into=WinogradConv2DOp, kernel_layout="HWOI", tile_size=TILE)
    ops = in_layouts(plain, CONV_LAYOUTS, *layouts)
    plain.drop_all_references()
    return [weight, *ops]
