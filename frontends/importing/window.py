"""The window that slides over an image in convolutions and poolings, as frontends share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

from ...dialects.sizes import size_max, size_min

Sizes = tuple[int, ...]
"""One number per spatial axis."""


@dataclass(frozen=True)
class Window:
    """A window of one to three axes, with padding before and after each."""

    kernel: Sizes
    strides: Sizes
    dilation: Sizes
    before: Sizes
    after: Sizes

    @property
    def padding(self) -> Sizes:
        """Before each axis, then after each: top, left, bottom, right."""
        return (*self.before, *self.after)

    def of(self, axes: slice) -> Self:
        """Along some of the axes."""
        return type(self)(*(values[axes] for values in self._fields))

    def row(self) -> Self:
        """With another axis before the others, of an image that has 1 element there."""
        return type(self)(*((first, *rest) for first, rest in zip((1, 1, 1, 0, 0), self._fields, strict=True)))

    def outgrowth(self, image: Sizes) -> Sizes:
        """Return how far the last window reaches beyond the padded image on each axis if the output size is rounded up.

        A window that would start in the padding on that side is left out, as in torch, in ONNX from opset 19 on and
        in onnxruntime for all.
        """

        def reach(axis: int) -> int:
            before, after = self.before[axis], self.after[axis]
            stride, span = self.strides[axis], self.dilation[axis] * (self.kernel[axis] - 1) + 1
            last = -(-(image[axis] + before + after - span) // stride)
            inside = image[axis] + before - last * stride
            last -= cast(int, size_max(0, size_min(1, 1 - inside)))
            return cast(int, size_max(last * stride + span - (image[axis] + before + after), 0))

        return tuple(reach(axis) for axis in range(len(image)))

    @property
    def _fields(self) -> tuple[Sizes, ...]:
        return self.kernel, self.strides, self.dilation, self.before, self.after


def same_padding(image: Sequence[int], strides: Sizes, dilation: Sizes, kernel: Sequence[int]) -> list[int]:
    """Return the padding, before and after together, that gives an output for each stride of an image."""
    return [
        cast(int, size_max((-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent, 0))
        for extent, s, d, k in zip(image, strides, dilation, kernel, strict=True)
    ]
