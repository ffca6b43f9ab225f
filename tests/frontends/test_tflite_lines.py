"""Functions of 8 bits as lines: what they give, and what is none."""

from __future__ import annotations

import numpy as np
from tflite_builder import Net, Quant

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.tflite import from_tflite
from whence.frontends.tflite.kernel_arithmetic import scaled
from whence.frontends.tflite.lines import lines_of

X = np.arange(-128, 128)


def test_rescaled_numbers_are_lines_on_both_sides_of_zero():
    rng = np.random.default_rng(0)
    for _ in range(12):
        zero, out_zero = rng.integers(-128, 128, 2).tolist()
        plain, sloped = np.exp(rng.uniform(-3, 1, 2)).tolist()
        steps = X - zero
        for found in (scaled(steps, plain), np.where(steps >= 0, scaled(steps, plain), scaled(steps, sloped))):
            y = np.clip(found + out_zero, -128, 127)
            lines = lines_of(X, y, zero)
            assert lines is not None
            np.testing.assert_array_equal(lines.numbers(X), y)


def test_halves_away_from_zero_are_no_single_line():
    y = scaled(X, 0.4)
    lines = lines_of(X, y, 0)
    assert lines is not None
    np.testing.assert_array_equal(lines.numbers(X), y)
    assert lines.first.start != lines.first.before


def test_what_bends_elsewhere_is_no_line():
    assert lines_of(X, np.abs(X) // 2, 30) is None
    assert lines_of(X, (np.sin(X / 20) * 100).astype(np.int64), 0) is None


def test_a_function_without_a_line_is_a_table():
    def names(op: str) -> list[str]:
        net = Net()
        x, y = net.input("x", [4], "int8", Quant(0.1, 3)), net.tensor("y", [4], "int8", Quant(0.05, -5))
        net.op(op, [x], [y])
        return [one.name for one in from_tflite(net.build([y])).walk()]

    assert "relay.take" in names("TANH")
    assert "relay.take" not in names("RELU")
    assert "relay.right_shift" in names("RELU")


def test_a_slope_of_16_bits_multiplies_what_is_negative():
    """LiteRT's kernel gives something else: for -3046 * 0.001 and a slope of 0.4452 the number 1, not -1233."""
    rng = np.random.default_rng(5)
    x = rng.integers(-32768, 32768, (1, 2, 2, 8)).astype(np.int16)
    slope = rng.integers(-32767, 32768, (1, 1, 8)).astype(np.int16)
    net = Net()
    given = net.input("x", x.shape, "int16", Quant(0.001, 0))
    y = net.tensor("y", x.shape, "int16", Quant(0.0011, 0))
    net.op("PRELU", [given, net.const("slope", slope, Quant(0.00003, 0))], [y])
    found = np.asarray(evaluate_module(from_tflite(net.build([y])), [x])[0], np.float64)
    real = np.where(x >= 0, x / 1.1, x.astype(np.float64) * slope * 0.00003 / 1.1)
    np.testing.assert_allclose(found, np.clip(real, -32768, 32767), atol=1)
