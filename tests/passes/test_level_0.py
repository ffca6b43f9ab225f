"""At opt level 0 each float is what the operators give one after the other in numpy, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whence
from whence import relay

DATA = np.concatenate([np.random.default_rng(0).uniform(0.1, 3, 29), [0.0, -0.0, 1.0]]).astype(np.float32)
F = np.float32


def number(value: float) -> Any:
    return relay.const(value, "float32")


def squared(x: Any, two: Any, b: Any) -> Any:
    return x * x + two * x * b + b * b


EXPRESSIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "constants added": (lambda x: x + number(-1e8) + number(1e8), lambda x: x + F(-1e8) + F(1e8)),
    "constants multiplied": (lambda x: x * number(1.1) * number(0.7), lambda x: x * F(1.1) * F(0.7)),
    "a sum multiplied": (lambda x: (x + number(0.1)) * number(0.3), lambda x: (x + F(0.1)) * F(0.3)),
    "zero added": (lambda x: -x + number(0.0), lambda x: -x + F(0)),
    "zero subtracted": (lambda x: x - number(-0.0), lambda x: x - F(-0.0)),
    "one multiplied": (lambda x: x * number(1.0), lambda x: x),
    "doubled": (lambda x: x + x, lambda x: x + x),
    "over a root": (
        lambda x: number(3.0) / relay.sqrt(x + number(0.5)),
        lambda x: F(3) / np.sqrt(x + F(0.5)),
    ),
    "the square of a sum": (
        lambda x: squared(x, number(2.0), number(0.3)),
        lambda x: squared(x, F(2), F(0.3)),
    ),
    "a quotient": (lambda x: x / number(3.0), lambda x: x / F(3)),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_floats_are_those_of_the_operators_in_order(name: str) -> None:
    build, expected = EXPRESSIONS[name]
    x = relay.var("x", shape=DATA.shape)
    executable: Any = whence.compile(relay.IRModule.from_expr(relay.Function([x], build(x))), opt_level=0)
    np.testing.assert_array_equal(executable(DATA).view(np.uint32), np.asarray(expected(DATA)).view(np.uint32))


def test_random_chains_with_constants_are_those_of_numpy() -> None:
    rng = np.random.default_rng(1)
    for _ in range(8):
        x, value = relay.var("x", shape=DATA.shape), DATA
        expression: Any = x
        for _ in range(int(rng.integers(2, 7))):
            constant = float(F(rng.choice([1e7, -1e7, 0.1, 3.0, -0.7, 1e-3, 0.0, 1.0])))
            kind = int(rng.integers(0, 3))
            steps: list[Callable[[Any, Any], Any]] = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b]
            expression, value = steps[kind](expression, number(constant)), steps[kind](value, F(constant))
        executable: Any = whence.compile(relay.IRModule.from_expr(relay.Function([x], expression)), opt_level=0)
        np.testing.assert_array_equal(executable(DATA).view(np.uint32), value.view(np.uint32))
