"""Products of integers packed in words: their sums, and the instructions that machines have for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import whence
from whence import te

Array = NDArray[Any]


def _words(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(-(2**31), 2**31, shape).astype(np.int32)


def _dot(name: str, a: Array, b: Array) -> Array:
    """The sums along the last axis of `a` and the first of `b`, modulo 2^32."""
    first, second = (np.int16, np.int16) if name == "dot2" else (np.uint8, np.int8)
    left = a.view(first).astype(np.int64)
    right = np.ascontiguousarray(b.T).view(second).astype(np.int64)
    return (left @ right.T).astype(np.int32)


@pytest.mark.parametrize("name", ["dot2", "dot4"])
@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_sums_of_words(name: str, lanes: int):
    a, b = _words((3, 7), 0), _words((7, 16), 1)
    x, y = te.placeholder(a.shape, "int32"), te.placeholder(b.shape, "int32")
    k = te.reduce_axis((0, 7), name="k")
    product = getattr(te, name)
    total = te.compute((3, 16), lambda i, j: te.sum(product(x[i, k], y[k, j]), axis=k), name="total")
    schedule = te.create_schedule(total)
    if lanes > 1:
        outer, inner = schedule[total].split(total.op.axis[1], lanes)
        schedule[total].reorder(outer, k, inner)
        schedule[total].vectorize(inner)
    found = whence.build_schedule(schedule, threads=1)(a, b)
    np.testing.assert_array_equal(found, _dot(name, a, b))


@pytest.mark.parametrize("bits", [2, 4, 6, 7, 8])
@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
def test_sums_of_small_bytes(bits: int, lanes: int):
    """Many sums at once do not overflow: all bytes are the largest of their bits, and one of the signed ones' ends."""
    mask, terms = ((1 << bits) - 1) * 0x01010101, 20
    a = np.full((terms, 16), mask, np.uint32).view(np.int32)
    b = np.array([0x7F7F7F7F, -0x7F7F7F80, 0x7F80017F], np.int32)[np.arange(terms * 16) % 3].reshape(terms, 16)
    b[:, 0], b[:, 1] = -0x7F7F7F80, 0x7F7F7F7F
    x, y = te.placeholder(a.shape, "int32"), te.placeholder(b.shape, "int32")

    def element(j: te.Expr) -> te.Expr:
        words = [te.bitwise_and(x[k, j], np.uint32(mask).astype(np.int32).item()) for k in range(terms)]
        return sum((te.dot4(word, y[k, j]) for k, word in enumerate(words)), j)

    total = te.compute((16,), element, name="total")
    schedule = te.create_schedule(total)
    if lanes > 1:
        schedule[total].vectorize(schedule[total].split(total.op.axis[0], lanes)[1])
    found = whence.build_schedule(schedule, threads=1)(a, b)
    products = a.view(np.uint8).astype(np.int64) * b.view(np.int8)
    np.testing.assert_array_equal(found, products.reshape(terms, 16, 4).sum((0, 2)) + np.arange(16))


@pytest.mark.parametrize("lanes", [1, 8])
def test_half_words_are_widened(lanes: int):
    halves = np.random.default_rng(0).integers(-(2**15), 2**15, 16).astype(np.int16)
    x = te.placeholder((16,), "int16")
    words = te.compute((16,), lambda i: te.widen_pairs(x[i]), name="words")
    schedule = te.create_schedule(words)
    if lanes > 1:
        schedule[words].vectorize(schedule[words].split(words.op.axis[0], lanes)[1])
    found = np.asarray(whence.build_schedule(schedule, threads=1)(halves))
    np.testing.assert_array_equal(found.view(np.int16), halves.view(np.int8))
    with pytest.raises(whence.support.errors.ScheduleError, match=r"te.widen_pairs: expected half a word, of int16"):
        te.compute((16,), lambda i: te.widen_pairs(x[i].astype("int32")), name="wrong")


def test_words_are_int32():
    x = te.placeholder((4,), "int16")
    with pytest.raises(whence.support.errors.ScheduleError, match=r"te.dot2: expected words of int32, got int16"):
        te.compute((4,), lambda i: te.dot2(x[i], x[i]), name="wrong")


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
def test_high_halves_of_products(lanes: int):
    a, b = _words((64,), 0), _words((64,), 1)
    a[:4], b[:4] = [-(2**31), -(2**31), 2**31 - 1, 1], [2**31 - 1, 1 << 30, 2**31 - 1, -(1 << 30)]
    x, y = te.placeholder((64,), "int32"), te.placeholder((64,), "int32")

    def element(i: te.Expr) -> te.Expr:
        total = x[i].astype("int64") * y[i].astype("int64") + (1 << 30)
        return te.shift_right(total, te.const(31, "int64")).astype("int32")

    high = te.compute((64,), element, name="high")
    schedule = te.create_schedule(high)
    if lanes > 1:
        schedule[high].vectorize(schedule[high].split(high.op.axis[0], lanes)[1])
    found = whence.build_schedule(schedule, threads=1)(a, b)
    np.testing.assert_array_equal(found, ((a.astype(np.int64) * b + (1 << 30)) >> 31).astype(np.int32))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("apart", [1, 16, 64])
@pytest.mark.parametrize("lanes", [1, 16])
def test_words_of_bytes(dtype: str, apart: int, lanes: int):
    """Neighbours, vectors that are neighbours, and others."""
    rng = np.random.default_rng(apart)
    data = rng.integers(0, 256, (1 if apart > 1 else 16) * 4 * max(apart, 16)).astype(np.uint8).view(dtype)
    x = te.placeholder(data.shape, dtype)
    step = 4 if apart == 1 else 1
    words = te.compute((16,), lambda i: te.join_bytes(*(x[i * step + k * apart] for k in range(4))), name="words")
    schedule = te.create_schedule(words)
    if lanes > 1:
        schedule[words].vectorize(words.op.axis[0])
    found = np.asarray(whence.build_schedule(schedule, threads=1)(data))
    points = np.arange(16)[:, None] * step + np.arange(4) * apart
    np.testing.assert_array_equal(found, np.ascontiguousarray(data[points]).view(np.int32)[:, 0])


def test_words_are_of_four_bytes():
    x = te.placeholder((8,), "int16")
    with pytest.raises(whence.support.errors.ScheduleError, match=r"te.join_bytes: expected four bytes, got int16"):
        te.compute((4,), lambda i: te.join_bytes(x[i]), name="wrong")
    with pytest.raises(whence.support.errors.ScheduleError, match=r"te.fma: expected floats of one dtype, got int16"):
        te.compute((4,), lambda i: te.fma(x[i], x[i], x[i]), name="wrong")


def test_a_product_and_a_sum_are_rounded_once():
    a, b, c = (np.random.default_rng(seed).standard_normal(64).astype(np.float32) for seed in range(3))
    c = -(a * b) + c * np.float32(1e-9)
    tensors = [te.placeholder((64,), "float32") for _ in range(3)]
    total = te.compute((64,), lambda i: te.fma(*(x[i] for x in tensors)), name="total")
    schedule = te.create_schedule(total)
    schedule[total].vectorize(schedule[total].split(total.op.axis[0], 16)[1])
    found = whence.build_schedule(schedule, threads=1)(a, b, c)
    np.testing.assert_array_equal(found, (a.astype(np.float64) * b + c).astype(np.float32))
    assert np.any(found != a * b + c)
