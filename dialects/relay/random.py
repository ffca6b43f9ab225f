"""Random numbers: functions of a seed and of where an element stands, so that every run gives the same.

The generator is Threefry-2x32 of 20 rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3; SC 2011), that
of TVM's `random`: an element's two words are the seed's encryption of its row-major position.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, result_def, traits_def

from ..element_types import DTYPES
from ..sizes.types import tensor_of
from .attributes import integer, real, required_ints, string
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import OPAQUE, Stateful

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
"""By how many bits the second word is turned in the rounds, over and over."""
PARITY = 0x1BD11BDA
ROUNDS = 20
MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Random bits of a number in [0, 1): as many as it holds exactly."""


def keys(seed: int) -> tuple[int, int, int]:
    """The words of the key: the halves of a seed of 64 bits, and what makes their parity known."""
    low, high = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    return low, high, PARITY ^ low ^ high


def words(seed: int, count: int) -> tuple[AnyArray, AnyArray]:
    """The two words, of 32 bits, of each position below `count`."""
    key = [np.uint32(word) for word in keys(seed)]
    x = np.arange(count, dtype=np.uint32) + key[0]
    y = np.full(count, key[1], np.uint32)
    for done in range(ROUNDS):
        turn = np.uint32(ROTATIONS[done % len(ROTATIONS)])
        x = x + y
        y = ((y << turn) | (y >> (np.uint32(32) - turn))) ^ x
        if done % 4 == 3:
            block = done // 4 + 1
            x, y = x + key[block % 3], y + key[(block + 1) % 3] + np.uint32(block)
    return x, y


class _Random(Operator):
    """Numbers of `shape` and `dtype`, a float dtype."""

    result = result_def(TensorType)
    shape = required_ints()
    dtype = string("float32")
    seed = integer(0)
    traits = traits_def(OPAQUE, Stateful())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if (dtype := sig.str("dtype")) not in MANTISSA:
            sig.fail(f"a dtype among {', '.join(MANTISSA)}", repr(dtype))
        if any(extent < 0 for extent in sig.ints("shape")):
            sig.fail("extents of at least 0", str(list(sig.ints("shape"))))
        return [tensor_of(DTYPES[dtype], sig.ints("shape"))]


def fractions(seed: int, count: int, dtype: str) -> AnyArray:
    """Numbers in [0, 1), of the bits that `dtype` holds."""
    x, y = words(seed, count)
    kept = MANTISSA[dtype]
    if kept > 32:
        return ((x.astype(np.uint64) << np.uint64(21)) | (y >> np.uint32(11))).astype(np.float64) / 2.0**kept
    return (x >> np.uint32(32 - kept)).astype(np.float32) / np.float32(2.0**kept)


@irdl_op_definition
class SeededUniformOp(_Random):
    """Evenly distributed in [low, high)."""

    name = "relay.random.seeded_uniform"
    low = real(0.0)
    high = real(1.0)

    @classmethod
    def evaluate(cls, sig: Signature) -> AnyArray:
        numbers: Any = fractions(sig.int("seed"), prod(sig.ints("shape")), sig.str("dtype"))
        scalar = numbers.dtype.type
        low, high = sig.get("low"), sig.get("high")
        return (numbers * scalar(high - low) + scalar(low)).reshape(sig.ints("shape"))


@irdl_op_definition
class SeededNormalOp(_Random):
    """Normally distributed, by Box and Muller's transform of the two words."""

    name = "relay.random.seeded_normal"
    mean = real(0.0)
    scale = real(1.0)

    @classmethod
    def evaluate(cls, sig: Signature) -> AnyArray:
        number: Any = np.float64 if sig.str("dtype") == "float64" else np.float32
        x, y = words(sig.int("seed"), prod(sig.ints("shape")))
        above, angle = (((x >> np.uint32(8)) + np.uint32(1)), y >> np.uint32(8))
        radius = np.sqrt(number(-2) * np.log(above.astype(number) * number(2.0**-24)))
        standard = radius * np.cos(angle.astype(number) * number(2 * np.pi * 2.0**-24))
        return (standard * number(sig.get("scale")) + number(sig.get("mean"))).reshape(sig.ints("shape"))
