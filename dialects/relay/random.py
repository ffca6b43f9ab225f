"""Random numbers: functions of a key, of a counter and of where an element stands.

The generator is Threefry-2x32 of 20 rounds (`runtime/program/random_state.py`): an element's two words are the key's
encryption of its row-major position and of a second number. An operator with a seed takes the seed as the key and the
program's counter as that number; one without takes the key that the program has for a run, and its own number in the
program.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, opt_operand_def, result_def, traits_def

from ...runtime.program.random_state import WORDS as STATE_WORDS
from ...runtime.program.random_state import RandomState, encrypted, halves
from ..element_types import DTYPES
from ..sizes.types import tensor_of
from .attributes import integer, optional_integer, real, required_ints, string
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import OPAQUE, Stateful

MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Random bits of a number in [0, 1): as many as it holds exactly."""


def words(key: tuple[int, int], second: int, count: int) -> tuple[AnyArray, AnyArray]:
    """The two words, of 32 bits, of each position below `count`."""
    return encrypted(key, np.arange(count, dtype=np.uint32), np.full(count, second, np.uint32))


class Draw(Operator):
    """Numbers of `shape` and `dtype`, a float dtype.

    state: the words of the program's state. Without them, an operator with a seed gives what it gives in the first run,
    and one without draws anew.
    seed: a number of 64 bits. stream: the operator's number among those without a seed.
    """

    state = opt_operand_def(TensorType)
    result = result_def(TensorType)
    shape = required_ints()
    dtype = string("float32")
    seed = optional_integer()
    stream = integer(0)
    traits = traits_def(OPAQUE, Stateful())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if (dtype := sig.str("dtype")) not in MANTISSA:
            sig.fail(f"a dtype among {', '.join(MANTISSA)}", repr(dtype))
        if any(extent < 0 for extent in sig.ints("shape")):
            sig.fail("extents of at least 0", str(list(sig.ints("shape"))))
        if sig.types and (sig.shape(0) != (STATE_WORDS,) or sig.types[0].element_type != DTYPES["uint32"]):
            sig.fail(f"a state of {STATE_WORDS} uint32", str(sig.types[0]))
        return [tensor_of(DTYPES[dtype], sig.ints("shape"))]

    @classmethod
    def words(cls, sig: Signature, state: AnyArray | None) -> tuple[AnyArray, AnyArray]:
        """The two words of each element."""
        first, second, counter, _ = (int(word) for word in (RandomState().current() if state is None else state))
        count, seed = prod(sig.ints("shape")), sig.get("seed")
        if seed is None:
            return words((first, second), sig.int("stream"), count)
        return words(halves(sig.int("seed")), counter, count)


def fractions(x: AnyArray, y: AnyArray, dtype: str) -> AnyArray:
    """Numbers in [0, 1), of the bits that `dtype` holds."""
    kept = MANTISSA[dtype]
    if kept > 32:
        return ((x.astype(np.uint64) << np.uint64(21)) | (y >> np.uint32(11))).astype(np.float64) / 2.0**kept
    return (x >> np.uint32(32 - kept)).astype(np.float32) / np.float32(2.0**kept)


@irdl_op_definition
class DrawUniformOp(Draw):
    """Evenly distributed in [low, high)."""

    name = "relay.random.draw_uniform"
    low = real(0.0)
    high = real(1.0)

    @classmethod
    def evaluate(cls, sig: Signature, state: AnyArray | None = None) -> AnyArray:
        numbers: Any = fractions(*cls.words(sig, state), sig.str("dtype"))
        scalar = numbers.dtype.type
        low, high = sig.get("low"), sig.get("high")
        return (numbers * scalar(high - low) + scalar(low)).reshape(sig.ints("shape"))


@irdl_op_definition
class DrawNormalOp(Draw):
    """Normally distributed, by Box and Muller's transform of the two words."""

    name = "relay.random.draw_normal"
    mean = real(0.0)
    scale = real(1.0)

    @classmethod
    def evaluate(cls, sig: Signature, state: AnyArray | None = None) -> AnyArray:
        number: Any = np.float64 if sig.str("dtype") == "float64" else np.float32
        x, y = cls.words(sig, state)
        above, angle = (((x >> np.uint32(8)) + np.uint32(1)), y >> np.uint32(8))
        radius = np.sqrt(number(-2) * np.log(above.astype(number) * number(2.0**-24)))
        standard = radius * np.cos(angle.astype(number) * number(2 * np.pi * 2.0**-24))
        return (standard * number(sig.get("scale")) + number(sig.get("mean"))).reshape(sig.ints("shape"))
