"""Casts to and from every small dtype, compiled: all bytes of it, and numbers between and beyond its own."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from operator_cases import Cases, Check, MakeNet

from whence.dialects.relay.elementwise import CastOp, ReinterpretOp
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.small_dtypes import converted
from whence.dialects.relay.transform import ConcatenateOp, StridedSliceOp, TransposeOp
from whence.support.dtypes import SMALL, bits, is_float, numpy_of

CASES = Cases()
EVERY_BYTE = np.arange(256, dtype=np.uint8)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 1e9, -1e9, 0.0, -0.0, 1e-9, -1e-9, 1e-40], np.float32)


def _numbers(dtype: str) -> np.ndarray:
    """The numbers of a small float, what lies halfway between neighbours, and what lies beside that."""
    with np.errstate(all="ignore"):
        own = np.unique(EVERY_BYTE[: 1 << bits(dtype)].view(numpy_of(dtype)).astype(np.float32))
    own = own[np.isfinite(own)]
    between = (own[1:] + own[:-1]) / 2
    beside = [np.nextafter(between, np.float32(end), dtype=np.float32) for end in (-np.inf, np.inf)]
    return np.concatenate([own, between, *beside, own[-8:] * np.float32(1.04), SPECIAL])


for k, dtype in enumerate(SMALL):
    stored = EVERY_BYTE[: 1 << bits(dtype)].view(numpy_of(dtype))
    CASES.add(CastOp, stored, dtype=("float32", "float16")[k % 2])
    if not is_float(dtype):
        CASES.add(CastOp, stored, dtype="int8")
        CASES.add(CastOp, np.arange(-40, 40, dtype=np.int8), dtype=dtype)
        CASES.add(CastOp, np.linspace(-9, 20, 90, dtype=np.float32), dtype=dtype)
    elif dtype == "float8_e8m0fnu":
        for mode in ("up", "down", "nearest"):
            CASES.add(CastOp, _numbers(dtype), dtype=dtype, round_mode=mode)
    else:
        CASES.add(CastOp, _numbers(dtype), dtype=dtype)
    CASES.add(ReinterpretOp, stored, dtype="int8" if bits(dtype) == 8 else f"uint{bits(dtype)}")
    CASES.add(TransposeOp, stored[:4].reshape(2, 2))
    CASES.add(ConcatenateOp, stored[:3], stored[1:4], axis=0)
    CASES.add(StridedSliceOp, stored[:4], begin=(1,), end=(3,), strides=(1,))
for source, target in (("int4", "float4_e2m1fn"), ("uint2", "int2"), ("int8", "float8_e5m2")):
    CASES.add(ReinterpretOp, EVERY_BYTE[: 1 << bits(source)].view(numpy_of(source)), dtype=target)
for source, target in (
    *(
        ("float32", "int32"),
        ("uint32", "float32"),
        ("float64", "uint64"),
        ("int64", "float64"),
        ("float16", "bfloat16"),
    ),
    *(("bfloat16", "int16"), ("uint16", "float16"), ("int8", "uint8"), ("bool", "int8"), ("uint8", "bool")),
):
    CASES.add(ReinterpretOp, f"3x19 {source}", dtype=target)
CASES.add(ReinterpretOp, "scalar", dtype="uint32")


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


def test_powers_of_two():
    x = np.array([1.0, 1.1, 1.5, 1.9, 2.0, 0.0, 2.0**-127, 2.0**-130, 3.4e38, -1.0, np.nan], np.float32)
    codes = {
        "up": [127, 128, 128, 128, 128, 0, 0, 0, 254, 255, 255],
        "down": [127, 127, 127, 127, 128, 0, 0, 0, 254, 255, 255],
        "nearest": [127, 127, 128, 128, 128, 0, 0, 0, 254, 255, 255],
    }
    for mode, wanted in codes.items():
        assert converted(x, "float8_e8m0fnu", mode).view(np.uint8).tolist() == wanted
    assert converted(x[:1], "float8_e8m0fnu").dtype == ml_dtypes.float8_e8m0fnu
