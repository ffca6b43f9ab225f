"""The references of `topi.testing`, against numpy and sums written out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from whence import topi
from whence.support.errors import FrontendError

testing: Any = topi.testing
RANDOM = np.random.default_rng(2)


def a(*shape: int) -> Any:
    return RANDOM.random(shape, dtype=np.float32)


def convolved(x: Any, w: Any, stride: int, pad: int) -> Any:
    """NC.. data and OI.. weights, window by window."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(pad, pad)] * rank])
    extents = [(n - k) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    found = np.zeros((x.shape[0], w.shape[0], *extents), np.float32)
    for at in itertools.product(*map(range, extents)):
        window = tuple(slice(i * stride, i * stride + k) for i, k in zip(at, w.shape[2:], strict=True))
        axes = list(range(1, rank + 2))
        found[(slice(None), slice(None), *at)] = np.tensordot(x[(..., *window)], w, (axes, axes))
    return found


@pytest.mark.parametrize(("stride", "pad"), [(1, 1), (2, 0)])
def test_convolutions(stride: int, pad: int) -> None:
    for rank, function in ((1, testing.conv1d_ncw_python), (2, testing.conv2d_nchw_python)):
        x, w = a(2, 3, *[7] * rank), a(4, 3, *[3] * rank)
        np.testing.assert_allclose(function(x, w, stride, pad), convolved(x, w, stride, pad), rtol=1e-4)
    x, w = a(2, 7, 7, 3), a(3, 3, 3, 4)
    expected = convolved(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), stride, pad).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(testing.conv2d_nhwc_python(x, w, stride, pad), expected, rtol=1e-4)
    same = testing.conv2d_nhwc_python(x, w, 1, "SAME")
    assert same.shape == (2, 7, 7, 4)
    assert testing.conv2d_nhwc_python(x, w, 1, "VALID").shape == (2, 5, 5, 4)


def test_a_transposed_convolution_is_the_adjoint() -> None:
    x, w, y = a(1, 4, 9, 9), a(3, 4, 3, 3), a(1, 3, 4, 4)
    forward = testing.conv2d_nchw_python(x, w, 2, 0)
    back = testing.conv2d_transpose_nchw_python(y, w, (2, 2), (0, 0), (0, 0))
    np.testing.assert_allclose((forward * y).sum(), (x * back).sum(), rtol=1e-4)


def test_everything_else_is_as_numpy_has_it() -> None:
    x = a(2, 4, 6, 6)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(testing.softmax_python(x), e / e.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(testing.log_softmax_python(x), np.log(e / e.sum(1, keepdims=True)), rtol=1e-4)
    p, q = a(2, 3, 4), a(2, 5, 4)
    np.testing.assert_allclose(testing.batch_matmul(p, q), p @ q.transpose(0, 2, 1), rtol=1e-5)
    np.testing.assert_array_equal(testing.strided_slice_python(x, [0, 1], [2, 4], [1, 2]), x[0:2, 1:4:2])
    np.testing.assert_array_equal(testing.strided_slice_python(x, [0, 1], [2, 2], None, "size"), x[0:2, 1:3])
    dilated = testing.dilate_python(p, (1, 2, 1))
    np.testing.assert_array_equal(dilated[:, ::2], p)
    assert not dilated[:, 1::2].any()
    indices = np.array([[0, 1], [1, 0]], np.int32)
    np.testing.assert_array_equal(testing.gather_nd_python(x, indices), x[indices[0], indices[1]])
    columns = np.array([[[0], [3], [1]]] * 2)
    np.testing.assert_array_equal(testing.gather_python(p, 2, columns), np.take_along_axis(p, columns, 2))
    hot = testing.one_hot(np.array([2, 0], np.int32), 1.0, 0.0, 3, -1, "float32")
    np.testing.assert_array_equal(hot, np.eye(3, dtype=np.float32)[[2, 0]])
    pool = testing.poolnd_python(x, (2, 2), (2, 2), (1, 1), (0, 0), (0, 0), "max")
    np.testing.assert_array_equal(pool, x.reshape(2, 4, 3, 2, 3, 2).max((3, 5)))
    mean = testing.poolnd_python(x, (2, 2), (2, 2), (1, 1), (0, 0), (0, 0), "avg")
    np.testing.assert_allclose(mean, x.reshape(2, 4, 3, 2, 3, 2).mean((3, 5)), rtol=1e-5)
    np.testing.assert_array_equal(testing.adaptive_pool(x, (3, 3), "max", "NCHW"), pool)
    np.testing.assert_array_equal(testing.resize2d_python(x, (2, 2), "NCHW"), x.repeat(2, 2).repeat(2, 3))
    np.testing.assert_allclose(
        testing.l2_normalize_python(x, 1e-6, (1,)), x / np.sqrt((x * x).sum(1, keepdims=True)), rtol=1e-4
    )
    np.testing.assert_array_equal(testing.searchsorted_ref(np.arange(5.0), np.array([1.0, 2.5]), True, "int32"), [2, 3])
    deep = testing.space_to_depth_python(x, 2)
    np.testing.assert_array_equal(testing.depth_to_space_python(deep, 2), x)
    batches = testing.space_to_batch_nd_python(x.transpose(0, 2, 3, 1), (2, 2), (0, 0), (0, 0))
    back = testing.batch_to_space_nd_python(batches, (2, 2), (0, 0), (0, 0))
    np.testing.assert_array_equal(back, x.transpose(0, 2, 3, 1))
    masked = testing.sequence_mask(p, np.array([1, 2, 0, 2], np.int32)[:3], -1.0, 0)
    np.testing.assert_array_equal(masked[:, 2], np.full((2, 4), -1, np.float32))
    with pytest.raises(FrontendError, match="expected pool_type max or avg"):
        testing.poolnd_python(x, (2, 2), (2, 2), (1, 1), (0, 0), (0, 0), "sum")


def test_images_and_their_regions() -> None:
    x, w = a(2, 4, 5, 5), a(3, 4, 3, 3)
    still = np.zeros((2, 18, 5, 5), np.float32)
    np.testing.assert_allclose(
        testing.deformable_conv2d_nchw_python(x, still, w, 1, 1, 1, 1, 1), convolved(x, w, 1, 1), rtol=1e-4
    )
    regions = np.array([[1, 0, 1, 4, 3]], np.float32)
    planes = testing.roi_align_nchw_python(x, regions, 2, 1.0, 2)
    rows = testing.roi_align_nhwc_python(x.transpose(0, 2, 3, 1), regions, 2, 1.0, 2)
    np.testing.assert_allclose(rows, planes.transpose(0, 2, 3, 1), rtol=1e-5)
    axes = np.linspace(-1, 1, 5, dtype=np.float32)
    own = np.repeat(np.stack(np.meshgrid(axes, axes))[None], 2, 0)
    np.testing.assert_allclose(testing.grid_sample_python(x, own), x, rtol=1e-4)
    whole, first = np.array([[0, 0, 1, 1]], np.float32), np.array([1], np.int32)
    np.testing.assert_allclose(testing.crop_and_resize_python(x, whole, first, (5, 5), "NCHW"), x[1:], rtol=1e-5)
    np.testing.assert_array_equal(testing.reorg_python(x, 1), x)


def test_norms_and_products() -> None:
    x, scale, shift = a(2, 4, 3), a(4), a(4)
    groups = x.reshape(2, 2, -1)
    even = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    expected = even.reshape(x.shape) * scale[:, None] + shift[:, None]
    np.testing.assert_allclose(testing.group_norm_python(x, scale, shift, 2, 1, (2,)), expected, rtol=1e-3, atol=1e-5)
    y, bias = a(3, 4), a(3) - 3
    product = x[:, :, 0] @ y.T
    np.testing.assert_allclose(testing.dense(x[:, :, 0], y, None), product, rtol=1e-5)
    np.testing.assert_allclose(
        testing.dense(x[:, :, 0], y, bias, True, True), np.maximum(product + bias, 0), rtol=1e-4, atol=1e-6
    )


def test_slices_that_are_set_leave_out_what_is_whole() -> None:
    x, v = a(3, 4, 3), a(2, 3, 3)
    wanted = x.copy()
    wanted[1:4, 1:4] = v
    for begin, end in (([1, 1, 0], [4, 4]), ([1, 1], [4, 1000, 3])):
        np.testing.assert_array_equal(testing.strided_set_python(x, v, begin, end), wanted)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_negative_log_likelihoods(reduction: str) -> None:
    predictions, weights = a(6, 4), a(4)
    targets = np.array([0, 3, 2, 1, 1, 0], np.int32)
    picked = -predictions[np.arange(6), targets] * weights[targets]
    wanted = {"none": picked, "sum": picked.sum(), "mean": picked.sum() / weights[targets].sum()}[reduction]
    np.testing.assert_allclose(testing.nll_loss(predictions, targets, weights, reduction), wanted, rtol=1e-5)
