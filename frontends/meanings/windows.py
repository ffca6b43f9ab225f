"""Windows that slide over images of one to three spatial axes: their padding, and the convolutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Self, cast

from ...dialects.relay.attributes import Value
from ...dialects.relay.convolution import Conv1DOp, Conv2DOp, Conv3DOp
from ...dialects.relay.convolution_transpose import Conv1DTransposeOp, Conv2DTransposeOp, Conv3DTransposeOp
from ...dialects.relay.matmul import BiasAddOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.pooling import SPATIAL
from ...dialects.relay.transform import ExpandDimsOp, SqueezeOp, TransposeOp
from ...dialects.relay.window_indices import DeformableConv2DOp
from ...dialects.relay.windows import Col2ImOp
from ...dialects.sizes import size_max, size_min
from ..importing.terms import Term

Sizes = tuple[int, ...]
"""One number per spatial axis."""
CONV: Mapping[int, type[Operator]] = {1: Conv1DOp, 2: Conv2DOp, 3: Conv3DOp}
_TRANSPOSED: Mapping[int, type[Operator]] = {1: Conv1DTransposeOp, 2: Conv2DTransposeOp, 3: Conv3DTransposeOp}


@dataclass(frozen=True)
class Window:
    """A window of one to three axes, with padding before and after each."""

    kernel: Sizes
    strides: Sizes
    dilation: Sizes
    before: Sizes
    after: Sizes

    @classmethod
    def padded(cls, mode: str, image: Sequence[int], kernel: Sizes, strides: Sizes, dilation: Sizes) -> Self:
        """The window of a padding by its name.

        mode: `same`, an output for each stride, an odd element of padding after; `same_lower`, that one before;
        `causal`, an output for each stride of 1, all padding before; another word, none.
        """
        total = same_padding(image, strides, dilation, kernel) if mode.startswith("same") else [0] * len(kernel)
        if mode == "causal":
            total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
            return cls(kernel, strides, dilation, tuple(total), (0,) * len(kernel))
        return cls(kernel, strides, dilation, *halves(total, lower=mode == "same_lower"))

    @property
    def padding(self) -> Sizes:
        """Before each axis, then after each: top, left, bottom, right."""
        return (*self.before, *self.after)

    def longer(self, beyond: Sizes) -> Self:
        """With more padding at the end of each axis."""
        return replace(self, after=tuple(a + b for a, b in zip(self.after, beyond, strict=True)))

    def without_padding(self) -> Self:
        return replace(self, before=(0,) * len(self.kernel), after=(0,) * len(self.kernel))

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


def halves(total: Sequence[int], *, lower: bool = False) -> tuple[Sizes, Sizes]:
    """Return padding before and after, an odd element of it after; with `lower` before."""
    small, large = tuple(n // 2 for n in total), tuple(n - n // 2 for n in total)
    return (large, small) if lower else (small, large)


def window_back(
    wanted: Sizes, image: Sizes, kernel: Sizes, strides: Sizes, dilation: Sizes, before: Sizes
) -> tuple[Window, Sizes]:
    """Return the window of a transposed convolution to `wanted` extents, and how much its result grows at the end.

    before: the elements cut off at the beginning of each axis.
    """
    columns = zip(image, kernel, strides, dilation, before, wanted, strict=True)
    surplus = [(extent - 1) * s + d * (k - 1) + 1 - cut - out for extent, k, s, d, cut, out in columns]
    after, more = (tuple(cast(int, size_max(sign * n, 0)) for n in surplus) for sign in (1, -1))
    return Window(kernel, strides, dilation, before, after), more


def same_window_back(
    wanted: Sizes, image: Sizes, kernel: Sizes, strides: Sizes, dilation: Sizes
) -> tuple[Window, Sizes]:
    """`window_back` whose padding is that of the convolution, `same`, whose gradient it is, as TensorFlow has it."""
    before, _ = halves(same_padding(wanted, strides, dilation, kernel))
    return window_back(wanted, image, kernel, strides, dilation, before)


def conv(
    x: Term,
    weight: Term,
    window: Window,
    *numbers: Term,
    op: type[Operator] | None = None,
    groups: int = 1,
    channels: int | None = None,
    layout: str = "",
    kernel_layout: str = "",
) -> Term:
    """The sum over a window of its elements, each times a tap of the kernel.

    layout, kernel_layout: channels first by default, and outputs before inputs. channels: that of the result, which
    the operator then states, as it does the extents of the kernel. op, numbers: another operator, and what it has
    behind the weight.
    """
    rank = len(window.kernel)
    return x.apply(
        op or CONV[rank],
        weight,
        *numbers,
        **_slid(window, channels),
        groups=groups,
        data_layout=layout or f"NC{SPATIAL[rank]}",
        kernel_layout=kernel_layout or f"OI{SPATIAL[rank]}",
    )


def conv_transpose(
    x: Term,
    weight: Term,
    window: Window,
    more: Sizes,
    *,
    groups: int = 1,
    channels: int | None = None,
    layout: str = "",
    kernel_layout: str = "",
) -> Term:
    """The gradient of `conv`: each element spreads over a window, whose padding is cut off from the result.

    more: how much the result grows at the end of each axis. Inputs come before outputs in the kernel's default layout.
    """
    rank = len(window.kernel)
    return x.apply(
        _TRANSPOSED[rank],
        weight,
        **_slid(window, channels),
        output_padding=more,
        groups=groups,
        data_layout=layout or f"NC{SPATIAL[rank]}",
        kernel_layout=kernel_layout or f"IO{SPATIAL[rank]}",
    )


def _slid(window: Window, channels: int | None) -> dict[str, Value]:
    slid: dict[str, Value] = {"strides": window.strides, "padding": window.padding, "dilation": window.dilation}
    return slid if channels is None else slid | {"channels": channels, "kernel_size": window.kernel}


def deformable_conv(
    x: Term, offset: Term, weight: Term, mask: Term | None, window: Window, groups: int, offset_groups: int
) -> Term:
    """`conv` of two spatial axes, in which each tap of each window has an offset, and with `mask` a factor."""
    result = x.ctx.emit(
        DeformableConv2DOp,
        *(x.value, offset.value, weight.value, None if mask is None else mask.value),
        **_slid(window, None),
        deformable_groups=offset_groups,
        groups=groups,
    )
    return Term(x.ctx, result)


def from_columns(x: Term, image: Sizes, window: Window) -> Term:
    """Windows as columns (batch, channels * taps, windows), added up where they lie in an image."""
    taps = prod(window.kernel)
    if len(x.shape) != 3 or x.shape[1] % taps:
        x.ctx.fail(f"3-d columns of channels in multiples of {taps}", f"shape {list(x.shape)}")
    rows = (window.kernel, window.padding, window.strides, window.dilation)
    x.ctx.require_equal(x.shape[2], prod(Col2ImOp.counts(image, *rows)))
    names = ("block_shape", "pads", "strides", "dilations")
    return x.apply(Col2ImOp, image_shape=image, **dict(zip(names, rows, strict=True)))


def biased(x: Term, bias: Term | None, axis: int = 1) -> Term:
    """`x` with a number added to each channel, where there is a bias."""
    return x if bias is None else x.apply(BiasAddOp, bias, axis=axis)


def with_batch(x: Term, rank: int) -> tuple[Term, bool]:
    """Images of `rank` spatial axes as (batch, channels, ..), and whether the batch, of 1, was added."""
    if len(x.shape) not in (rank + 1, rank + 2):
        x.ctx.fail(f"a {rank + 2}-d or {rank + 1}-d input", f"shape {list(x.shape)}")
    return (x, False) if len(x.shape) == rank + 2 else (x.apply(ExpandDimsOp, axis=0), True)


def without_batch(x: Term, added: bool) -> Term:
    return x.apply(SqueezeOp, axis=(0,)) if added else x


def moved(x: Term, source: Sequence[str], target: Sequence[str]) -> Term:
    """A term whose axes are called `source`, in the order of `target`."""
    return x if source == target else x.apply(TransposeOp, axes=[source.index(axis) for axis in target])
