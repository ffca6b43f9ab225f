"""Convolutions by Winograd's minimal filtering, F(2x2, 3x3): 16 products for 4 results of a 3x3 window, not 36."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import integer, string
from .convolution import Conv2D, expand_padding
from .layout import layout_view
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import OUT_ELEMWISE_FUSABLE

TILE = 2
"""The results of a tile along an axis."""
WINDOW = 3
POINTS = TILE + WINDOW - 1
"""The numbers of a tile's data along an axis, and those of a transformed window."""
WEIGHTS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
"""Transforms a window along an axis."""
DATA = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
"""Transforms the data of a tile."""
RESULTS = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
"""Makes the results of a tile of sums of products."""


def _check_tile(sig: Signature) -> None:
    if (tile := sig.int("tile_size")) != TILE:
        sig.fail(f"tile_size {TILE}", str(tile))


@irdl_op_definition
class WinogradWeightTransformOp(Operator):
    """Windows (O, I, 3, 3) as `nn.contrib_conv2d_winograd_without_weight_transform` takes them, (4, 4, O, I)."""

    name = "relay.nn.contrib_conv2d_winograd_weight_transform"
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    tile_size = integer(TILE)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        _check_tile(sig)
        outputs, depth, *window = sig.rank(0, 4)
        if window != [WINDOW, WINDOW]:
            sig.fail(f"windows of {WINDOW}x{WINDOW}", str(sig.types[0]))
        return [tensor_of(sig.types[0].element_type, (POINTS, POINTS, outputs, depth))]

    @classmethod
    def evaluate(cls, sig: Signature, weight: AnyArray) -> AnyArray:
        """In float64, so that each number is rounded once."""
        windows = weight.astype(np.float64).reshape(-1, WINDOW * WINDOW)
        points = np.kron(WEIGHTS, WEIGHTS) @ windows.T
        return points.reshape(POINTS, POINTS, *weight.shape[:2]).astype(weight.dtype)


@irdl_op_definition
class WinogradConv2DOp(Conv2D):
    """2-d convolution with windows of 3x3 at stride 1, whose weight is transformed.

    The result is that of `nn.conv2d` but for rounding. Infinities and NaN reach all results of the tiles that read
    them, of which there are up to 9 more than in windows.
    """

    name = "relay.nn.contrib_conv2d_winograd_without_weight_transform"
    tile_size = integer(TILE)
    kernel_layout = string("HWOI")

    @classmethod
    def window(cls, sig: Signature, kernel: Mapping[str, int]) -> list[int]:
        _check_tile(sig)
        for name in ("strides", "dilation"):
            if set(numbers := sig.ints(name)) != {1}:
                sig.fail(f"{name} of 1", str(list(numbers)))
        if (groups := sig.int("groups")) != 1:
            sig.fail("one group", str(groups))
        if any(kernel[letter] != POINTS for letter in cls.SPATIAL):
            sig.fail(f"{POINTS}x{POINTS} transformed weights", str(sig.types[1]))
        return [WINDOW] * len(cls.SPATIAL)

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray) -> AnyArray:
        """In NCHW and HWOI."""
        x = layout_view(data, sig.str("data_layout"), "NCHW")
        w = layout_view(weight, sig.str("kernel_layout"), "HWOI")
        pads = expand_padding(sig, sig.ints("padding"))
        image = [extent + sum(pads[axis::2]) - WINDOW + 1 for axis, extent in enumerate(x.shape[2:])]
        odd = [extent % TILE for extent in image]
        x = np.pad(x, ((0, 0), (0, 0), *((pads[axis], pads[axis + 2] + odd[axis]) for axis in (0, 1))))
        tiles = np.lib.stride_tricks.sliding_window_view(x, (POINTS, POINTS), (2, 3))[:, :, ::TILE, ::TILE]
        d, r = DATA.astype(x.dtype), RESULTS.astype(x.dtype)
        points = np.einsum("ai,ncyxij,bj->abncyx", d, tiles, d, optimize=True)
        sums = np.einsum("abncyx,aboc->abnoyx", points, w, optimize=True)
        out = np.einsum("ia,abnoyx,jb->noyixj", r, sums, r, optimize=True)
        n, outputs, rows, _, columns, _ = out.shape
        out = out.reshape(n, outputs, rows * TILE, columns * TILE)[:, :, : image[0], : image[1]]
        return layout_view(out, "NCHW", sig.str("out_layout") or sig.str("data_layout"))
