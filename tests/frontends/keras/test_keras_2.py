"""Files as Keras 2 wrote them: calls are lists, weights are `kernel:0`, and models inside have a call of their own."""

from __future__ import annotations

import io
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.keras import from_keras
from whence.frontends.keras.nests import items_of

h5py: Any = import_module("h5py")
FOLDER = Path(__file__).parent / "models"


def as_keras_2(path: Path) -> bytes:
    """Return an `.h5` file of Keras 3 in the form of Keras 2."""
    buffer = io.BytesIO(path.read_bytes())
    with h5py.File(buffer, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        _older(config)
        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"] = b"2.15.0"
        for name, group in file["model_weights"].items():
            names = [weight.decode() if isinstance(weight, bytes) else weight for weight in group.attrs["weight_names"]]
            for weight in names:
                group.move(weight, f"{weight}:0")
            group.attrs["weight_names"] = [f"{weight}:0".encode() for weight in names]
            assert name
    return buffer.getvalue()


def _older(model: dict[str, Any]) -> None:
    layers = model["config"]["layers"]
    inside = {layer["config"]["name"] for layer in layers if layer["class_name"] in ("Functional", "Sequential")}

    def place(tensor: dict[str, Any], keywords: dict[str, Any]) -> list[Any]:
        name, call, index = tensor["config"]["keras_history"]
        return [name, call + (name in inside), index, keywords]

    for layer in layers:
        config = layer["config"]
        if "batch_shape" in config:
            config["batch_input_shape"] = config.pop("batch_shape")
        if isinstance(config.get("dtype"), dict):
            config["dtype"] = config["dtype"]["config"]["name"]
        calls: list[list[Any]] = []
        for node in layer.get("inbound_nodes", []):
            first, *_ = node["args"]
            keywords = {key: value for key, value in node["kwargs"].items() if value is not None}
            tensors = items_of(first) or [first]
            calls.append([place(tensor, keywords if at == 0 else {}) for at, tensor in enumerate(tensors)])
        if "inbound_nodes" in layer:
            layer["inbound_nodes"] = calls
        if layer["config"]["name"] in inside:
            _older(layer)


@pytest.mark.parametrize("name", ["cnn", "functional", "normalizations"])
def test_files_of_keras_2_compute_the_same(name: str):
    path = FOLDER / f"{name}.h5"
    with np.load(path.with_suffix(".npz")) as arrays:
        tensors = {key[5:]: arrays[key] for key in arrays.files if key.startswith("in_3_")}
        wanted = [arrays[key] for key in arrays.files if key.startswith("out_3_")]
    module = from_keras(as_keras_2(path), shapes={key: array.shape for key, array in tensors.items()})
    results = evaluate_module(module, list(tensors.values()))
    for result, reference in zip(results, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(result), reference, rtol=2e-5, atol=2e-5)


def test_hard_sigmoid_has_the_slope_of_its_version():
    outputs: list[Any] = []
    path = FOLDER / "cnn.h5"
    for version in ("2.15.0", "3.15.1"):
        buffer = io.BytesIO(path.read_bytes())
        with h5py.File(buffer, "r+") as file:
            config = json.loads(file.attrs["model_config"])
            config["config"]["layers"][-1]["config"]["activation"] = "hard_sigmoid"
            file.attrs["model_config"] = json.dumps(config)
            file.attrs["keras_version"] = version
        module = from_keras(buffer.getvalue(), shapes={"image": (1, 8, 8, 3)})
        data = np.random.default_rng(0).standard_normal((1, 8, 8, 3)).astype(np.float32)
        outputs.append(np.asarray(evaluate_module(module, [data])[0]))
    inside = (outputs[0] > 0) & (outputs[0] < 1)
    assert inside.any()
    np.testing.assert_allclose((outputs[0] - 0.5)[inside] / 0.2, (outputs[1] - 0.5)[inside] * 6, rtol=1e-4)
