"""Operators on quantised tensors, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import run
from operator_cases import Cases, Check, MakeNet, random

from whence.dialects.relay import qnn, qnn_elementwise, qnn_products
from whence.dialects.relay.operator import Operator

CASES = Cases()
F, Z = np.float32, np.int32


def zeros(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, Z)


PARAMETERS = (F(0.03), Z(3), F(0.02), Z(-7))
for dtype, point in (("int8", -5), ("uint8", 120), ("int16", 0), ("int4", 1), ("float8_e5m2", 0)):
    CASES.add(qnn.QuantizeOp, "3x5", F(0.03), Z(point), constants=2, out_dtype=dtype)
CASES.add(qnn.QuantizeOp, "2x3x5", np.array([0.1, 0.02, 3], F), zeros(1, -2, 3), constants=2, axis=1)
CASES.add(qnn.QuantizeOp, "2x3", np.array([[0.1], [0.02]], F), zeros(1).reshape(1, 1), constants=2)
for dtype in ("int8", "uint8", "int32"):
    CASES.add(qnn.DequantizeOp, f"3x5 {dtype}", F(0.03), Z(7), constants=2)
CASES.add(qnn.DequantizeOp, "2x3x5 uint8", np.array([0.1, 0.02, 3], F), zeros(1, 200, 3), constants=2, axis=1)
SUMS = (np.arange(-4000, 4000, 7, dtype=np.int32) * 5).reshape(-1, 3)
ROUNDED = [{"compute_dtype": dtype, "rounding": to} for dtype in qnn.FLOAT_COMPUTE for to in ("UPWARD", "TONEAREST")]
for attributes in ({}, {"rounding": "TONEAREST"}, {"compute_dtype": "float32", "rounding": "TOEVEN"}, *ROUNDED):
    CASES.add(qnn.RequantizeOp, SUMS, F(0.5), Z(0), F(64), Z(3), constants=4, **attributes)
    scales = np.array([0.5, 0.001, 2.5], F)
    CASES.add(qnn.RequantizeOp, SUMS, scales, Z(0), F(16), Z(100), constants=4, out_dtype="uint8", **attributes)


def per_axis(
    x: str | np.ndarray[Any, Any], multiplier: np.ndarray[Any, Any], shift: np.ndarray[Any, Any], to: str, **more: Any
):
    left, right, required = qnn.split_shifts(shift)
    attributes = {"rounding": to, **required, **more}
    CASES.add(qnn.FixedPointMultiplyPerAxisOp, x, multiplier, left, right, constants=3, **attributes)


for rounding in ("UPWARD", "TONEAREST"):
    per_axis("4x3 int32", zeros(1 << 30, 2**31 - 1, 12345), zeros(0, 1, -9), rounding)
# A shift that is not required is not read.
CASES.add(qnn.FixedPointMultiplyPerAxisOp, "4x3 int32", zeros(1 << 30), zeros(3), zeros(5), is_rshift_required=True)
CASES.add(qnn.FixedPointMultiplyPerAxisOp, "4x3 int32", zeros(1 << 30), zeros(3), zeros(5), is_lshift_required=True)
ENDS = np.array([-(2**31), 1 - 2**31, -(2**30), -3, -2, -1, 0, 1, 2, 3, 2**30, 2**31 - 2, 2**31 - 1], np.int64)
WIDE = np.concatenate([ENDS, np.random.default_rng(0).integers(-(2**31), 2**31, 95)]).astype(Z).reshape(-1, 3)
for shifts in (zeros(0, -1, -31), zeros(2, -5, -30)):
    for data in (WIDE, WIDE >> 20):
        per_axis(data, zeros(1 << 30, 2**31 - 1, 1717986919), shifts, "DOUBLE")
HALVES = (
    np.concatenate([(ENDS[2:-1] >> 1), (2 * np.arange(-40, 40) + 1) * 16, np.arange(-5, 7)]).astype(Z).reshape(-1, 3)
)
for shifts in (zeros(-1, -5, -29), zeros(-4, -5, -6)):
    for data in (WIDE >> 2, WIDE >> 20, HALVES):
        per_axis(data, zeros(1 << 30, 2**31 - 1, 1717986919), shifts, "DOUBLE", bounded=True)
for multiplier, shift in ((1 << 30, 0), (2**31 - 1, 3), (-12345, -9), (1 << 30, -31)):
    CASES.add(qnn.FixedPointMultiplyOp, "5x7 int32", multiplier=multiplier, shift=shift)
CASES.add(qnn.FixedPointMultiplyOp, np.arange(-6, 7, dtype=np.int32), multiplier=1 << 30, shift=-1)
for kind in (qnn_elementwise.AddOp, qnn_elementwise.SubtractOp, qnn_elementwise.MulOp):
    CASES.add(kind, "2x3x5 int8", "3x1 int8", *PARAMETERS, F(0.05), Z(9), constants=6)
for kind in (
    *(qnn_elementwise.AbsOp, qnn_elementwise.ErfOp, qnn_elementwise.ExpOp, qnn_elementwise.LeakyReluOp),
    qnn_elementwise.HardswishOp,
    *(qnn_elementwise.SigmoidOp, qnn_elementwise.SoftmaxOp, qnn_elementwise.TanhOp),
):
    CASES.add(kind, "3x7 int8", *PARAMETERS, constants=4)
for kind in (qnn_elementwise.LogOp, qnn_elementwise.RsqrtOp, qnn_elementwise.SqrtOp):
    CASES.add(kind, np.arange(1, 120, dtype=np.uint8), F(0.03), Z(0), F(0.02), Z(7), constants=4)
WINDOWS: tuple[dict[str, Any], ...] = (
    {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 0, 1, 1)},
    {"pool_size": (3, 3), "padding": (1, 1), "count_include_pad": True},
    {"pool_size": (2, 2), "strides": (2, 2), "ceil_mode": True},
    {"pool_size": (7, 5)},
)
for window in WINDOWS:
    CASES.add(qnn_elementwise.AvgPool2DOp, "2x3x7x5 uint8", F(0.0314), Z(120), F(0.0217), Z(99), constants=4, **window)

ONE = F(1)
CONVOLUTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("2x3x7x6 uint8", "5x3x3x2 int8", {"padding": (1, 1, 0, 2), "strides": (2, 1)}),
    ("1x16x5x5 int8", "32x16x1x1 int8", {}),
    ("1x8x5x5 int8", "6x4x3x3 uint8", {"groups": 2, "dilation": (2, 1), "padding": (2, 1)}),
    ("1x4x5x5 uint8", "4x1x3x3 int8", {"groups": 4, "padding": (1, 1)}),
)
for k, (data, weight, attributes) in enumerate(CONVOLUTIONS):
    outputs = int(weight.split("x")[0])
    points = np.arange(outputs, dtype=Z) - 2
    point, constants = (Z(3), 4) if k % 2 else (points, 5)
    CASES.add(qnn_products.Conv2DOp, data, weight, Z(9), point, ONE, ONE, constants=constants, **attributes)
CASES.add(
    qnn_products.Conv2DOp, "1x4x3x3 uint8", "4x1x2x2 int8", Z(9), zeros(0, 1, -2, 3), ONE, ONE, constants=5, groups=4
)
CASES.add(
    *(qnn_products.Conv2DTransposeOp, "1x4x5x4 uint8", "4x3x3x2 int8", Z(9), Z(3), ONE, ONE),
    constants=4,
    strides=(2, 1),
    padding=(1, 0),
)
CASES.add(qnn_elementwise.HardswishOp, "3x7 int8", F(0.03), Z(3), F(0.02), Z(-7), constants=0)
NHWC: dict[str, Any] = {"data_layout": "NHWC", "kernel_layout": "HWIO", "padding": (1, 0)}
CASES.add(qnn_products.Conv2DOp, "2x7x6x3 uint8", "3x2x3x5 int8", Z(9), Z(3), ONE, ONE, constants=4, **NHWC)
CASES.add(qnn_products.DenseOp, "5x13 uint8", "7x13 int8", Z(100), np.arange(7, dtype=Z), ONE, ONE, constants=5)
CASES.add(qnn_products.DenseOp, "5x16 int8", "32x16 int8", Z(-3), Z(0), ONE, ONE, constants=4)
CASES.add(
    qnn_products.DenseOp, "5x13 uint8", "7x13 int8", np.arange(5, dtype=Z).reshape(5, 1), Z(0), ONE, ONE, constants=0
)
for flips in ({}, {"transpose_b": False}, {"transpose_a": True}):
    left = "2x9x5 int8" if "transpose_a" in flips else "2x5x9 int8"
    right = "1x9x4 uint8" if flips.get("transpose_b") is False else "1x4x9 uint8"
    CASES.add(qnn_products.BatchMatmulOp, left, right, Z(3), Z(100), ONE, ONE, constants=4, **flips)
for parts in (2, 4):
    CASES.add(qnn_products.PackWordsOp, "3x7 int8", Z(3), constants=1, parts=parts)
    CASES.add(qnn_products.PackWordsOp, "8x3 uint8", np.arange(8, dtype=Z), constants=1, axis=0, parts=parts)


CASES.add(qnn_products.PackWordsOp, "3x7 int8", Z(0), constants=1, dtype="int16")
CASES.add(qnn_products.DenseOp, "1x13 uint8", "40x13 int8", Z(100), Z(0), ONE, ONE, constants=4)


def words(shape: str) -> Any:
    """Weights in words, of which the products' sums stay far from the end of int32."""
    return random([int(extent) for extent in shape.split("x")], "int32")


CASES.add(
    *(qnn_products.ContribConv2DNCHWcOp, "1x2x6x6x16 uint8", words("3x2x3x3x8x8"), Z(7), None),
    kernel_size=(3, 3),
    padding=(1, 1),
)
CASES.add(
    *(qnn_products.ContribConv2DNCHWcOp, "1x3x9x7x1 uint8", words("2x3x3x2x1x8"), Z(7), None),
    kernel_size=(3, 4),
    padding=(1, 2),
    strides=(2, 1),
    dilation=(1, 2),
    along="W",
)
CASES.add(
    *(qnn_products.ContribConv2DNCHWcOp, "1x3x9x7x1 uint8", words("2x1x3x4x1x8") & 0xFFFFFF, Z(0), None),
    kernel_size=(3, 4),
    padding=(1, 2),
    strides=(2, 1),
    along="I",
    parts=4,
)
CASES.add(qnn_products.ContribConv2DNCHWcOp, "1x1x4x4x3 int8", words("1x1x1x1x2x4"), Z(7), None)
CASES.add(qnn_products.ContribDensePackOp, "5x15 uint8", words("2x8x8"), Z(7), None)
CASES.add(qnn_products.ContribDensePackOp, "2x15 uint8", random([2, 8, 8], "int16"), Z(7), None)
CASES.add(
    *(qnn_products.ContribDepthwiseConv2DNCHWcOp, "1x2x6x6x8 int8", words("2x1x3x2x1x8") & 0xFFFF, Z(7), None),
    kernel_size=(3, 3),
    padding=(1, 1),
    groups=16,
    strides=(2, 1),
)
CASES.add(qnn_elementwise.MultiplyAddOp, "2x3 uint8", F(0.3), "3")
CASES.add(qnn_elementwise.MultiplyAddOp, "2x3", "2x1", "2x3")


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


def test_halves_of_floats_go_where_rounding_says():
    """What TVM 0.14 says of its own: a sum of 8 in steps of 16 is 1, of -8 is 0 upwards and -1 away from zero."""
    sums, step = np.array([-24, -8, -7, 7, 8, 24], np.int32), (F(1), Z(0), F(16), Z(0))
    for dtype in ("int64", *qnn.FLOAT_COMPUTE):
        for rounding, wanted in (("UPWARD", [-1, 0, 0, 0, 1, 2]), ("TONEAREST", [-2, -1, 0, 0, 1, 2])):
            (found,) = run(qnn.RequantizeOp, sums, *map(np.asarray, step), compute_dtype=dtype, rounding=rounding)
            assert found.tolist() == wanted, (dtype, rounding)
