"""Operators that put together what windows of an image hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import cast

import numpy as np
from xdsl.irdl import irdl_op_definition, traits_def

from ..sizes import size_max
from .attributes import required_ints
from .numerics import AnyArray, widened
from .operator import Signature
from .traits import COMM_REDUCE
from .transform import Injective

Extents = Sequence[int]


@irdl_op_definition
class Col2ImOp(Injective):
    """The sum of windows: (n, c * prod(block), windows) -> (n, c, *image), as ONNX's Col2Im.

    pads: before each axis, then behind each.
    """

    name = "relay.nn.col2im"
    image_shape = required_ints()
    block_shape = required_ints()
    pads = required_ints()
    strides = required_ints()
    dilations = required_ints()
    traits = traits_def(COMM_REDUCE)

    @classmethod
    def windows(cls, sig: Signature) -> list[int]:
        """The number of windows along each axis."""
        return cls.counts(*map(sig.ints, ("image_shape", "block_shape", "pads", "strides", "dilations")))

    @staticmethod
    def counts(image: Extents, block: Extents, pads: Extents, strides: Extents, dilations: Extents) -> list[int]:
        """Return the result of `windows`."""
        rank = len(image)
        axes = zip(image, block, pads[:rank], pads[rank:], dilations, strict=True)
        spans = [n + before + after - d * (b - 1) - 1 for n, b, before, after, d in axes]
        return [cast(int, size_max(0, span // s + 1)) for span, s in zip(spans, strides, strict=True)]

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        n, channels, columns = sig.rank(0, 3)
        size = prod(sig.ints("block_shape"))
        if channels % size or columns != prod(cls.windows(sig)):
            wanted = f"channels in multiples of {size}, and {prod(cls.windows(sig))} windows"
            sig.fail(wanted, str(sig.types[0]))
        return (n, channels // size, *sig.ints("image_shape"))

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        image, block, pads = sig.ints("image_shape"), sig.ints("block_shape"), sig.ints("pads")
        strides, dilations, rank = sig.ints("strides"), sig.ints("dilations"), len(sig.ints("image_shape"))
        counts, (n, channels, _) = cls.windows(sig), x.shape
        parts = widened(x).reshape(n, channels // prod(block), *block, *counts)
        padded = [e + a + b for e, a, b in zip(image, pads[:rank], pads[rank:], strict=True)]
        out = np.zeros((n, channels // prod(block), *padded), parts.dtype)
        for offset in product(*map(range, block)):
            axes = zip(offset, dilations, strides, counts, strict=True)
            target = tuple(slice(o * d, o * d + s * (c - 1) + 1, s) for o, d, s, c in axes)
            out[(..., *target)] += parts[(slice(None), slice(None), *offset)]
        return out[(..., *(slice(a, a + e) for a, e in zip(pads[:rank], image, strict=True)))]
