# pyright: basic
"""The models that tests read, as Python writes them. Needs TensorFlow to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Frozen:
    """A function that is frozen, and the inputs of its calls."""

    function: Any
    specs: Sequence[Any]
    inputs: Sequence[Sequence[Any]]
    lowered: bool = False
    """True to have control flow as frames of Switch and Merge."""


def _reals(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def _cnn(tf: Any) -> Any:
    """A network with batch normalisation whose statistics are not those of nothing."""
    keras = tf.keras
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((16, 16, 3)),
            keras.layers.Conv2D(8, 3, padding="same", strides=2, name="conv", bias_initializer="uniform"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.ReLU(name="relu"),
            keras.layers.DepthwiseConv2D(3, padding="same", name="depthwise"),
            keras.layers.MaxPooling2D(name="pool"),
            keras.layers.Flatten(name="flatten"),
            keras.layers.Dense(10, activation="softmax", name="head"),
        ],
        name="cnn",
    )
    model.get_layer("norm").set_weights([np.abs(_reals(8, seed=s)) + 0.1 for s in range(4)])
    return model


def frozen_models(tf: Any) -> dict[str, Frozen]:
    """Name -> what is frozen."""
    cnn = _cnn(tf)
    image = tf.TensorSpec((None, 16, 16, 3), tf.float32, "image")
    images = [[_reals(2, 16, 16, 3)], [_reals(5, 16, 16, 3, seed=1)]]
    return {"cnn": Frozen(tf.function(lambda x: cnn(x)), [image], images)}


def saved_models(tf: Any) -> dict[str, Callable[[str], list[dict[str, Any]]]]:
    """Name -> what saves the model into a folder, and returns the inputs of calls."""

    def exported(folder: str) -> list[dict[str, Any]]:
        cnn = _cnn(tf)
        spec = [tf.TensorSpec((None, 16, 16, 3), tf.float32, name="image")]
        cnn.export(folder, input_signature=spec, verbose=False)
        return [{"image": _reals(2, 16, 16, 3)}, {"image": _reals(3, 16, 16, 3, seed=2)}]

    return {"cnn_saved": exported}
