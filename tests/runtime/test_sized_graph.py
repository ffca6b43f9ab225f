"""A program for all sizes, looked into at some of them: as a graph, by the debugger, against a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import whence
from whence import relay
from whence.contrib.debugger.debug_executor import GraphModuleDebug
from whence.explorer.layers import snapshot
from whence.relay.build_module import GraphExecutorFactoryModule
from whence.support.errors import FrontendError, PipelineError

Array = npt.NDArray[Any]
W = np.random.default_rng(5).standard_normal((8, 4), np.float32)


def soft(x: Array) -> Array:
    return np.exp(x) / np.exp(x).sum(1, keepdims=True)


@pytest.fixture(scope="module")
def model() -> whence.Executable:
    """Softmax twice by one kernel: of n rows, and of 2n."""
    x = relay.var("x", shape=(relay.Any(), 4))
    hidden = relay.nn.relu(relay.nn.dense(x, relay.const(W)))
    first = relay.set_span(relay.nn.softmax(hidden), "first")
    both = relay.concatenate([first, hidden], 0)
    return whence.compile(relay.IRModule.from_expr(relay.Function([x], relay.set_span(relay.nn.softmax(both), "both"))))


def numbers(rows: int) -> Array:
    return np.random.default_rng(rows).standard_normal((rows, 4), np.float32)


def wanted(x: Array) -> tuple[Array, Array]:
    hidden = np.maximum(x @ W.T, 0)
    first = soft(hidden)
    return first, soft(np.concatenate([first, hidden]))


@pytest.mark.parametrize("rows", [1, 3, 37])
def test_every_tensor_is_that_of_the_sizes(model: whence.Executable, rows: int):
    x = numbers(rows)
    at = model.at(model.sizes_of({"x": x}))
    assert [spec.shape for spec in (*at.inputs, *at.outputs)] == [(rows, 4), (2 * rows, 8)]
    lib = GraphExecutorFactoryModule(at, snapshot(at.artifact, "relay"))
    softmaxes = [name for name in lib.plan.functions if "softmax" in name]
    assert [lib.plan.sizes[name] for name in softmaxes] == [(rows,), (2 * rows,)]
    assert len({lib.plan.functions[name] for name in softmaxes}) == 1
    debug = GraphModuleDebug(lib.debug_create("default"))
    debug.set_input("x", x)
    first, both = wanted(x)
    np.testing.assert_allclose(debug.debug_get_output("first"), first, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(debug.debug_get_output("both"), both, rtol=1e-5, atol=1e-7)
    debug.measured(number=1)
    assert set(debug.by_layer()) >= {"first", "both"}
    np.testing.assert_allclose(at.run({"x": x})["output0"], both, rtol=1e-5, atol=1e-7)
    debug.exit()


@pytest.mark.parametrize("at", [False, True], ids=["open", "at sizes"])
def test_layers_are_held_against_a_reference(model: whence.Executable, at: bool):
    x = numbers(5)
    first, both = wanted(x)
    executable = model.at(model.sizes_of({"x": x})) if at else model
    right = executable.compare({"x": x}, {"first": first, "both": both})
    assert [entry.layer.name for entry in right.differences] == ["first", "both"]
    assert right.first is None
    wrong = executable.compare({"x": x}, {"first": first + 1, "both": both})
    assert wrong.first is not None
    assert wrong.first.layer.name == "first"


def test_times_are_those_of_the_sizes(model: whence.Executable):
    at = model.at({model.artifact.program.sizes.symbols[0]: 6})  # pyright: ignore[reportOptionalMemberAccess]
    times = at.times({"x": numbers(6)}, repeat=1)
    assert {entry.layer.name for entry in times.ranked(at.artifact) if entry.layer} >= {"first", "both"}
    assert [answer.layers[0].name for answer in at.wheres()] == list(at.layers) == list(model.layers)
    assert at.where("both").kernels == model.where("both").kernels


def test_only_sizes_of_the_model_will_do(model: whence.Executable):
    (name,) = model.sizes_of({"x": numbers(2)})
    with pytest.raises(PipelineError, match="expected a number for each of"):
        model.at({"rows": 3})
    with pytest.raises(FrontendError, match="x"):
        model.sizes_of({"x": np.ones((2, 5), np.float32)})
    fixed = model.at({name: 2})
    assert fixed.sizes_of({"x": numbers(2)}) == {}
    with pytest.raises(PipelineError, match="expected a program for all sizes, got one of fixed shapes"):
        fixed.at({name: 2})
