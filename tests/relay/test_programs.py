"""Whole Relay programs, printed and read back, on every executor that runs them: equal results.

The interpreter in numpy ("debug") shares no pass, lowering or kernel with the others; what the small ones compute is
also written out by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from relay_networks import NETWORKS

from whence import relay
from whence.dialects.relay.core import FuncOp

Array = NDArray[Any]
FOLDER = Path(__file__).parent
STATIC = ("graph", "vm")
DYNAMIC = ("vm",)


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.uniform(0.1, 0.6, shape).astype(np.float32)


def read(name: str) -> relay.IRModule:
    """A program, by way of its text."""
    if name in NETWORKS:
        return relay.fromtext(relay.IRModule.of(NETWORKS[name]()).astext())
    return relay.fromtext(relay.fromtext((FOLDER / f"{name}.relay").read_text()).astext())


def agree(name: str, arguments: list[Array], kinds: tuple[str, ...]) -> list[Array]:
    """The results of `@main`, the same on each executor."""
    module = read(name)
    wanted = flat(relay.create_executor("debug", module).evaluate()(*arguments))
    for kind in kinds:
        for one, other in zip(flat(relay.create_executor(kind, module).evaluate()(*arguments)), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6, err_msg=kind)
    return wanted


def flat(result: Any) -> list[Array]:
    return [np.asarray(one) for one in (cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (result,))]


def parameters(module: relay.IRModule) -> list[tuple[int, ...]]:
    main = next(op for op in module.module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    return [cast(Any, argument.type).get_shape() for argument in main.block.args]


@pytest.mark.parametrize("name", ["mlp", *NETWORKS])
def test_networks(name: str) -> None:
    rng = np.random.default_rng(1)
    arguments = [floats(rng, *shape) for shape in parameters(read(name))]
    (found,) = agree(name, arguments, STATIC if name == "mlp" else ("graph",))
    assert np.ptp(found) > 1e-4


def test_a_product_of_layers_is_what_numpy_says() -> None:
    rng = np.random.default_rng(2)
    x, *rest = [floats(rng, *shape) for shape in parameters(read("mlp"))]
    weights: list[Any] = list(rest)
    (found,) = agree("mlp", [x, *rest], ("aot",))
    value: Any = np.asarray(x).reshape(2, 16)
    for index in range(0, 6, 2):
        value = value @ weights[index].T + weights[index + 1]
        value = np.maximum(value, 0) if index < 4 else np.exp(value) / np.exp(value).sum(1, keepdims=True)
    np.testing.assert_allclose(found, value, rtol=1e-5)


def test_a_cell_over_a_list() -> None:
    rng = np.random.default_rng(3)
    arguments = [floats(rng, *shape) for shape in parameters(read("lstm"))]
    (found,) = agree("lstm", arguments, DYNAMIC)
    first, second, wx, wh, b = cast("list[Any]", arguments)
    h: Any = np.zeros((1, 3), np.float32)
    c: Any = np.zeros((1, 3), np.float32)
    for x in (first, second):
        into, forget, cell, out = np.split(x @ wx.T + h @ wh.T + b, 4, axis=1)
        c = c / (1 + np.exp(-forget)) + np.tanh(cell) / (1 + np.exp(-into))
        h = np.tanh(c) / (1 + np.exp(-out))
    np.testing.assert_allclose(found, h, rtol=1e-5)


def test_a_tree() -> None:
    x, y = np.array([1, 2], np.float32), np.array([3, 5], np.float32)
    (found,) = agree("tree", [x, y], DYNAMIC)
    np.testing.assert_allclose(found, x + y + x * y + y)


def test_a_loop_by_recursion() -> None:
    last, steps = agree("loop", [np.asarray(100, np.float32), np.asarray(3, np.float32)], DYNAMIC)
    assert float(last) == 100 / 2**6
    assert int(steps) == 6
