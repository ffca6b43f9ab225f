"""Operators of which topi has one for each layout, as calls of relay's, where the layout is an attribute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from whence import relay

Builder = Callable[..., Any]
_RELAY: Any = relay


def _shape(value: Any) -> list[int]:
    return list(value.type_annotation.shape)


def _each(value: Any, count: int) -> tuple[int, ...]:
    """A number for each spatial axis, of one for all or of as many."""
    return (value,) * count if isinstance(value, int) else tuple(value)


def _padding(padding: Any, kernel: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """The padding of each axis, or of each side: of `SAME` as wide as the kernel's reach, half of it on each side."""
    if padding == "VALID":
        return (0,) * len(kernel)
    if padding != "SAME":
        return _each(padding, len(kernel))
    reach = [step * (extent - 1) for extent, step in zip(kernel, dilation, strict=True)]
    before = [(width + 1) // 2 for width in reach]
    return (*before, *(width - first for width, first in zip(reach, before, strict=True)))


def _convolution(name: str, data_layout: str, kernel_layout: str, has_groups: bool = False) -> Builder:
    """A convolution of `(Input, Filter, stride, padding, dilation[, groups], out_dtype)`."""

    def plain(
        Input: Any, Filter: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, out_dtype: Any = None
    ) -> Any:
        return _convolved(name, data_layout, kernel_layout, Input, (Filter, _shape(Filter)))(
            stride, padding, dilation, out_dtype
        )

    def grouped(
        Input: Any, Filter: Any, stride: Any, padding: Any, dilation: Any, groups: int, out_dtype: Any = None
    ) -> Any:
        return plain(Input, Filter, stride, padding, dilation, out_dtype)

    return grouped if has_groups else plain


def _convolved(
    name: str, data_layout: str, kernel_layout: str, data: Any, kernel: tuple[Any, list[int]]
) -> Callable[[Any, Any, Any, Any], Any]:
    """The call of a convolution of data and a kernel with its shape. As many groups as the extents ask for."""
    weight, shape = kernel
    spatial = [letter for letter in data_layout if letter not in "NC"]
    extents = dict(zip(kernel_layout, shape, strict=True))

    def call(stride: Any, padding: Any, dilation: Any, out_dtype: Any) -> Any:
        return getattr(_RELAY.nn, name)(
            data,
            weight,
            strides=_each(stride, len(spatial)),
            padding=_padding(padding, [extents[letter] for letter in spatial], _each(dilation, len(spatial))),
            dilation=_each(dilation, len(spatial)),
            groups=_shape(data)[data_layout.index("C")] // extents["I"],
            channels=extents["O"],
            kernel_size=tuple(extents[letter] for letter in spatial),
            data_layout=data_layout,
            kernel_layout=kernel_layout,
            out_dtype=out_dtype or "",
        )

    return call


def _depthwise(data_layout: str, kernel_layout: str) -> Builder:
    """A convolution of each channel, whose filter has an axis of channels and one of the results of each."""

    def build(
        Input: Any, Filter: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, out_dtype: Any = None
    ) -> Any:
        shape = _shape(Filter)
        at = kernel_layout.index("I") if kernel_layout == "HWIO" else 0
        channels = shape[at] * shape[at + 1]
        shape[at : at + 2] = [1, channels] if kernel_layout == "HWIO" else [channels, 1]
        weight = _RELAY.reshape(Filter, shape)
        return _convolved("conv2d", data_layout, kernel_layout, Input, (weight, shape))(
            stride, padding, dilation, out_dtype
        )

    return build


def _transposed(name: str, data_layout: str, kernel_layout: str) -> Builder:
    def build(
        Input: Any, Filter: Any, strides: Any = 1, padding: Any = 0, out_dtype: Any = None, output_padding: Any = 0
    ) -> Any:
        rank = len(data_layout) - 2
        extents = dict(zip(kernel_layout, _shape(Filter), strict=True))
        return getattr(_RELAY.nn, name)(
            Input,
            Filter,
            strides=_each(strides, rank),
            padding=_each(padding, rank),
            output_padding=_each(output_padding, rank),
            channels=extents["O"],
            kernel_size=tuple(extents[letter] for letter in data_layout if letter not in "NC"),
            data_layout=data_layout,
            kernel_layout=kernel_layout,
            out_dtype=out_dtype or "",
        )

    return build


def _pool(rank: int) -> Builder:
    """A pool of `rank` spatial axes, of maxima or averages."""

    def build(
        data: Any,
        kernel: Any,
        stride: Any,
        dilation: Any,
        padding: Any,
        pool_type: str,
        ceil_mode: bool = False,
        layout: str = "NC" + "DHW"[3 - rank :],
        count_include_pad: bool = True,
    ) -> Any:
        further = {"count_include_pad": count_include_pad} if pool_type == "avg" else {}
        return getattr(_RELAY.nn, f"{pool_type}_pool{rank}d")(
            data,
            pool_size=_each(kernel, rank),
            strides=_each(stride, rank),
            dilation=_each(dilation, rank),
            padding=_each(padding, rank),
            layout=layout,
            ceil_mode=ceil_mode,
            **further,
        )

    return build


def _global_pool(data: Any, pool_type: str, layout: str = "NCHW") -> Any:
    return getattr(_RELAY.nn, f"global_{pool_type}_pool2d")(data, layout=layout)


def _adaptive_pool(data: Any, output_size: Any, pool_type: str, layout: str = "NCHW") -> Any:
    return getattr(_RELAY.nn, f"adaptive_{pool_type}_pool2d")(data, output_size=_each(output_size, 2), layout=layout)


def _elemwise_sum(xs: Sequence[Any]) -> Any:
    """The sum of tensors of one shape."""
    return reduce(_RELAY.add, xs)


def _softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta x)) / beta, and x itself where beta x is above the threshold."""
    dtype = x.type_annotation.dtype
    scaled = x * _RELAY.const(beta, dtype)
    soft = _RELAY.log(_RELAY.exp(scaled) + _RELAY.const(1.0, dtype)) / _RELAY.const(beta, dtype)
    return _RELAY.where(_RELAY.greater(scaled, _RELAY.const(threshold, dtype)), x, soft)


BY_LAYOUT: Mapping[str, Builder] = {
    "nn.conv1d_ncw": _convolution("conv1d", "NCW", "OIW"),
    "nn.conv1d_nwc": _convolution("conv1d", "NWC", "WIO"),
    "nn.conv2d_nchw": _convolution("conv2d", "NCHW", "OIHW"),
    "nn.conv2d_nhwc": _convolution("conv2d", "NHWC", "HWIO"),
    "nn.conv2d_hwcn": _convolution("conv2d", "HWCN", "HWIO"),
    "nn.conv3d_ncdhw": _convolution("conv3d", "NCDHW", "OIDHW"),
    "nn.conv3d_ndhwc": _convolution("conv3d", "NDHWC", "DHWIO"),
    "nn.group_conv2d_nchw": _convolution("conv2d", "NCHW", "OIHW", has_groups=True),
    "nn.group_conv2d_nhwc": _convolution("conv2d", "NHWC", "HWIO", has_groups=True),
    "nn.depthwise_conv2d_nchw": _depthwise("NCHW", "OIHW"),
    "nn.depthwise_conv2d_nhwc": _depthwise("NHWC", "HWIO"),
    "nn.conv1d_transpose_ncw": _transposed("conv1d_transpose", "NCW", "IOW"),
    "nn.conv2d_transpose_nchw": _transposed("conv2d_transpose", "NCHW", "IOHW"),
    "nn.conv3d_transpose_ncdhw": _transposed("conv3d_transpose", "NCDHW", "IODHW"),
    **{f"nn.pool{rank}d": _pool(rank) for rank in (1, 2, 3)},
    "nn.global_pool": _global_pool,
    "nn.adaptive_pool": _adaptive_pool,
    "nn.softplus": _softplus,
    "elemwise_sum": _elemwise_sum,
}
