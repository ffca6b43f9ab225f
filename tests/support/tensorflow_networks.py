# pyright: basic, reportMissingImports=false, reportArgumentType=false
"""Networks as people save them with TensorFlow, with random weights: each is written as a saved model or a graph.

A writer is given a folder and returns the path of the model and the inputs of its calls. Needs TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

Calls = list[dict[str, Any]]
Written = tuple[Path, Calls]
"""The path of a model, and inputs by name for each call, in order."""


def reals(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def integers(*shape: int, high: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, high, shape).astype(np.int32)


def unsettled(model: Any) -> Any:
    """Return a model with statistics of batch normalisation and biases that are not those of a new one."""
    rng = np.random.default_rng(0)
    for variable in model.variables:
        name = variable.path.rpartition("/")[2]
        if name in ("moving_mean", "beta", "bias"):
            variable.assign(rng.uniform(-0.1, 0.1, variable.shape))
        elif name in ("moving_variance", "gamma"):
            variable.assign(rng.uniform(0.7, 1.3, variable.shape))
    return model


def exported(model: Any, folder: Path, calls: Calls) -> Written:
    """Write a Keras model with an open batch."""
    shapes = {name: array.shape for name, array in calls[0].items()}
    specs = [tf.TensorSpec((None, *shape[1:]), calls[0][name].dtype, name=name) for name, shape in shapes.items()]
    model.export(str(folder), input_signature=specs, verbose=False)
    return folder, calls


def application(name: str, size: int, **options: Any) -> Callable[[Path], Written]:
    """Return the writer of a network of `keras.applications`, for square images."""

    def write(folder: Path) -> Written:
        keras.utils.set_random_seed(0)
        network = getattr(keras.applications, name)
        model = unsettled(network(weights=None, input_shape=(size, size, 3), classifier_activation=None, **options))
        # Some networks scale pixels themselves.
        return exported(model, folder, [{"image": reals(2, size, size, 3) * np.float32(2)}])

    return write


def sequences(*layers: Callable[[], Any]) -> Callable[[Path], Written]:
    """Return the writer of layers over sequences of 12 numbers."""

    def write(folder: Path) -> Written:
        keras.utils.set_random_seed(0)
        model = unsettled(keras.Sequential([keras.Input((None, 12)), *(layer() for layer in layers)]))
        spec = [tf.TensorSpec((None, None, 12), tf.float32, name="x")]
        model.export(str(folder), input_signature=spec, verbose=False)
        return folder, [{"x": reals(2, 9, 12)}, {"x": reals(3, 4, 12, seed=1)}]

    return write


def encoder(folder: Path) -> Written:
    """Two layers of a transformer, over words and their places."""
    keras.utils.set_random_seed(0)
    layers = keras.layers
    words = keras.Input((16,), dtype="int32")
    x = layers.Embedding(100, 32)(words) + layers.Embedding(16, 32)(np.arange(16))
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 8)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(32)(layers.Dense(64, activation="gelu")(x)))
    model = unsettled(keras.Model(words, layers.Dense(5)(layers.GlobalAveragePooling1D()(x))))
    return exported(model, folder, [{"words": integers(2, 16, high=100)}])


def classifier(folder: Path) -> Written:
    """A classifier of texts of any length, whose words are numbers; 0 is no word."""
    keras.utils.set_random_seed(0)
    layers = keras.layers
    words = keras.Input((None,), dtype="int32")
    x = layers.Embedding(200, 24, mask_zero=True)(words)
    x = layers.Bidirectional(layers.LSTM(16))(x)
    model = unsettled(keras.Model(words, layers.Dense(3)(layers.Dense(16, activation="relu")(x))))
    spec = [tf.TensorSpec((None, None), tf.int32, name="words")]
    model.export(str(folder), input_signature=spec, verbose=False)
    padded = integers(2, 11, high=199) + 1
    padded[:, 7:] = 0
    return folder, [{"words": padded}, {"words": integers(1, 5, high=200, seed=1)}]


def unet(folder: Path) -> Written:
    """Down and up again, with what was on the way down beside it."""
    keras.utils.set_random_seed(0)
    layers = keras.layers
    image = x = keras.Input((48, 48, 3))
    kept = []
    for width in (8, 16):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same")(x)))
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(32, 3, padding="same", activation="swish")(x)
    for width in (16, 8):
        x = layers.Conv2DTranspose(width, 3, strides=2, padding="same")(x)
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(layers.Concatenate()([x, kept.pop()]))
    model = unsettled(keras.Model(image, layers.Conv2D(2, 1)(x)))
    return exported(model, folder, [{"image": reals(2, 48, 48, 3)}])


class Choosing(tf.Module):
    """Two layers, of which the sign of a sum chooses one."""

    def __init__(self) -> None:
        super().__init__()
        self.left = tf.Variable(reals(6, 6), name="left")
        self.right = tf.Variable(reals(6, 6, seed=1), name="right")

    @tf.function(input_signature=[tf.TensorSpec((None, 6), tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.tanh(x @ self.left), lambda: tf.nn.relu(x @ self.right))


class Repeating(tf.Module):
    """Powers of a matrix until a row is long enough, at most so many."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = tf.Variable(reals(6, 6), name="matrix")

    @tf.function(
        input_signature=[tf.TensorSpec((None, 6), tf.float32, name="x"), tf.TensorSpec((), tf.int32, name="most")]
    )
    def __call__(self, x: Any, most: Any) -> Any:
        steps = tf.constant(0)
        while steps < most and tf.reduce_max(tf.abs(x)) < 10.0:
            x = x @ self.matrix
            steps += 1
        return {"x": x, "steps": steps}


class Counting(tf.Module):
    """A running mean of the rows of all calls."""

    def __init__(self) -> None:
        super().__init__()
        self.total = tf.Variable(tf.zeros(4), name="total")
        self.rows = tf.Variable(0.0, name="rows")

    @tf.function(input_signature=[tf.TensorSpec((None, 4), tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        self.total.assign_add(tf.reduce_sum(x, 0))
        self.rows.assign_add(tf.cast(tf.shape(x)[0], tf.float32))
        return self.total / self.rows


def module(kind: type[Any], *calls: dict[str, Any]) -> Callable[[Path], Written]:
    """Return the writer of a module with one function."""

    def write(folder: Path) -> Written:
        made = kind()
        tf.saved_model.save(made, str(folder), signatures=made.__call__.get_concrete_function())
        return folder, list(calls)

    return write


class Signatures(tf.Module):
    """A layer with a function for what it computes, and one for what led to it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable(reals(5, 3), name="weight")
        self.bias = tf.Variable(reals(3, seed=1), name="bias")

    @tf.function(input_signature=[tf.TensorSpec((None, 5), tf.float32, name="x")])
    def logits(self, x: Any) -> Any:
        return {"logits": x @ self.weight + self.bias}

    @tf.function(input_signature=[tf.TensorSpec((None, 5), tf.float32, name="x")])
    def classes(self, x: Any) -> Any:
        logits = self.logits(x)["logits"]
        return {"class": tf.argmax(logits, -1), "probability": tf.reduce_max(tf.nn.softmax(logits), -1)}


def signatures(folder: Path) -> Written:
    saved = Signatures()
    tf.saved_model.save(saved, str(folder), signatures={"logits": saved.logits, "serving_default": saved.classes})
    return folder, [{"x": reals(4, 5)}]


def frozen_v1(folder: Path) -> Written:
    """A graph as sessions ran it: batch normalisation in separate operators, and a loop of frames."""
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, (None, 10, 10, 3), name="x")
        y = tf.nn.conv2d(x, tf.constant(reals(3, 3, 3, 8)), 2, "SAME", name="conv")
        mean, variance = tf.constant(reals(8)), tf.constant(np.abs(reals(8, seed=1)) + 0.5)
        scale = tf.math.rsqrt(variance + 1e-3) * tf.constant(reals(8, seed=2) + 2)
        y = tf.nn.relu6(y * scale + (tf.constant(reals(8, seed=3)) - mean * scale), name="norm")
        flat = tf.reduce_mean(y, [1, 2], name="pool")
        v1.disable_control_flow_v2()
        weight = tf.constant(reals(8, 8, seed=4))
        _, flat = v1.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(v @ weight)), [0, flat])
        v1.enable_control_flow_v2()
        tf.identity(flat, name="y")
    path = folder.with_suffix(".pb")
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path, [{"x": reals(2, 10, 10, 3)}]


NETWORKS: dict[str, Callable[[Path], Written]] = {
    "ResNet50": application("ResNet50", 64),
    "MobileNetV2": application("MobileNetV2", 64),
    "MobileNetV3Large": application("MobileNetV3Large", 64),
    "EfficientNetB0": application("EfficientNetB0", 64),
    "DenseNet121": application("DenseNet121", 64),
    "InceptionV3": application("InceptionV3", 80),
    "Xception": application("Xception", 75),
    "NASNetMobile": application("NASNetMobile", 64),
    "VGG16": application("VGG16", 32),
    "ConvNeXtTiny": application("ConvNeXtTiny", 64),
    "InceptionResNetV2": application("InceptionResNetV2", 80),
    "LSTM": sequences(lambda: keras.layers.LSTM(16, return_sequences=True), lambda: keras.layers.LSTM(8)),
    "GRU": sequences(lambda: keras.layers.GRU(16)),
    "bidirectional": sequences(
        lambda: keras.layers.Bidirectional(keras.layers.GRU(8, return_sequences=True)), lambda: keras.layers.Dense(4)
    ),
    "transformer": encoder,
    "text classifier": classifier,
    "U-Net": unet,
    "cond": module(Choosing, {"x": reals(3, 6)}, {"x": -np.abs(reals(2, 6))}, {"x": np.abs(reals(2, 6))}),
    "while": module(
        Repeating, {"x": reals(2, 6), "most": np.int32(5)}, {"x": 5 * reals(3, 6, seed=1), "most": np.int32(100)}
    ),
    "counter": module(Counting, {"x": reals(3, 4)}, {"x": reals(1, 4, seed=1)}, {"x": reals(7, 4, seed=2)}),
    "signatures": signatures,
    "graph of TensorFlow 1": frozen_v1,
}
