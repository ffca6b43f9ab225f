"""Operators that move, sort and sample data, against onnxruntime on random numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from against_onnxruntime import Array, check_node, one_node
from onnx import helper

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.onnx import from_onnx
from whence.support.errors import FrontendError

_RANDOM = np.random.default_rng(11)


def _floats(*shape: int) -> Array:
    return _RANDOM.standard_normal(shape).astype(np.float32)


def _indices(low: int, high: int, *shape: int, dtype: str = "int64") -> Array:
    return _RANDOM.integers(low, high, shape).astype(dtype)


def test_gathers() -> None:
    check_node("GatherElements", _floats(3, 5, 7), _indices(-7, 7, 2, 5, 9), axis=2)
    check_node("GatherElements", _floats(3, 5).astype(np.int16), _indices(-3, 3, 4, 5, dtype="int32"))
    check_node("GatherND", _floats(3, 5, 7), _indices(-3, 3, 4, 2))
    check_node("GatherND", _floats(3, 5, 7), _indices(-5, 5, 3, 2, 1), batch_dims=1)
    check_node("GatherND", _floats(3, 5), _indices(0, 3, 2))
    check_node("ReverseSequence", _floats(5, 3, 2), np.array([5, 1, 3]))
    check_node("ReverseSequence", _floats(3, 5), np.array([5, 1, 3]), time_axis=1, batch_axis=0)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_scatters(reduction: str) -> None:
    places = np.stack([_RANDOM.permutation(6)[:4] - 6, _indices(0, 5, 4)], -1)
    check_node("ScatterND", _floats(6, 5, 3), places, _floats(4, 3), reduction=reduction)
    rows = np.stack([_RANDOM.permutation(6) - 3 for _ in range(4)], 1) % 6
    check_node("ScatterElements", _floats(6, 5), rows, _floats(6, 4), reduction=reduction)
    if reduction != "none":
        check_node("ScatterND", _floats(3, 2), _indices(0, 3, 9, 1), _floats(9, 2), reduction=reduction)


def test_scatter_of_old() -> None:
    check_node("Scatter", _floats(3, 5), np.array([[0, -1, 2]]), _floats(1, 3), axis=1, opset=9)


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_one_hot(dtype: str) -> None:
    indices = _indices(-7, 7, 3, 4, dtype=dtype)
    for axis in (-1, 0, 1):
        check_node("OneHot", indices, np.array(5), np.array([2, 7]), known=(1,), axis=axis)
    check_node("OneHot", indices, np.array([3.0], np.float32), np.array([0, 1], np.float32), known=(1,))


def test_topk() -> None:
    few = _indices(0, 5, 4, 30).astype(np.float32)
    for k, largest in product((1, 5, 30), (0, 1)):
        check_node("TopK", few, np.array([k]), known=(1,), outputs=(True, True), largest=largest)
    check_node("TopK", few, np.array([3]), known=(1,), outputs=(True, True), axis=0)
    check_node("TopK", few, np.array([3]), known=(1,), outputs=(True, True), opset=10)
    check_node("TopK", few, outputs=(True, True), opset=9, k=3)
    check_node("TopK", few.astype(np.int64), np.array([0]), known=(1,), outputs=(True, True))


def test_blocks_and_tiles() -> None:
    for mode in ("DCR", "CRD"):
        check_node("DepthToSpace", _floats(2, 12, 3, 4), blocksize=2, mode=mode)
    check_node("SpaceToDepth", _floats(2, 3, 4, 6), blocksize=2)
    check_node("Tile", _floats(2, 3), np.array([3, 2]), known=(1,))
    check_node("Tile", _floats(2, 3), np.array([0, 2]), known=(1,))
    check_node("CenterCropPad", _floats(5, 6, 3), np.array([8, 3]), known=(1,), axes=[0, 1])
    check_node("Col2Im", _floats(2, 12, 25), np.array([5, 6]), np.array([2, 3]), known=(1, 2), pads=[0, 1, 1, 0])
    numbers = (np.array(7), np.array(-5), np.array(-4))
    check_node("Range", *numbers, known=(0, 1, 2))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pads(mode: str) -> None:
    for pads in ([2, 1, 0, 1], [2, -1, -1, 2]):
        check_node("Pad", _floats(5, 4), np.array(pads), known=(1,), mode=mode)
    check_node("Pad", _floats(2, 5, 4), np.array([1, 2]), None, np.array([-1]), known=(1, 3), mode=mode)


_COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")


@pytest.mark.parametrize("coordinates", _COORDINATES)
def test_resizes(coordinates: str) -> None:
    image = _floats(1, 2, 5, 7)
    for mode, size in product(("nearest", "linear", "cubic"), ((7, 9), (3, 4), (10, 7))):
        arguments: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
        sizes = np.array([1, 2, *size])
        check_node("Resize", image, None, None, sizes, known=(3,), atol=1e-5, opset=19, **arguments)
    scales = np.array([1, 1, 2.0, 0.6], np.float32)
    if coordinates != "align_corners":
        # Where a scaled extent is no whole number, onnxruntime aligns other corners than the standard does.
        check_node("Resize", image, None, scales, known=(2,), mode="linear", opset=19,
                   coordinate_transformation_mode=coordinates)  # fmt: skip


def test_one_element_of_an_axis_is_the_first() -> None:
    how: dict[str, Any] = {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"}
    for exclude in (0, 1):
        check_node(
            "Resize",
            _floats(1, 2, 5, 8),
            None,
            None,
            np.array([1, 2, 1, 4]),
            known=(3,),
            atol=1e-5,
            opset=19,
            exclude_outside=exclude,
            **how,
        )


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest(rounding: str) -> None:
    for size in ((8, 14), (3, 4)):
        check_node("Resize", _floats(1, 2, 5, 7), None, None, np.array([1, 2, *size]), known=(3,), opset=19,
                   nearest_mode=rounding)  # fmt: skip


def test_resizes_of_other_axes() -> None:
    sizes = np.array([3, 9])
    check_node("Resize", _floats(5, 7), None, None, sizes, known=(3,), mode="linear", opset=19)
    check_node("Resize", _floats(2, 4, 5, 3), None, None, np.array([2, 7, 3, 3]), known=(3,), mode="linear", opset=19)
    check_node("Resize", _floats(1, 1, 3, 4, 5), None, None, np.array([1, 1, 5, 3, 7]), known=(3,), mode="linear",
               opset=19)  # fmt: skip
    check_node("Resize", _floats(1, 2, 5, 7), np.array([1, 1, 2, 3], np.float32), known=(1,), opset=10)
    check_node("Upsample", _floats(1, 2, 5, 7), np.array([1, 1, 2, 3], np.float32), known=(1,), opset=9, mode="linear")
    check_node("Upsample", _floats(1, 2, 5, 7), opset=8, scales=[1.0, 1.0, 2.0, 2.0])
    roi = np.array([0, 0, 0.2, -0.35, 1, 1, 0.8, 1.2], np.float32)
    check_node("Resize", _floats(1, 2, 5, 7), roi, None, np.array([1, 2, 4, 6]), known=(1, 3), mode="linear", opset=19,
               coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=4.5)  # fmt: skip


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_samples(padding: str) -> None:
    grid = _RANDOM.uniform(-1.6, 1.6, (2, 4, 5, 2)).astype(np.float32)
    for mode, corners in product(("linear", "nearest", "cubic"), (0, 1)):
        check_node("GridSample", _floats(2, 3, 6, 7), grid, mode=mode, padding_mode=padding, align_corners=corners,
                   rtol=1e-4, atol=1e-5)  # fmt: skip
    volume = _RANDOM.uniform(-1.6, 1.6, (1, 2, 3, 4, 3)).astype(np.float32)
    check_node("GridSample", _floats(1, 2, 3, 4, 5), volume, padding_mode=padding, rtol=1e-4, atol=1e-5)


def test_regions() -> None:
    corners = np.sort(_RANDOM.uniform(0, 16, (5, 2, 2)), axis=1).reshape(5, 4).astype(np.float32)
    images, whose = _floats(2, 3, 9, 8), np.array([0, 1, 1, 0, 1])
    for ratio, how in product((0, 2), ("half_pixel", "output_half_pixel")):
        check_node("RoiAlign", images, corners, whose, output_height=3, output_width=2, sampling_ratio=ratio,
                   spatial_scale=0.5, coordinate_transformation_mode=how)  # fmt: skip
    regions = np.concatenate([whose[:, None], corners], 1).astype(np.float32)
    check_node("MaxRoiPool", images, regions, pooled_shape=[3, 2], spatial_scale=0.5)
    fractions = _RANDOM.uniform(-0.2, 1.2, (5, 4)).astype(np.float32)
    check_node("CropAndResize", images, fractions, whose.astype(np.int32), np.array([4, 3], np.int32), known=(3,),
               domain="com.microsoft", extrapolation_value=1.5)  # fmt: skip


@pytest.mark.parametrize("opset", [17, 20])
def test_transforms(opset: int) -> None:
    signal = _floats(2, 24, 3, 2)
    for inverse, onesided in ((0, 0), (1, 0), (0, 1)):
        data = signal[..., :1] if onesided else signal
        check_node("DFT", data, **_along(opset, 1), inverse=inverse, onesided=onesided, atol=1e-4, opset=opset)
    check_node("DFT", signal, np.array(16), known=(1,), **_along(opset, 1), atol=1e-4, opset=opset)
    window = np.hanning(16).astype(np.float32)
    check_node("STFT", _floats(2, 60, 1), np.array(7), window, known=(1,), opset=opset, atol=1e-4)


def _along(opset: int, axis: int) -> dict[str, Any]:
    """The axis of a DFT: an attribute before opset 20; here the default is that axis in opset 20's place."""
    return {"axis": axis} if opset < 20 else {}


@pytest.mark.parametrize(
    ("op", "inputs", "known", "text"),
    [
        ("GatherElements", (_floats(3, 5), np.array([[5]])), (1,), r"indices in \[-3, 3\), got 5 to 5"),
        ("GatherND", (_floats(3, 5), np.array([[0, -6]])), (1,), r"indices in \[-\[3, 5\], \[3, 5\]\), got -6 to 0"),
        ("ScatterND", (_floats(3), np.array([[3]]), _floats(1)), (1,), r"indices in \[-3, 3\), got 3 to 3"),
        ("TopK", (_floats(3), np.array([4])), (1,), "k from 0 to 3, got 4"),
    ],
)
def test_what_is_refused(op: str, inputs: tuple[Array, ...], known: tuple[int, ...], text: str) -> None:
    model, _ = one_node(op, inputs, known=known, outputs=(True,) * (1 + (op == "TopK")))
    with pytest.raises(FrontendError, match=text):
        from_onnx(model)


@pytest.mark.filterwarnings("ignore::whence.support.errors.FrontendWarning")
@pytest.mark.parametrize("dtype", ["uint32", "float64", "int8"])
def test_bit_cast(dtype: str) -> None:
    """Of opset 26, which onnxruntime does not have: against numpy's view of the bits."""
    x = _floats(3, 5)
    model, _ = one_node("BitCast", [x], opset=26, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    if dtype != "uint32":
        with pytest.raises(FrontendError, match="expected a dtype of 32 bits, got"):
            from_onnx(model)
        return
    (found,) = evaluate_module(from_onnx(model), [x])
    np.testing.assert_array_equal(found, x.view(dtype))
