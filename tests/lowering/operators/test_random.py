"""Random numbers, compiled; the generator's known answers; and that the numbers are distributed as they should be."""

from __future__ import annotations

import numpy as np
import pytest
from one_operator import run
from operator_cases import FLOATS, Cases, Check, MakeNet

from whence.dialects.relay import random
from whence.dialects.relay.evaluation import evaluate
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.random import DrawNormalOp, DrawUniformOp
from whence.dialects.relay.threefry import ThreefryGenerateOp, ThreefrySplitOp

CASES = Cases()
for dtype in FLOATS:
    CASES.add(DrawNormalOp, shape=[3, 5], dtype=dtype, seed=7, mean=1.0, scale=0.5)
# Both take their bits from one generator, and bring them to a dtype alike.
for dtype in FLOATS[1:3]:
    CASES.add(DrawUniformOp, shape=[3, 5], dtype=dtype, seed=7, low=-1.0, high=3.0)
CASES.add(DrawNormalOp, shape=[], seed=3 << 40)
FULL = (1 << 64) - 1


def key_of(*words: int):
    return np.array(words, np.uint64)


KEYS = (
    key_of(7, 0, FULL, 3, 1 << 63, 0, 0, 5, 1 << 62, 0),
    # No room in the counter, and in the path: where it goes on, at the end of a word, nowhere.
    key_of(1, 2, 3, 4, 5, 6, 0, FULL - 5, 1 << 40, 0),
    key_of(1, 2, 3, 4, 5, 6, 0, FULL - 5, 1, 0),
    key_of(1, 2, 3, 4, 5, 6, 0, FULL - 5, 0, 8),
    key_of(1, 2, 3, 4, 5, 6, 7, FULL - 5, 0, 0),
)
for key in KEYS:
    CASES.add(ThreefryGenerateOp, key, out_shape=[2, 7])
    CASES.add(ThreefrySplitOp, key)
CASES.add(ThreefryGenerateOp, KEYS[0], out_shape=[])
CASES.add(ThreefryGenerateOp, KEYS[0], out_shape=[3, 0])
CASES.add(DrawUniformOp, shape=[100], seed=1 << 40)


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


def test_the_generator_gives_its_known_answers():
    """The first of Random123's test vectors for Threefry-2x32-20: key and counter 0."""
    x, y = random.words((0, 0), 0, 1)
    assert (int(x[0]), int(y[0])) == (0x6B200159, 0x99BA4EFE)


@pytest.mark.parametrize("dtype", FLOATS)
def test_distributions(dtype: str):
    (even,) = evaluate(DrawUniformOp(shape=[200, 500], dtype=dtype, seed=11, low=2.0, high=6.0), [])
    found = even.astype(np.float64)
    assert 2 <= found.min() < found.max() <= 6
    assert abs(found.mean() - 4) < 0.02
    assert abs(found.var() - 16 / 12) < 0.02
    (bell,) = evaluate(DrawNormalOp(shape=[200, 500], dtype=dtype, seed=12, mean=-1.0, scale=2.0), [])
    standard = (bell.astype(np.float64) + 1) / 2
    assert abs(standard.mean()) < 0.015
    assert abs(standard.std() - 1) < 0.01
    # Of a normal distribution 68.3 % lie within one deviation, 0.27 % beyond three.
    assert abs((np.abs(standard) < 1).mean() - 0.6827) < 0.006
    assert abs((np.abs(standard) > 3).mean() - 0.0027) < 0.001
    # Neighbours have nothing to do with each other, nor has another seed.
    (other,) = evaluate(DrawNormalOp(shape=[200, 500], dtype=dtype, seed=13, mean=-1.0, scale=2.0), [])
    for one, two in ((standard[:, 1:], standard[:, :-1]), (standard, (other.astype(np.float64) + 1) / 2)):
        assert abs((one * two).mean()) < 0.015


def test_words_of_64_bits_are_known_answers():
    """The first of Random123's test vectors for Threefry-4x64-20, without the key that it adds in the end."""
    after, words = run(ThreefryGenerateOp, key_of(*[0] * 10), out_shape=[4])
    wanted = [0x09218EBDE6C85537, 0x55941F5266D86105, 0x4BD25E16282434DC, 0xEE29EC846BD2E40B - 5]
    np.testing.assert_array_equal(words, key_of(*wanted))
    np.testing.assert_array_equal(after, key_of(*[0] * 7, 4, 0, 0))


def test_the_counter_goes_on():
    """What is drawn in two uses is what one use draws; all words of the counter count, as in TVM."""
    key = key_of(7, 0, 0, 3, 0, 0, 0, 0, 1 << 63, 0)
    after, words = run(ThreefryGenerateOp, key, out_shape=[8])
    assert after[7] == 8
    moved = key.copy()
    moved[4:8] += np.uint64(1)
    np.testing.assert_array_equal(run(ThreefryGenerateOp, moved, out_shape=[4])[1], words[4:])


def test_a_path_goes_on_bit_by_bit():
    left, right = run(ThreefrySplitOp, key_of(1, 2, 3, 4, 0, 0, 0, 9, 1 << 63, 0))
    np.testing.assert_array_equal(left, key_of(1, 2, 3, 4, 0, 0, 0, 9, 1 << 62, 0))
    np.testing.assert_array_equal(right, key_of(1, 2, 3, 4, 1 << 63, 0, 0, 9, 1 << 62, 0))
    over, _ = run(ThreefrySplitOp, key_of(1, 2, 3, 4, 5, 6, 0, 9, 0, 1))
    np.testing.assert_array_equal(over[8:], key_of(0, 0))
    ended, other = run(ThreefrySplitOp, over)
    np.testing.assert_array_equal(ended[4:], key_of(0, 0, 0, 0, 1 << 62, 0))
    np.testing.assert_array_equal(other[4:], key_of(1 << 63, 0, 0, 0, 1 << 62, 0))
    # A longer path has a counter of its own, and so has a new key.
    full = key_of(1, 2, 3, 4, 0, 0, 0, FULL, 1, 0)
    after, _ = run(ThreefryGenerateOp, full, out_shape=[4])
    np.testing.assert_array_equal(after, key_of(1, 2, 3, 4, 1, 0, 0, 4, 0, 1 << 63))
