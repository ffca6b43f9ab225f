# pyright: basic
"""Keras models written as archives: a configuration in JSON, and weights in HDF5."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import h5py
import numpy as np
from special_numbers import Array

from meanings.meaning import Value
from whence.frontends.keras import from_keras as load

__all__ = ["Net", "load"]


def _tensor(value: Value) -> dict[str, Any]:
    layer, _, index = value.name.partition(":")
    # Of what is computed no shape or dtype is stated: the rows say them.
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [layer, 0, int(index or 0)]}}


def _argument(value: Any) -> Any:
    match value:
        case Value():
            return _tensor(value)
        case list():
            return [_argument(item) for item in value]
        case slice():
            return {"class_name": "__slice__", "config": {"start": value.start, "stop": value.stop, "step": value.step}}
        case _:
            return value


class Net:
    """A model under construction; a call adds an operation of `keras.ops`."""

    def __init__(self) -> None:
        self.operators: set[str] = set()
        self.layers: list[Any] = []
        self.inputs: list[Value] = []
        self.weights: dict[str, Mapping[str, Sequence[Array]]] = {}

    def input(self, array: Array) -> Value:
        value = Value(f"x{len(self.inputs)}", array.shape, array.dtype)
        config = {"batch_shape": list(array.shape), "dtype": array.dtype.name, "sparse": False, "name": value.name}
        self.layers.append({
            "module": "keras.layers", "class_name": "InputLayer", "config": config, "name": value.name,
            "registered_name": None, "inbound_nodes": [],
        })  # fmt: skip
        self.inputs.append(value)
        return value

    def _add(self, kind: str, module: str, config: Mapping[str, Any], args: Any, kwargs: Any, results: int) -> Any:
        self.operators.add(kind)
        name = f"y{len(self.layers)}"
        called: dict[str, Any] = {"args": [_argument(value) for value in args]}
        called["kwargs"] = {key: _argument(value) for key, value in kwargs.items()}
        self.layers.append({
            "module": module, "class_name": kind, "config": {"name": name, **config}, "name": name,
            "registered_name": kind if "ops" in module else None, "inbound_nodes": [called],
        })  # fmt: skip
        made = [Value(f"{name}:{at}" if at else name, (), np.dtype(np.float32)) for at in range(results)]
        return made[0] if results == 1 else tuple(made)

    def __call__(self, op: str, *values: Any, results: int = 1, **config: Any) -> Any:
        """Add an operation; returns its result, or a tuple of them. values: arguments, tensors and others."""
        return self._add(op, "keras.src.ops.numpy", config, values, {}, results)

    def layer(
        self,
        kind: str,
        *values: Any,
        results: int = 1,
        weights: Mapping[str, Sequence[Array]] | None = None,
        keywords: Mapping[str, Any] | None = None,
        **config: Any,
    ) -> Any:
        """Add a layer; returns its result, or a tuple of them.

        weights: path of attributes in the layer -> its variables there.
        """
        name = f"y{len(self.layers)}"
        self.weights[name] = weights or {}
        entries = {"trainable": True, "dtype": "float32", **config}
        return self._add(kind, "keras.layers", entries, values, keywords or {}, results)

    def build(self, outputs: Sequence[Value], expected: Sequence[Array]) -> bytes:
        config = {
            "name": "net",
            "trainable": True,
            "layers": self.layers,
            "input_layers": [[value.name, 0, 0] for value in self.inputs],
            "output_layers": [_tensor(value)["config"]["keras_history"] for value in outputs],
        }
        document = {"module": "keras", "class_name": "Functional", "config": config, "registered_name": "Functional"}
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("config.json", json.dumps(document))
            archive.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
            archive.writestr("model.weights.h5", self._weights())
        return stream.getvalue()

    def _weights(self) -> bytes:
        stream = io.BytesIO()
        with h5py.File(stream, "w") as file:
            counts: Counter[str] = Counter()
            kinds = {layer["name"]: layer["class_name"] for layer in self.layers}
            for name, paths in self.weights.items():
                snake = re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", kinds[name])).lower()
                key = f"{snake}_{counts[snake]}" if counts[snake] else snake
                counts[snake] += 1
                file.require_group(f"layers/{key}/vars").attrs["name"] = name
                for path, arrays in paths.items():
                    group = file.require_group(f"layers/{key}/{path}/vars".replace("//", "/"))
                    for at, array in enumerate(arrays):
                        group.create_dataset(str(at), data=array)
        return stream.getvalue()
