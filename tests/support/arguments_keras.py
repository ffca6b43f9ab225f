# pyright: basic, reportMissingImports=false
"""Layers of Keras models with an entry of their configuration of another value, judged by Keras."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("KERAS_BACKEND", "numpy")

import keras
import numpy as np
from dropped_arguments import Change

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.keras import from_keras
from whence.frontends.keras.convert import row_of

_MODELS = Path(__file__).parents[1] / "frontends" / "keras" / "models"
_WORDS: dict[str, Sequence[Any]] = {
    "activation": ("relu", "tanh", "linear", "elu", "hard_sigmoid", "softmax", "silu"),
    "recurrent_activation": ("relu", "hard_sigmoid", "tanh"),
    "padding": ("valid", "same", "causal"),
    "data_format": ("channels_first", "channels_last"),
    "interpolation": ("nearest", "bilinear", "bicubic", "lanczos3"),
    "fill_mode": ("constant", "nearest", "reflect", "wrap"),
    "output_mode": ("int", "one_hot", "multi_hot", "count"),
    "merge_mode": ("sum", "mul", "ave", "concat", None),
    "axis": (1, -1, 2, [1, 2]),
    "axes": (1, 2),
    "max_value": (1.0, 6.0),
    "dtype": ("float32", "float16"),
    "dtype_policy": ("float32", "float16"),
}
"""What entries may be, where their values are words or nothing."""
_OF_LISTS = frozenset(("Add", "Average", "Concatenate", "Dot", "Maximum", "Minimum", "Multiply", "Subtract"))
"""The layers that take their tensors in a list."""
KNOWN = {
    r"LayerNormalization: dtype: .*mixed_float16.* -> float32": "the numpy backend divides halves",
    r"negative_slope: .* -> 2.0": "the numpy backend takes the greater of a number and its product with the slope",
}
"""Where we differ from Keras, and why."""


class _Layer(NamedTuple):
    config: dict[str, Any]
    shapes: list[tuple[int, ...]]
    dtypes: list[str]


@cache
def operators() -> dict[str, list[_Layer]]:
    """The layers of the models that tests keep, by class: those that have rows and take tensors."""
    layers: dict[str, list[_Layer]] = {}
    for path in sorted(_MODELS.glob("*.keras")):
        try:
            model: Any = keras.saving.load_model(path, compile=False)
        except Exception:
            continue
        for layer in model._flatten_layers(include_self=False):
            kind = type(layer).__name__
            if row_of(kind, True) is None or kind == "InputLayer" or not layer._inbound_nodes:
                continue
            tensors = layer._inbound_nodes[0].input_tensors
            shapes = [tuple(size or 2 + (at > 0) * 3 for at, size in enumerate(item.shape)) for item in tensors]
            layers.setdefault(kind, []).append(_Layer(layer.get_config(), shapes, [item.dtype for item in tensors]))
    return layers


def _other(dice: random.Random, name: str, value: Any) -> Any:
    """Another value of an entry; what it has where there is none to be drawn."""
    if name in _WORDS:
        return dice.choice(_WORDS[name])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return dice.choice((value + 1, value - 1, 0, -1, 2, 3))
    if isinstance(value, float):
        return dice.choice((0.0, 0.5, 2.0, -0.5, value / 2))
    if isinstance(value, list | tuple) and value and all(isinstance(item, int) for item in value):
        return [max(item + dice.choice((-1, 0, 1, 1)), 0) for item in value]
    if value is None:
        return dice.choice((1, 2, 0.5, True, [1, 2]))
    return value


def draw(dice: random.Random, operator: str) -> Change | None:
    """A layer with one entry of another value; None where Keras refuses it, or there is nothing to change."""
    layer = dice.choice(operators()[operator])
    name = dice.choice(sorted(set(layer.config) - {"name", "trainable", "seed"}))
    value = _other(dice, name, layer.config[name])
    if value == layer.config[name]:
        return None
    rng = np.random.default_rng(dice.getrandbits(32))
    pairs = list(zip(layer.shapes, layer.dtypes, strict=True))
    feeds = [
        (
            rng.integers(0, 3, shape) if dtype[0] in "iub" or "Embedding" in operator else rng.standard_normal(shape)
        ).astype(dtype)
        for shape, dtype in pairs
    ]
    try:
        tensors = [keras.Input(batch_shape=x.shape, dtype=x.dtype.name, name=f"x{at}") for at, x in enumerate(feeds)]
        kind: Any = getattr(keras.layers, operator)
        changed = kind.from_config({**layer.config, name: value, "name": "changed"})
        model: Any = keras.Model(tensors, changed(tensors) if operator in _OF_LISTS else changed(*tensors))
        for weight in model.weights:
            if weight.dtype.startswith(("float", "bfloat")):
                weight.assign(abs(rng.standard_normal(weight.shape)).astype("float32") * 0.5)
        data, saved = _saved(model)
        expected = [np.asarray(item) for item in keras.tree.flatten(saved(feeds, training=False))]
    except Exception:
        return None
    text = f"{name}: {layer.config[name]} -> {value} of {layer.shapes}"
    return Change(operator, text, lambda: evaluate_module(from_keras(data), feeds), lambda: expected)


def _saved(model: Any) -> tuple[bytes, Any]:
    """A file, and what Keras reads from it: some layers compute with what their weights were when they were built."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        return path.read_bytes(), keras.saving.load_model(path, compile=False)
