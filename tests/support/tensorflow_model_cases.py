# pyright: basic
"""The models that tests read, as Python writes them. Needs TensorFlow to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
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


def _recurrent(tf: Any) -> Any:
    keras = tf.keras
    keras.utils.set_random_seed(1)
    return keras.Sequential([keras.layers.Input((None, 5)), keras.layers.LSTM(3, return_sequences=True, name="lstm")])


def _conditional(tf: Any) -> Any:
    """Branches with two results, one of which reads what is around them; and another one inside a branch."""

    def function(x: Any, p: Any) -> Any:
        y, z = tf.cond(p, lambda: (x * 2.0, tf.exp(x)), lambda: (tf.nn.relu(x), x))
        return tf.cond(
            tf.reduce_sum(y) > 0, lambda: tf.cond(p, lambda: z - 1.0, lambda: z + 5.0), lambda: tf.abs(y) + z
        )

    return tf.function(function)


def _nested(tf: Any) -> Any:
    """A loop in a loop, and branches in that."""

    def body(i: Any, x: Any) -> Any:
        _, y = tf.while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y + 1.0), [0, x])
        return i + 1, tf.cond(i > 1, lambda: y * 2.0, lambda: y)

    return tf.function(lambda x, n: tf.while_loop(lambda i, x: i < n, body, [0, x])[1])


def _growing(tf: Any) -> Any:
    """A list that grows, and a sum along it."""

    def function(x: Any, n: Any) -> Any:
        rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        _, rows = tf.while_loop(
            lambda i, r: i < n, lambda i, r: (i + 1, r.write(i, x * tf.cast(i, tf.float32))), [0, rows]
        )
        return rows.stack()

    return tf.function(function)


def frozen_models(tf: Any) -> dict[str, Frozen]:
    """Name -> what is frozen; of control flow in both forms that graphs have."""
    cnn, lstm = _cnn(tf), _recurrent(tf)
    image = tf.TensorSpec((None, 16, 16, 3), tf.float32, "image")
    images = [[_reals(2, 16, 16, 3)], [_reals(5, 16, 16, 3, seed=1)]]
    row, number, truth = tf.TensorSpec((None, 3)), tf.TensorSpec((), tf.int32), tf.TensorSpec((), tf.bool)
    sequences = [[_reals(2, 4, 5)], [_reals(3, 6, 5, seed=1)]]
    cases = [[_reals(3), np.int32(0)], [_reals(3), np.int32(1)], [_reals(5), np.int32(9)]]
    choices = [lambda x: x + 1.0, lambda x: x * 2.0, lambda x: x - 3.0]

    def switched(x: Any, i: Any) -> Any:
        return tf.switch_case(i, [lambda f=f: f(x) for f in choices])

    models = {"cnn": Frozen(tf.function(lambda x: cnn(x)), [image], images)}
    for lowered in (False, True):
        suffix = "_frames" if lowered else ""
        inputs = [[sign * _reals(2, 3), p] for sign in (1, -1) for p in (True, False)]
        models |= {
            f"lstm{suffix}": Frozen(
                tf.function(lambda x: lstm(x)), [tf.TensorSpec((None, None, 5))], sequences, lowered
            ),
            f"conditional{suffix}": Frozen(_conditional(tf), [row, truth], inputs, lowered),
            f"nested{suffix}": Frozen(
                _nested(tf), [row, number], [[_reals(2, 3), np.int32(4)], [_reals(4, 3), np.int32(0)]], lowered
            ),
            f"growing{suffix}": Frozen(
                _growing(tf), [row, number], [[_reals(2, 3), np.int32(4)], [_reals(1, 3), np.int32(2)]], lowered
            ),
        }
    models["switched"] = Frozen(tf.function(switched), [tf.TensorSpec((None,)), number], cases)
    return models


def saved_models(tf: Any) -> dict[str, Callable[[str], list[dict[str, Any]]]]:
    """Name -> what saves the model into a folder, and returns the inputs of calls."""

    def exported(folder: str) -> list[dict[str, Any]]:
        cnn = _cnn(tf)
        spec = [tf.TensorSpec((None, 16, 16, 3), tf.float32, name="image")]
        cnn.export(folder, input_signature=spec, verbose=False)
        return [{"image": _reals(2, 16, 16, 3)}, {"image": _reals(3, 16, 16, 3, seed=2)}]

    def stateful(folder: str) -> list[dict[str, Any]]:
        """A matrix that a call doubles where its input is positive, and a count of the calls."""

        class Counting(tf.Module):
            def __init__(self) -> None:
                self.matrix = tf.Variable(_reals(3, 4), name="matrix")
                self.count = tf.Variable(0.0, name="count")

            @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32, name="x")])
            def call(self, x: Any) -> Any:
                self.count.assign_add(1.0)
                if tf.reduce_sum(x) > 0:
                    self.matrix.assign(self.matrix * 2.0)
                return {"y": x @ self.matrix, "count": self.count.read_value()}

        module = Counting()
        tf.saved_model.save(module, folder, signatures=module.call.get_concrete_function())
        return [{"x": sign * np.ones((rows, 3), np.float32)} for sign, rows in ((1, 2), (-1, 2), (1, 3), (1, 3))]

    def network(name: str) -> Callable[[str], list[dict[str, Any]]]:
        from tensorflow_networks import NETWORKS

        return lambda folder: NETWORKS[name](Path(folder))[1]

    return {
        "cnn_saved": exported,
        "stateful_saved": stateful,
        "repeating_saved": network("while"),
        "counting_saved": network("counter"),
    }
