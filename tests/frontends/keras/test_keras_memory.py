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
