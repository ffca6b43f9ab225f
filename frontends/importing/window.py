"""The window that slides over an image in convolutions and poolings, as frontends share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

from ...dialects.sizes import size_max

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

    @property
    def _fields(self) -> tuple[Sizes, ...]:
        return self.kernel, self.strides, self.dilation, self.before, self.after


def same_padding(image: Sequence[int], strides: Sizes, dilation: Sizes, kernel: Sequence[int]) -> list[int]:
    """Return the padding, before and after together, that gives an output for each stride of an image."""
    return [
        cast(int, size_max((-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent, 0))
        for extent, s, d, k in zip(image, strides, dilation, kernel, strict=True)
    ]
