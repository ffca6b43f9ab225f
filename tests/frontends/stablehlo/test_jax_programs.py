# pyright: basic, reportMissingImports=false
"""Networks and functions of JAX in memory against JAX itself, with their layers at the lines that wrote them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("flax")

import jax.numpy as jnp  # noqa: E402
from flax_networks import CNN, PROGRAMS, WEIGHTS, floats, perceptron  # noqa: E402
from jax import export  # noqa: E402
from jax_programs import assert_as_jax, outputs  # noqa: E402

import whence  # noqa: E402
from whence.frontends.stablehlo import from_stablehlo  # noqa: E402


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str):
    function, arguments = PROGRAMS[name]
    assert_as_jax(function, *arguments)


@pytest.mark.parametrize("name", ["cnn", "recurrent", "branches"])
def test_exported_program(name: str):
    function, arguments = PROGRAMS[name]
    exported: Any = export.export(jax.jit(function))(*arguments)
    results = outputs(whence.compile(exported, audit=True)(*arguments))
    for result, wanted in zip(results, jax.tree.leaves(jax.jit(function)(*arguments)), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)


def test_parameters_are_bound():
    x = floats(3, 6, seed=4)
    lowered = jax.jit(perceptron).lower(WEIGHTS, x)
    module = from_stablehlo(lowered, params={"weights": WEIGHTS})
    result = whence.compile(module)(x)
    np.testing.assert_allclose(result, perceptron(WEIGHTS, x), rtol=2e-5, atol=2e-5)


def test_open_sizes_have_the_names_of_jax():
    batch, length = export.symbolic_shape("batch, length", constraints=["length <= 16"])
    shapes = jax.ShapeDtypeStruct((batch, length, 4), jnp.float32), jax.ShapeDtypeStruct((batch, 4), jnp.float32)

    def function(x, y):
        x = jax.nn.softmax(x @ jnp.ones((4, 4)) + y[:, None], axis=1)
        return x.reshape(x.shape[0], -1), jnp.concatenate([x, x], 1).mean(1)

    exported: Any = export.export(jax.jit(function))(*shapes)
    executable = whence.compile(exported, audit=True)
    assert "batch, length" in executable.choice.reason
    for b, n in ((1, 3), (5, 16)):
        x, y = floats(b, n, 4), floats(b, 4, seed=2)
        for result, wanted in zip(executable(x, y), function(x, y), strict=True):
            np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)
    with pytest.raises(whence.FrontendError, match="length"):
        executable(floats(2, 17, 4), floats(2, 4))


def test_layers_are_at_the_lines_of_modules():
    function, arguments = PROGRAMS["cnn"]
    lowered: Any = jax.jit(function).lower(*arguments)
    executable = whence.compile(lowered)
    lines, first = inspect.getsourcelines(CNN)
    at = first + next(index for index, line in enumerate(lines) if 'name="bn")' in line)
    assert f"flax_networks.py:{at}" in str(executable.where("CNN/bn/add_1"))
