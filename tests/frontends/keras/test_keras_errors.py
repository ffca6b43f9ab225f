"""Models that are damaged, hold code or use what is not supported end in one error that names file and layer."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import whence
from whence.frontends.keras import from_keras
from whence.frontends.keras.graph import open_model
from whence.support.errors import FrontendError

h5py: Any = import_module("h5py")
FOLDER = Path(__file__).parent / "models"
CNN, SHAPE = FOLDER / "cnn.keras", {"image": (1, 8, 8, 3)}


def archive(config: Any, weights: bytes | None = None) -> bytes:
    """Return an archive of a configuration, with the weights of `cnn.keras` by default."""
    weights = weights_of(CNN) if weights is None else weights
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("metadata.json", '{"keras_version": "3.15.1"}')
        file.writestr("config.json", config if isinstance(config, str | bytes) else json.dumps(config))
        file.writestr("model.weights.h5", weights)
    return out.getvalue()


def weights_of(path: Path) -> bytes:
    with zipfile.ZipFile(path) as file:
        return file.read("model.weights.h5")


def config_of(path: Path = CNN) -> Any:
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("config.json"))


def edited(edit: Callable[[dict[str, Any]], None]) -> bytes:
    """Return `cnn.keras` with its layers changed, by name."""
    config = config_of()
    edit({layer["config"]["name"]: layer for layer in config["config"]["layers"]})
    return archive(config)


def weighed(edit: Callable[[Any], None]) -> bytes:
    """Return `cnn.keras` with its HDF5 file changed."""
    buffer = io.BytesIO(weights_of(CNN))
    with h5py.File(buffer, "r+") as file:
        edit(file)
    return archive(config_of(), buffer.getvalue())


def option(layer: str, name: str, value: Any) -> bytes:
    """Return `cnn.keras` with an option of a layer changed."""
    return edited(lambda layers: layers[layer]["config"].update({name: value}))


def kind(layer: str, name: str, **more: Any) -> bytes:
    """Return `cnn.keras` with a layer of another class."""
    return edited(lambda layers: layers[layer].update({"class_name": name, **more}))


def refused(source: Any, text: str) -> None:
    with pytest.raises(FrontendError) as error:
        from_keras(source, shapes=SHAPE)
    assert text in str(error.value), str(error.value)
    assert "\n" not in str(error.value)


def test_code_is_refused_wherever_it_is():
    text = "layer 'relu': expected layers that are no code"
    refused(kind("relu", "Lambda"), text)
    code = {"class_name": "__lambda__", "config": {"value": "4wAAAA=="}}
    refused(option("classes", "activation", code), "layer 'classes': expected layers that are no code")


def test_all_unsupported_layers_are_named_at_once():
    def strange(layers: dict[str, Any]) -> None:
        for name in ("relu", "drop"):
            layers[name]["class_name"] = "Hologram"
        layers["flat"].update(class_name="Mine", module="my.layers", registered_name="mine>Mine")

    names = "Hologram (2 layers: relu, drop), mine>Mine (1 layer: flat)"
    refused(edited(strange), f"The following operators are not supported for frontend Keras: {names}")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (b"PK\x03\x04 metadata.json", "<memory>: expected a readable archive, got: "),
        (b"hello", "expected a Keras model (a .keras archive or an HDF5 file), got neither"),
        (archive("{"), "expected config.json as JSON, got: "),
        (archive("[]"), "expected config.json to be an object, got list"),
        (archive("[" * 100_000), "expected config.json as JSON, got: nesting too deep"),
        (archive('{"a":' * 500 + "1" + "}" * 500), "expected config.json nested at most 200 deep, got more"),
        (archive(config_of(), b"\x89HDF\r\n\x1a\n"), "expected the file as HDF5, got: "),
        (archive({"class_name": "Mine", "config": {"name": "m"}}), "got Mine, a class of the user's"),
        (archive({"class_name": "Sequential", "config": {"name": "m"}}), "got one without layers"),
        (option("conv", "filters", 0), "Conv2D: expected a positive number as 'filters', got 0"),
        (option("conv", "padding", "wide"), "expected 'padding' among valid, same, got 'wide'"),
        (option("conv", "kernel_size", [3]), "expected 2 positive numbers as 'kernel_size', got [3]"),
        (option("conv", "dtype", "float7"), "expected a dtype policy of one dtype, or a mixed one, got float7"),
        (option("conv", "activation", "wiggle"), "expected an activation of Keras as 'activation', got 'wiggle'"),
        (option("conv", "use_bias", True), "expected 2 weights (kernel, bias) of layer 'conv', got 1"),
        (option("classes", "units", 6), "expected weight 'kernel' of shape [16, 6], got [16, 5]"),
        (option("norm", "axis", 7), "expected an axis in [-4, 4), got 7"),
        (edited(lambda layers: layers["pool"].pop("class_name")), "a class_name of layer 4 of 'cnn', got None"),
        (edited(lambda layers: layers["pool"]["config"].update(name="conv")), "layers of different names, got two"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_damages_end_in_one_error(source: bytes, text: str):
    refused(source, text)


def test_an_entry_that_no_row_asks_for_is_refused_by_its_name():
    config = config_of()
    names = {layer["class_name"]: layer["config"]["name"] for layer in config["config"]["layers"]}
    normed, dense = names["BatchNormalization"], names["Dense"]
    refused(option(normed, "renorm", True), "BatchNormalization: expected no configuration 'renorm', which is not")
    refused(option(dense, "slope", 0.5), "Dense: expected no configuration 'slope', which is not supported, got 0.5")
    for name in ("kernel_regularizer", "trainable", "slope"):
        from_keras(option(dense, name, None), shapes=SHAPE)


def test_weights_must_be_there_and_inside_the_file(tmp_path: Path):
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["kernel"] = np.zeros((3, 3, 3, 4), np.float32)

    def missing(file: Any) -> None:
        del file["layers/conv2d"]

    def elsewhere(file: Any) -> None:
        del file["layers/conv2d/vars/0"]
        file["layers/conv2d/vars/0"] = h5py.ExternalLink(str(other), "/kernel")

    def outside(file: Any) -> None:
        del file["layers/conv2d/vars/0"]
        raw = str(tmp_path / "raw")
        file["layers/conv2d/vars"].create_dataset("0", (3, 3, 3, 4), "f4", external=[(raw, 0, 4 * 108)])

    def texts(file: Any) -> None:
        del file["layers/conv2d/vars/0"]
        file["layers/conv2d/vars/0"] = "text"

    def vast(file: Any) -> None:
        del file["layers/conv2d/vars/0"]
        file["layers/conv2d/vars"].create_dataset("0", (1 << 20, 1 << 20, 9), "f4", chunks=(64, 64, 1))

    refused(weighed(missing), "expected weights of layer 'conv', got none of it in the file")
    refused(weighed(elsewhere), "expected '/layers/conv2d/vars/0' inside the file, got a ExternalLink")
    refused(weighed(outside), "expected weight 'conv.kernel' inside the file, got numbers of another file")
    refused(weighed(texts), "expected weight 'conv.kernel' as numbers, got object")
    refused(weighed(vast), "expected weight 'conv.kernel' to be a tensor that fits the memory")


def test_layers_that_wait_for_each_other_are_refused():
    path = FOLDER / "functional.keras"
    config, weights = config_of(path), weights_of(path)
    layers = {layer["name"]: layer for layer in config["config"]["layers"]}
    tensor = layers["plus"]["inbound_nodes"][0]["args"][0][0]
    layers["conv"]["inbound_nodes"][0]["args"][0]["config"]["keras_history"] = ["plus", 0, 0]
    assert tensor["config"]["keras_history"] == ["conv", 0, 0]
    refused(archive(config, weights), "expected layers in some order, got ones that wait for each other")
    layers["conv"]["inbound_nodes"][0]["args"][0]["config"]["keras_history"] = ["nobody", 0, 0]
    refused(archive(config, weights), "layer 'conv': expected inputs from layers of the model, got call 0 of 'nobody'")


def test_weights_alone_are_no_model(tmp_path: Path):
    path = tmp_path / "alone.h5"
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = ["conv"]
    refused(path, "alone.h5: expected a Keras model with its configuration (model_config), got weights alone")


def test_shapes_must_agree_with_the_model():
    with pytest.raises(FrontendError, match=r"input 'image': expected a shape that agrees with the model's \[batch, 8"):
        from_keras(CNN, shapes={"image": (1, 9, 8, 3)})
    with pytest.raises(FrontendError, match="User specified the shape for inputs that weren't found in the graph: x"):
        whence.compile(CNN, shapes={"x": (1, 2)})


def test_damaged_bytes_never_end_in_a_traceback():
    data, rng = CNN.read_bytes(), np.random.default_rng(5)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(int(rng.integers(1, 8))):
            damaged[int(rng.integers(len(data)))] = int(rng.integers(256))
        cut = bytes(damaged[: int(rng.integers(len(data) // 2, len(data) + 1))])
        with suppress(FrontendError):
            from_keras(cut, shapes=SHAPE)


def places_in(nest: Any) -> list[tuple[Any, Any]]:
    """Return every map or list in a nest with each of its keys."""
    places: list[tuple[Any, Any]] = []
    stack: list[Any] = [nest]
    while stack:
        top: Any = stack.pop()
        entries = cast("list[Any]", top) if isinstance(top, list) else []
        keys: list[Any] = [*cast("dict[str, Any]", top)] if isinstance(top, dict) else [*range(len(entries))]
        places += [(top, key) for key in keys]
        stack += [top[key] for key in keys]
    return places


@pytest.mark.parametrize("name", ["conv_lstm", "masks", "quantized", "stateful"])
def test_damaged_configurations_never_end_in_a_traceback(name: str):
    path, rng = FOLDER / f"{name}.keras", np.random.default_rng(7)
    weights = weights_of(path)
    values: list[Any] = [None, True, -1, 0, 10**9, 1.5, "", "relu", [], [1, 2], {}]
    refusals: list[str] = []
    for _ in range(12):
        config = config_of(path)
        for _ in range(3):
            places = places_in(config)
            owner, key = places[int(rng.integers(len(places)))]
            owner[key] = values[int(rng.integers(len(values)))]
        try:
            open_model(archive(config, weights), keep=True)
        except FrontendError as error:
            refusals.append(str(error))
    assert refusals
    assert not any("\n" in text for text in refusals)


def test_states_need_a_fixed_batch():
    config = config_of(FOLDER / "stateful.keras")
    config["config"]["layers"][0]["config"]["batch_shape"][0] = None
    wanted = "layer 'lstm': expected a fixed batch of a model whose layers are stateful, got an open one"
    with pytest.raises(FrontendError, match=wanted):
        open_model(archive(config, weights_of(FOLDER / "stateful.keras")))


def test_quantisations_that_are_not_supported_are_refused():
    path = FOLDER / "quantized.keras"
    config = config_of(path)
    inner = next(layer for layer in config["config"]["layers"] if layer["name"] == "int8")
    dense = next(layer for layer in inner["config"]["layers"] if layer["class_name"] == "Dense")
    dense["config"]["dtype"]["config"]["mode"] = "float8"
    wanted = "expected the configuration of a Dense, got a quantisation by float8: int8 and int4 are supported"
    with pytest.raises(FrontendError, match=wanted):
        open_model(archive(config, weights_of(path)))


def test_a_keyword_may_have_any_name():
    path = FOLDER / "functional.keras"
    config = config_of(path)
    layers = {layer["name"]: layer for layer in config["config"]["layers"]}
    layers["conv"]["inbound_nodes"][0]["kwargs"] = {"class_name": "Dense", "config": {}}
    open_model(archive(config, weights_of(path)))


def test_an_output_far_away_is_refused():
    path = FOLDER / "functional.keras"
    config = config_of(path)
    config["config"]["output_layers"][0][2] = 10**9
    with pytest.raises(
        FrontendError, match=r"expected a tensor as \[layer, call, index\], got \['shared', 0, 1000000000\]"
    ):
        open_model(archive(config, weights_of(path)))


def test_without_h5py_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, "h5py", None)
    refused(CNN, "expected the h5py package, which reads Keras models (pip install 'whence-compiler[keras]'), got none")
