"""What models compute of the extents of their inputs is the same in every format, in one program for all extents.

A case is written once; a format that lacks a word of it is no part of its row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from spelled_sizes import FORMATS, net
from spelled_sizes.numbers import Numbers

import whence
from whence.executables.sized import SizedExecutable

Case = Callable[[Any], None]
EXTENTS = ((1, 1), (2, 3), (5, 4), (7, 12), (12, 7), (3, 40))


def _heads(net: Any) -> None:
    n, m = net.extents()
    whole = net.call("mul", n, m)
    net.reshaped(net.call("trunc_divide", whole, n), n)


def _half(net: Any, *names: str) -> None:
    """The first extent divided by two, and rounded."""
    n, _ = net.extents()
    half = net.call("divide", net.call("real", n), net.number(2.0))
    for name in names:
        half = net.call(name, half)
    net.filled(net.call("whole", half))


def _scaled(net: Any) -> None:
    n, m = net.extents()
    larger = net.call("times", net.call("real", m), net.number(1.5))
    net.filled(n, net.call("whole", larger))


def _rounded_up(net: Any) -> None:
    """Rounded up as Python programs do: `-(-n // 3)`."""
    n, _ = net.extents()
    net.filled(net.call("neg", net.call("floor_divide", net.call("neg", n), net.number(3))))


def _signs(net: Any) -> None:
    n, m = net.extents()
    apart = net.call("sub", n, m)
    net.filled(net.call("abs", apart), net.call("add", net.call("sign", apart), net.number(1)))


def _towards_zero(net: Any) -> None:
    n, m = net.extents()
    quotient = net.call("trunc_divide", net.call("sub", n, m), net.number(2))
    net.filled(net.call("add", quotient, net.call("add", n, m)))


def _rests(net: Any, name: str) -> None:
    n, m = net.extents()
    net.filled(net.call(name, n, net.number(4)), net.call(name, net.call("add", n, m), net.number(3)))


def _rest_below_zero(net: Any, name: str) -> None:
    n, m = net.extents()
    net.filled(net.call("add", net.call(name, net.call("sub", n, m), net.number(4)), net.number(4)))


def _questions(net: Any) -> None:
    n, m = net.extents()
    long = net.call("less", net.number(4), n)
    same = net.call("equal", n, m)
    either = net.call("or", long, same)
    net.filled(net.call("where", either, n, m), net.call("where", net.call("not", long), net.number(2), m))


def _both(net: Any) -> None:
    n, m = net.extents()
    both = net.call("and", net.call("at_least", n, net.number(3)), net.call("not_equal", m, net.number(12)))
    net.filled(net.call("where", both, net.call("mul", n, net.number(2)), m))


def _truths(net: Any) -> None:
    """Truth values as numbers."""
    n, m = net.extents()
    net.filled(net.call("add", n, net.call("whole", net.call("less", n, m))))


def _vectors(net: Any, name: str) -> None:
    n, m = net.extents()
    sizes = net.vector(n, net.number(3), m, net.number(2))
    net.filled(net.call(name, net.part(sizes, 1, 3)), net.item(sizes, 3))


def _joined(net: Any) -> None:
    n, m = net.extents()
    sizes = net.joined(net.part(net.vector(n, m), 1, 2), net.vector(net.number(1), n))
    net.reshaped(net.item(sizes, 2), net.item(sizes, 1), net.item(sizes, 0))


def _elementwise(net: Any) -> None:
    """Arithmetic of vectors, whose elements are sizes and numbers."""
    n, m = net.extents()
    sums = net.call("add", net.vector(n, net.number(2)), net.vector(net.number(1), m))
    net.filled(net.item(sums, 0), net.item(sums, 1))


CASES: Mapping[str, Case] = {
    "quotient of a product": _heads,
    "rounded down": lambda net: _half(net, "floor"),
    "rounded up": lambda net: _half(net, "ceil"),
    "towards zero through floats": lambda net: _half(net),
    "a fraction": _scaled,
    "ceil of a negative floor": _rounded_up,
    "signs": _signs,
    "towards zero": _towards_zero,
    "floor mod": lambda net: _rests(net, "floor_mod"),
    "trunc mod": lambda net: _rests(net, "trunc_mod"),
    "floor mod below zero": lambda net: _rest_below_zero(net, "floor_mod"),
    "trunc mod below zero": lambda net: _rest_below_zero(net, "trunc_mod"),
    "extremes": lambda net: net.filled(*(net.call(name, *net.extents()) for name in ("max", "min"))),
    "between": lambda net: net.filled(net.call("clamp", net.extents()[0], net.number(2), net.number(6))),
    "questions": _questions,
    "both": _both,
    "truths": _truths,
    "products": lambda net: _vectors(net, "product"),
    "totals": lambda net: _vectors(net, "total"),
    "greatest": lambda net: _vectors(net, "greatest"),
    "joined": _joined,
    "elementwise": _elementwise,
    "tiled": lambda net: net.tiled(net.extents()[1], net.call("floor_mod", net.extents()[0], net.number(2))),
    "cut": lambda net: net.cut(net.call("min", net.extents()[0], net.number(3))),
    "counted": lambda net: net.counted(net.call("mul", *net.extents())),
}


def spelled(name: str, form: str) -> Any:
    """The model of a case; None where the format lacks a word of it."""
    model = net(form)
    try:
        CASES[name](model)
    except (KeyError, AttributeError):
        return None
    return model.build()


ROWS = [(name, form) for name in CASES for form in FORMATS if spelled(name, form) is not None]


@pytest.mark.parametrize(("name", "form"), ROWS, ids=["-".join(row) for row in ROWS])
def test_sizes_are_computed_in_one_program(name: str, form: str):
    executable = whence.compile(spelled(name, form), tier="symbolic", audit=True)
    assert isinstance(executable, SizedExecutable)
    for extents in EXTENTS:
        x = np.arange(np.prod(extents), dtype=np.float32).reshape(extents)
        expected = Numbers(x)
        CASES[name](expected)
        results = list(executable.run({executable.inputs[0].name: x}).values())[-1:]
        (wanted,) = expected.outputs
        np.testing.assert_array_equal(results[0], wanted)


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_spelled_in_most_formats(name: str):
    assert sum(row == name for row, _ in ROWS) >= 2
