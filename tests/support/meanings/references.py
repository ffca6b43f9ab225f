"""Windows in numpy, as their definitions say: channels behind the batch, pads as (before, after) of each axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import ceil

import numpy as np
from special_numbers import Array

Pads = Sequence[tuple[int, int]]
"""Elements before and behind each axis of space."""


def pads_of(
    padding: str | Pads, sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the pads that a word stands for: SAME has ceil(size / stride) results, the odd element at one end."""
    if not isinstance(padding, str):
        return [*padding]
    pads: list[tuple[int, int]] = []
    for size, extent, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        whole = (ceil(size / stride) - 1) * stride + (extent - 1) * dilation + 1
        total = 0 if padding == "VALID" else max(whole - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if padding != "SAME_LOWER" else (more, less))
    return pads


def padded(x: Array, pads: Pads, value: float = 0) -> Array:
    """Return an image (batch, channels, space..) with elements around it, or without some, where pads are negative."""
    grown = np.pad(x, [(0, 0), (0, 0), *((max(a, 0), max(b, 0)) for a, b in pads)], constant_values=value)
    cuts = [slice(max(-a, 0), extent - max(-b, 0)) for (a, b), extent in zip(pads, grown.shape[2:], strict=True)]
    return grown[(slice(None), slice(None), *cuts)]


def windows(x: Array, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Array:
    """Return the windows of an image (batch, channels, space..): (batch, channels, results.., kernel..)."""
    spans = [(extent - 1) * dilation + 1 for extent, dilation in zip(kernel, dilations, strict=True)]
    rank = len(spans)
    every = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(2, 2 + rank)))
    steps = [slice(None, None, stride) for stride in strides]
    inner = [slice(None, None, dilation) for dilation in dilations]
    return every[(slice(None), slice(None), *steps, *inner)]


def convolution(
    x: Array, weight: Array, bias: Array, strides: Sequence[int], padding: str | Pads, dilations: Sequence[int],
    groups: int,
) -> Array:  # fmt: skip
    """Return the convolution of an image with a weight (results, channels of a group, kernel..)."""
    rank, kernel = x.ndim - 2, weight.shape[2:]
    pads = pads_of(padding, x.shape[2:], kernel, strides, dilations)
    parts: list[Array] = []
    for image, filters in zip(np.split(x, groups, 1), np.split(weight, groups, 0), strict=True):
        views = windows(padded(image, pads).astype(np.float64), kernel, strides, dilations)
        axes = [1, *range(2 + rank, 2 + 2 * rank)]
        parts.append(np.moveaxis(np.tensordot(views, filters, (axes, [1, *range(2, 2 + rank)])), -1, 1))
    return (np.concatenate(parts, 1) + bias.reshape(-1, *[1] * rank)).astype(x.dtype)


def transposed_convolution(
    x: Array, weight: Array, bias: Array, strides: Sequence[int], pads: Pads, output_padding: Sequence[int],
    dilations: Sequence[int], groups: int,
) -> Array:  # fmt: skip
    """Return what each element of an image adds through a weight (channels, results of a group, kernel..).

    pads: results that are left out at the ends; output_padding: further ones behind, 0 but for the bias.
    """
    rank, kernel = x.ndim - 2, weight.shape[2:]
    sizes = [
        (size - 1) * stride + (extent - 1) * dilation + 1 + more
        for size, stride, extent, dilation, more in zip(
            x.shape[2:], strides, kernel, dilations, output_padding, strict=True
        )
    ]
    parts: list[Array] = []
    for image, filters in zip(np.split(x, groups, 1), np.split(weight, groups, 0), strict=True):
        whole = np.zeros((x.shape[0], filters.shape[1], *sizes))
        for place in product(*map(range, kernel)):
            added = np.moveaxis(np.tensordot(image.astype(np.float64), filters[(..., *place)], ([1], [0])), -1, 1)
            at = [
                slice(k * dilation, k * dilation + (size - 1) * stride + 1, stride)
                for k, dilation, size, stride in zip(place, dilations, x.shape[2:], strides, strict=True)
            ]
            whole[(slice(None), slice(None), *at)] += added
        parts.append(whole)
    result = padded(np.concatenate(parts, 1), [(-before, -behind) for before, behind in pads])
    return (result + bias.reshape(-1, *[1] * rank)).astype(x.dtype)


def pooled(
    x: Array, kind: str, kernel: Sequence[int], strides: Sequence[int], padding: str | Pads,
    dilations: Sequence[int], ceil_mode: bool = False, count_include_pad: bool = False,
) -> Array:  # fmt: skip
    """Return the greatest number or the mean of each window. ceil_mode: one more that begins before the last pads.

    A mean is over elements of the image, or of its pads too; what `ceil_mode` adds behind the pads never counts.
    """
    rank = x.ndim - 2
    pads = pads_of(padding, x.shape[2:], kernel, strides, dilations)
    more: list[int] = []
    for size, extent, stride, dilation, (before, behind) in zip(
        x.shape[2:], kernel, strides, dilations, pads, strict=True
    ):
        span, whole = (extent - 1) * dilation + 1, size + before + behind
        count = (ceil if ceil_mode else int)((whole - span) / stride) + 1
        if ceil_mode and (count - 1) * stride >= size + before:
            count -= 1
        more.append(max((count - 1) * stride + span - whole, 0))
    reached = [(before, behind + extra) for (before, behind), extra in zip(pads, more, strict=True)]
    axes = tuple(range(2 + rank, 2 + 2 * rank))
    if kind == "max":
        return windows(padded(x, reached, -np.inf), kernel, strides, dilations).max(axes)
    counted = padded(np.ones(x.shape), pads, 1.0 if count_include_pad else 0.0)
    counts = windows(padded(counted, [(0, extra) for extra in more]), kernel, strides, dilations).sum(axes)
    sums = windows(padded(x.astype(np.float64), reached), kernel, strides, dilations).sum(axes)
    return (sums / counts).astype(x.dtype)
