"""Models in memory, where Keras is: what it saves of them is read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import whence
from whence import relay
from whence.support.errors import FrontendError

os.environ.setdefault("KERAS_BACKEND", "numpy")
keras: Any = pytest.importorskip("keras")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def net() -> Any:
    image = keras.Input((6, 6, 3), name="image")
    x = keras.layers.Conv2D(4, 3, activation="relu", name="conv")(image)
    x = keras.layers.GlobalAveragePooling2D(name="mean")(x)
    return keras.Model(image, keras.layers.Dense(3, name="scores")(x), name="net")


def test_a_model_in_memory_compiles(net: Any):
    program = whence.compile(net)
    data = np.random.default_rng(0).standard_normal((2, 6, 6, 3)).astype(np.float32)
    np.testing.assert_allclose(program(data), np.asarray(net(data)), rtol=2e-5, atol=2e-5)
    assert program.layers == ("conv", "mean", "scores")


def test_relay_takes_a_model_in_memory(net: Any):
    module, params = relay.frontend.from_keras(net, {"image": (2, 3, 6, 6)})
    data = np.random.default_rng(1).standard_normal((2, 6, 6, 3)).astype(np.float32)
    result = relay.create_executor("graph", mod=module).evaluate()(data.transpose(0, 3, 1, 2), **params)
    np.testing.assert_allclose(result.numpy(), np.asarray(net(data)), rtol=2e-5, atol=2e-5)


def test_objects_that_are_no_models_are_refused():
    with pytest.raises(FrontendError, match=r"expected a Keras model as a path, bytes or keras\.Model, got int"):
        relay.frontend.from_keras(3)


@pytest.mark.parametrize(
    "layer",
    [
        keras.layers.Resizing(4, 3, fill_value=2.0),
        keras.layers.SpectralNormalization(keras.layers.Dense(3, dtype="float32"), dtype="float16"),
        keras.layers.Discretization([-0.5, 0.5]),
        keras.layers.BatchNormalization(renorm_clipping={"rmax": 2.0}),
        keras.layers.ReversibleEmbedding(5, 3, logit_soft_cap=2.0),
    ],
    ids=lambda layer: layer.name,
)
def test_an_entry_that_changes_nothing_and_the_element_type_of_a_wrapper(layer: Any):
    kind = "int32" if "embedding" in layer.name else "float32"
    entry = keras.Input((6, 6, 3), dtype=kind)
    if isinstance(layer, keras.layers.Discretization):
        layer.num_bins = 3  # as `adapt` leaves it
    net = keras.Model(entry, layer(entry))
    data = (np.random.default_rng(0).random((2, 6, 6, 3)) * 4).astype(kind)
    result, expected = np.asarray(whence.compile(net)(data)), np.asarray(net(data))
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=5e-3, atol=5e-3)
