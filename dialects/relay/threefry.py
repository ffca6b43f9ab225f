"""Random bits as TVM's generator gives them: Threefry-4x64 of 20 rounds, of a key that every use hands on.

The generator of Salmon et al. (Parallel random numbers: as easy as 1, 2, 3; SC 2011), without the key that is added
after the last round. A key is ten words: four of the cipher's key, two of a path of splits, two of a counter, of which
the last one counts, and two with one bit where the path goes on (Claessen and Palka, Splittable pseudorandom number
generators using cryptographic hashing; Haskell 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..element_types import DTYPES
from ..sizes.types import tensor_of
from .attributes import required_ints
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import OPAQUE

ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
PARITY = 0x1BD11BDAA9FC1A22
ROUNDS = 20
WORDS = 10
FULL = (1 << 64) - 1


class Words:
    """Arithmetic of words of 64 bits: of numpy's here, of the te language where a kernel is made."""

    @staticmethod
    def const(value: int) -> Any:
        return np.uint64(value)

    @staticmethod
    def select(where: Any, this: Any, other: Any) -> Any:
        return cast(Any, np).where(where, this, other)

    @staticmethod
    def xor(a: Any, b: Any) -> Any:
        return a ^ b

    @staticmethod
    def either(a: Any, b: Any) -> Any:
        return a | b

    @staticmethod
    def left(a: Any, bits: int) -> Any:
        return a << np.uint64(bits)

    @staticmethod
    def right(a: Any, bits: int) -> Any:
        return a >> np.uint64(bits)

    @staticmethod
    def equal(a: Any, value: int) -> Any:
        return a == np.uint64(value)

    @staticmethod
    def both(a: Any, b: Any) -> Any:
        return a & b


def encrypted(words: type[Words], key: Sequence[Any], counter: Sequence[Any]) -> list[Any]:
    """Four words for four words of a key and four of a counter."""
    parity = words.const(PARITY)
    for word in key:
        parity = words.xor(parity, word)
    key_schedule, x = [*key, parity], list(counter)
    for done in range(ROUNDS):
        if done % 4 == 0:
            block = done // 4
            x = [word + key_schedule[(block + j) % 5] for j, word in enumerate(x)]
            x[3] = x[3] + words.const(block)
        for j, turn in enumerate(ROTATIONS[done % 8]):
            a, b = x[2 * j : 2 * j + 2]
            total = a + b
            x[2 * j : 2 * j + 2] = total, words.xor(total, words.either(words.left(b, turn), words.right(b, 64 - turn)))
        x = [x[0], x[3], x[2], x[1]]
    return x


def further(words: type[Words], key: Sequence[Any]) -> list[Any]:
    """The two words that say where the path goes on, one bit further on."""
    zero, top = words.const(0), words.const(1 << 63)
    high, low = key[8], key[9]
    below = words.select(words.equal(high, 0), words.right(low, 1), zero)
    return [words.right(high, 1), words.select(words.equal(high, 1), top, below)]


def used_up(words: type[Words], key: Sequence[Any]) -> Any:
    """Return whether the path has no room left."""
    return words.both(words.equal(key[8], 0), words.equal(key[9], 0))


def roomy(words: type[Words], key: Sequence[Any], count: int) -> list[Any]:
    """The key whose counter has room for so many words: as it is, with a longer path, or a new one."""
    zero = words.const(0)
    fresh = [*encrypted(words, key[:4], [words.const(FULL)] * 4), zero, zero, zero, zero, words.const(1 << 63), zero]
    longer = [*key[:4], words.either(key[4], key[8]), words.either(key[5], key[9]), zero, zero, *further(words, key)]
    enough, over = key[7] < words.const(FULL - count), used_up(words, key)
    return [
        words.select(enough, own, words.select(over, new, moved))
        for own, new, moved in zip(key, fresh, longer, strict=True)
    ]


def halves(words: type[Words], key: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The two keys that a key splits into."""
    zero, over = words.const(0), used_up(words, key)
    fresh, ahead = encrypted(words, key[:4], key[4:8]), further(words, key)
    begun = [zero, zero, zero, words.const(1 << 62), zero]
    ends = [(key[4], key[5], zero), (words.either(key[4], key[8]), words.either(key[5], key[9]), words.const(1 << 63))]
    both = [
        [
            words.select(over, new, own)
            for new, own in zip([*fresh, path, *begun], [*key[:4], high, low, *key[6:8], *ahead], strict=True)
        ]
        for high, low, path in ends
    ]
    return both[0], both[1]


class _OfKey(Operator):
    """Operators of a key."""

    key = operand_def(TensorType)
    traits = traits_def(OPAQUE)

    @classmethod
    def key_type(cls, sig: Signature) -> Tensor:
        if sig.rank(0, 1) != (WORDS,) or sig.types[0].element_type != DTYPES["uint64"]:
            sig.fail(f"a key of {WORDS} uint64", str(sig.types[0]))
        return sig.types[0]


@irdl_op_definition
class ThreefryGenerateOp(_OfKey):
    """The key for the next use, and random words (uint64) of `out_shape`, four for each number that is counted."""

    name = "relay.random.threefry_generate"
    new_key = result_def(TensorType)
    random_array = result_def(TensorType)
    out_shape = required_ints()

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if any(extent < 0 for extent in sig.ints("out_shape")):
            sig.fail("extents of at least 0", str(list(sig.ints("out_shape"))))
        return [cls.key_type(sig), tensor_of(DTYPES["uint64"], sig.ints("out_shape"))]

    @classmethod
    def counted(cls, sig: Signature) -> int:
        """Return the number of words that are made: four at a time."""
        return -(-prod(sig.ints("out_shape")) // 4) * 4

    @classmethod
    def evaluate(cls, sig: Signature, key: AnyArray) -> tuple[AnyArray, ...]:
        shape, count = sig.ints("out_shape"), cls.counted(sig)
        with np.errstate(over="ignore"):
            state = roomy(Words, list(key), count)
            blocks = np.arange(count // 4, dtype=np.uint64)
            words = np.stack(encrypted(Words, state[:4], [word + blocks for word in state[4:8]]), -1)
            state[6], state[7] = np.uint64(0), state[7] + np.uint64(count)
        return np.array(state, np.uint64), words.reshape(-1)[: prod(shape)].reshape(shape)


@irdl_op_definition
class ThreefrySplitOp(_OfKey):
    """Two keys whose numbers have nothing to do with each other."""

    name = "relay.random.threefry_split"
    left = result_def(TensorType)
    right = result_def(TensorType)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [cls.key_type(sig)] * 2

    @classmethod
    def evaluate(cls, sig: Signature, key: AnyArray) -> tuple[AnyArray, ...]:
        with np.errstate(over="ignore"):
            left, right = halves(Words, list(key))
        return np.array(left, np.uint64), np.array(right, np.uint64)
