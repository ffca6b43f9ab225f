"""Results of operators in numpy, for tests to compare with, by the names of TVM's `topi.testing`.

Each calls the operator's meaning in numpy (`dialects/relay/`), which kernels are tested against as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from whence import relay
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, expectation


def _numpy(expr: Any) -> Any:
    """The value of an expression of constants."""
    return relay.create_executor("debug").evaluate(expr.astuple() if hasattr(expr, "astuple") else expr)


def _constant(value: Any) -> Any:
    """Return the constant of an array, of its own dtype."""
    array = np.asarray(value)
    return relay.const(array, array.dtype.name)


def _one(op: Any, *arrays: Any, **attributes: Any) -> Array:
    return np.asarray(_numpy(op(*[_constant(array) for array in arrays], **attributes)))


def _each(value: int | Sequence[int], rank: int) -> list[int]:
    return [value] * rank if isinstance(value, int) else list(value)


def _same(extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Return the pads of "SAME": a result is extent / stride, rounded up; an odd element of padding is at the end."""
    totals = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(extents, kernel, strides, strict=True)]
    return [*(total // 2 for total in totals), *(total - total // 2 for total in totals)]


def _pads(padding: Any, extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int]) -> list[int]:
    if padding == "VALID":
        return [0] * (2 * len(kernel))
    if padding == "SAME":
        return _same(extents, kernel, strides)
    pads = _each(padding, len(kernel))
    return pads * 2 if len(pads) == len(kernel) else pads


def _convolution(rank: int, data: str, kernel: str, transposed: bool = False) -> Any:
    op = getattr(relay.nn, f"conv{rank}d" + ("_transpose" if transposed else ""))

    def convolve(a_np: Array, w_np: Array, stride: Any, padding: Any, *rest: Any, **named: Any) -> Array:
        names = ("output_padding",) if transposed else ("dilation", "groups") if rank == 1 else ("groups",)
        arguments = {**dict(zip((*names, "groups"), rest, strict=False)), **named}
        layout = kernel if not transposed else kernel.replace("OI", "IO")
        spatial = [data.index(axis) for axis in "DHW"[3 - rank :]]
        size = [w_np.shape[layout.index(axis)] for axis in "DHW"[3 - rank :]]
        strides = _each(stride, rank)
        groups = int(arguments.get("groups") or 1)
        output = layout.index("O")
        options: dict[str, Any] = (
            {"output_padding": _each(arguments.get("output_padding", 0), rank)} if transposed else {}
        )
        return _one(
            op,
            a_np,
            w_np,
            strides=strides,
            padding=_pads(padding, [a_np.shape[axis] for axis in spatial], size, strides),
            dilation=_each(arguments.get("dilation", 1), rank),
            groups=groups,
            channels=w_np.shape[output] * (groups if transposed else 1),
            kernel_size=size,
            data_layout=data,
            kernel_layout=layout,
            **options,
        )

    return convolve


conv1d_ncw_python = _convolution(1, "NCW", "OIW")
conv2d_nchw_python = _convolution(2, "NCHW", "OIHW")
conv2d_nhwc_python = _convolution(2, "NHWC", "HWIO")
conv3d_ncdhw_python = _convolution(3, "NCDHW", "OIDHW")
conv3d_ndhwc_python = _convolution(3, "NDHWC", "DHWIO")
conv1d_transpose_ncw_python = _convolution(1, "NCW", "OIW", transposed=True)
conv2d_transpose_nchw_python = _convolution(2, "NCHW", "OIHW", transposed=True)
conv3d_transpose_ncdhw_python = _convolution(3, "NCDHW", "OIDHW", transposed=True)


def softmax_python(a_np: Array, axis: int = 1) -> Array:
    """Softmax along an axis."""
    return _one(relay.nn.softmax, a_np, axis=axis)


def log_softmax_python(a_np: Array, axis: int = 1) -> Array:
    """The logarithm of softmax along an axis."""
    return _one(relay.nn.log_softmax, a_np, axis=axis)


def batch_matmul(
    x: Array, y: Array, out_dtype: str | None = None, trans_x: bool = False, trans_y: bool = True
) -> Array:
    """Products of matrices, one for each of the batch."""
    return _one(relay.nn.batch_matmul, x, y, out_dtype=out_dtype or "", transpose_a=trans_x, transpose_b=trans_y)


def dilate_python(input_np: Array, strides: Sequence[int], dilation_value: float = 0.0, out_dtype: Any = None) -> Array:
    """The elements `strides` apart, a number between them."""
    dilated = _one(relay.nn.dilate, input_np, strides=list(strides), dilation_value=float(dilation_value))
    return dilated if out_dtype is None else dilated.astype(out_dtype)


def l2_normalize_python(a_np: Array, eps: float, axis: Sequence[int] | None = None) -> Array:
    """The elements over the root of the sum of their squares."""
    return _one(relay.nn.l2_normalize, a_np, eps=eps, axis=list(range(a_np.ndim)) if axis is None else list(axis))


def lrn_python(a_np: Array, size: int, axis: int, bias: float, alpha: float, beta: float) -> Array:
    """Local response normalization."""
    return _one(relay.nn.lrn, a_np, size=size, axis=axis, bias=bias, alpha=alpha, beta=beta)


def instance_norm_python(data: Array, gamma: Array, beta: Array, axis: Any = (2, 3), epsilon: float = 1e-5) -> Array:
    """Instance normalization of data whose channels are the axis 1."""
    del axis
    return _one(relay.nn.instance_norm, data, gamma, beta, axis=1, epsilon=epsilon)


def layer_norm_python(data: Array, gamma: Array, beta: Array, axis: Any = -1, epsilon: float = 1e-5) -> Array:
    """Layer normalization along one axis."""
    first = axis if isinstance(axis, int) else next(iter(axis))
    return _one(relay.nn.layer_norm, data, gamma, beta, axis=first, epsilon=epsilon)


def one_hot(indices: Array, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str) -> Array:
    """Return one of two numbers, along a new axis of `depth`."""
    values = [relay.const(value, dtype) for value in (on_value, off_value)]
    return np.asarray(_numpy(relay.one_hot(_constant(indices), *values, depth, axis, dtype)))


def gather_python(data: Array, axis: int, indices: Array) -> Array:
    """The elements at indices along an axis."""
    return np.asarray(_numpy(relay.gather(_constant(data), axis, _constant(indices))))


def gather_nd_python(a_np: Array, indices_np: Array) -> Array:
    """The elements, or slices, at points, whose coordinates are the first axis."""
    return _one(relay.gather_nd, a_np, indices_np)


def depth_to_space_python(data: Array, block_size: int, mode: str = "DCR") -> Array:
    """Channels as blocks of pixels, of NCHW data."""
    return _one(relay.nn.depth_to_space, data, block_size=block_size, mode=mode)


def space_to_depth_python(data: Array, block_size: int) -> Array:
    """Blocks of pixels as channels, of NCHW data."""
    return _one(relay.nn.space_to_depth, data, block_size=block_size)


def sequence_mask(data: Array, valid_length: Array, mask_value: float, axis: int) -> Array:
    """The data, a number behind the valid length of each sequence."""
    return _one(relay.sequence_mask, data, valid_length, mask_value=float(mask_value), axis=axis)


def searchsorted_ref(sorted_sequence: Array, values: Array, right: bool, out_dtype: str) -> Array:
    """Return the positions of values in sorted sequences."""
    return _one(relay.searchsorted, sorted_sequence, values, right=right, dtype=out_dtype)


def matrix_set_diag(input_np: Array, diagonal: Array, k: Any = 0, align: str = "RIGHT_LEFT") -> Array:
    """The matrices with other diagonals."""
    offsets = tuple(cast("list[int]", k)) if isinstance(k, list | tuple) else int(k)
    return _one(relay.matrix_set_diag, input_np, diagonal, k=offsets, align=align)


def space_to_batch_nd_python(
    data: Array, block_shape: Sequence[int], pad_before: Any, pad_after: Any, pad_value: float = 0
) -> Array:
    """Blocks along axes as batches."""
    paddings = [[int(before), int(after)] for before, after in zip(pad_before, pad_after, strict=True)]
    return _one(
        relay.nn.space_to_batch_nd, data, block_shape=list(block_shape), paddings=paddings, pad_value=float(pad_value)
    )


def batch_to_space_nd_python(
    data: Array, block_shape: Sequence[int], crop_begin_list: Any, crop_end_list: Any
) -> Array:
    """Batches as blocks along axes."""
    crops = [[int(before), int(after)] for before, after in zip(crop_begin_list, crop_end_list, strict=True)]
    return _one(relay.nn.batch_to_space_nd, data, block_shape=list(block_shape), crops=crops)


def _resize(rank: int) -> Any:
    op = getattr(relay.image, f"resize{rank}d")

    def resize(
        data: Array,
        scales: Sequence[float],
        layout: str,
        method: str = "nearest_neighbor",
        coordinate_transformation_mode: str = "asymmetric",
    ) -> Array:
        axes = [layout.index(axis) for axis in "DHW"[3 - rank :]]
        size = [round(data.shape[axis] * scale) for axis, scale in zip(axes, scales, strict=True)]
        rounding = "round" if coordinate_transformation_mode == "align_corners" else "floor"
        return _one(
            op,
            data,
            size=size,
            layout=layout,
            method=method,
            coordinate_transformation_mode=coordinate_transformation_mode,
            rounding_method=rounding if method == "nearest_neighbor" else "",
        )

    return resize


resize1d_python, resize2d_python, resize3d_python = map(_resize, (1, 2, 3))


def poolnd_python(
    np_data: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding_before: Sequence[int],
    padding_after: Sequence[int],
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
) -> Array:
    """The greatest number, or the mean, of windows; channels are the axis 1. Raises FrontendError for another pool."""
    if pool_type not in ("max", "avg"):
        raise FrontendError(expectation("poolnd_python", "pool_type max or avg", repr(pool_type)))
    options: dict[str, Any] = {"count_include_pad": count_include_pad} if pool_type == "avg" else {}
    result = _one(
        getattr(relay.nn, f"{pool_type}_pool{len(kernel)}d"),
        np_data,
        pool_size=list(kernel),
        strides=list(strides),
        dilation=list(dilation),
        padding=[*padding_before, *padding_after],
        ceil_mode=ceil_mode,
        **options,
    )
    return result.astype(dtype)


def adaptive_pool(np_data: Array, out_size: Sequence[int], pool_type: str, layout: str) -> Array:
    """The greatest number, or the mean, of windows of which there are `out_size`."""
    op = getattr(relay.nn, f"adaptive_{pool_type}_pool{len(out_size)}d")
    return _one(op, np_data, output_size=list(out_size), layout=layout)


def strided_slice_python(
    data: Array,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None,
    slice_mode: str = "end",
    axes: Sequence[int] | None = None,
) -> Array:
    """Return the elements from `begin` up to `end`, or `end` elements if the mode is "size"."""
    steps = [1] * len(begin) if not strides else list(strides)
    return _one(
        relay.strided_slice,
        data,
        begin=[int(number) for number in begin],
        end=[int(number) for number in end],
        strides=[int(number) for number in steps] if slice_mode == "end" else [1] * len(begin),
        slice_mode=slice_mode,
        axes=None if axes is None else [int(number) for number in axes],
    )


def strided_set_python(data: Array, v: Array, begin: Any, end: Any, strides: Any = None) -> Array:
    """Return `data` with `v` in a slice; axes that begin, end or strides leave out are whole, with stride 1."""
    starts = [*begin, *[0] * (data.ndim - len(begin))]
    ends = [*end, *data.shape[len(end) :]]
    steps = [*(strides or ()), *[1] * (data.ndim - len(strides or ()))]
    return _one(relay.strided_set, data, v, *(np.array(point, np.int32) for point in (starts, ends, steps)))


def affine_grid_python(data: Array, target_shape: Sequence[int]) -> Array:
    """The grids of affine transformations."""
    return _one(relay.image.affine_grid, data, target_shape=list(target_shape))


def roi_pool_nchw_python(a_np: Array, rois_np: Array, pooled_size: Any, spatial_scale: float) -> Array:
    """The greatest numbers of parts of regions."""
    size = _each(pooled_size, 2)
    return _one(relay.vision.roi_pool, a_np, rois_np, pooled_size=size, spatial_scale=spatial_scale, layout="NCHW")


def _roi_align(layout: str) -> Any:
    def align(
        a_np: Array, rois_np: Array, pooled_size: Any, spatial_scale: float, sample_ratio: int, mode: Any = "avg"
    ) -> Array:
        return _one(
            relay.vision.roi_align,
            a_np,
            rois_np,
            pooled_size=_each(pooled_size, 2),
            spatial_scale=spatial_scale,
            sample_ratio=sample_ratio,
            mode=mode.decode() if isinstance(mode, bytes) else mode,
            layout=layout,
        )

    return align


roi_align_nchw_python, roi_align_nhwc_python = map(_roi_align, ("NCHW", "NHWC"))


def reorg_python(a_np: Array, stride: int) -> Array:
    """Images taken apart as YOLO does it."""
    return _one(relay.vision.yolo_reorg, a_np, stride=stride)


def grid_sample_python(
    data: Array,
    grid: Array,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Array:
    """Return samples of images at the points of a grid."""
    options = {"method": method, "layout": layout, "padding_mode": padding_mode, "align_corners": align_corners}
    return _one(relay.image.grid_sample, data, grid, **options)


def crop_and_resize_python(
    image: Array,
    boxes: Array,
    box_indices: Array,
    crop_size: Sequence[int],
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0,
) -> Array:
    """Boxes of images, each brought to one size."""
    options: dict[str, Any] = {"layout": layout, "method": method, "extrapolation_value": float(extrapolation_value)}
    return _one(relay.image.crop_and_resize, image, boxes, box_indices, crop_size=list(crop_size), **options)


def nll_loss(
    predictions: Array, targets: Array, weights: Array, reduction: str = "mean", ignore_index: int = -100
) -> Array:
    """Return the negative of the prediction for each target, times the weight of its class."""
    return _one(relay.nn.nll_loss, predictions, targets, weights, reduction=reduction, ignore_index=ignore_index)


def group_norm_python(
    data: Array, gamma: Array, beta: Array, num_groups: int, channel_axis: int, axes: Any, epsilon: float = 1e-5
) -> Array:
    """Group normalization along all axes but the first one."""
    del axes
    return _one(relay.nn.group_norm, data, gamma, beta, num_groups=num_groups, axis=channel_axis, epsilon=epsilon)


def dense(
    x: Array, y: Array, bias: Array | None, use_bias: bool = False, use_relu: bool = False, out_dtype: Any = None
) -> Array:
    """The product with a transposed weight, a bias and a relu if they are asked for."""
    product = np.asarray(_one(relay.nn.dense, x, y, out_dtype=out_dtype or ""))
    if use_bias and bias is not None:
        product = np.add(product, bias)
    return np.maximum(product, 0) if use_relu else product


def deformable_conv2d_nchw_python(
    a_np: Array,
    offset_np: Array,
    w_np: Array,
    stride: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
) -> Array:
    """A convolution whose windows read where offsets say, of NCHW data."""
    strides, size = _each(stride, 2), list(w_np.shape[2:])
    return _one(
        relay.nn.deformable_conv2d,
        a_np,
        offset_np,
        w_np,
        strides=strides,
        padding=_pads(padding, a_np.shape[2:], size, strides),
        dilation=_each(dilation, 2),
        deformable_groups=deformable_groups,
        groups=groups,
        kernel_size=size,
        channels=w_np.shape[0],
    )
