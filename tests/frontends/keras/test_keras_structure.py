"""What becomes of Keras models: names of layers and weights, the doors, perturbed weights."""

from __future__ import annotations

import io
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import whence
from whence import relay
from whence.cli.main import main as whence_command
from whence.dialects.relay.core import ConstantOp
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.keras import from_keras
from whence.provenance.span import layer_names
from whence.support.errors import FrontendError

h5py: Any = import_module("h5py")
FOLDER = Path(__file__).parent / "models"
CNN, FUNCTIONAL = FOLDER / "cnn.keras", FOLDER / "functional.keras"


def operators(module: ModuleOp) -> list[tuple[str, str]]:
    """Each operator and its layer."""
    return [
        (op.name.removeprefix("relay."), ", ".join(layer_names(op.location)))
        for op in module.walk()
        if op.name not in ("builtin.module", "relay.func", "relay.return", "relay.constant")
    ]


def changed(path: Path, member: str, edit: Any) -> bytes:
    """Return an archive with one member edited: its bytes, to bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(out, "w") as copy:
        for name in archive.namelist():
            data = archive.read(name)
            copy.writestr(name, edit(data) if name == member else data)
    return out.getvalue()


def with_weights(path: Path, edit: Any) -> bytes:
    """Return an archive whose HDF5 file `edit` has changed."""

    def edited(data: bytes) -> bytes:
        buffer = io.BytesIO(data)
        with h5py.File(buffer, "r+") as file:
            edit(file)
        return buffer.getvalue()

    return changed(path, "model.weights.h5", edited)


def test_layers_are_called_what_the_user_called_them():
    assert operators(from_keras(CNN, shapes={"image": (1, 8, 8, 3)})) == [
        ("nn.conv2d", "conv"),
        ("nn.batch_norm", "norm"),
        ("nn.relu", "relu"),
        ("nn.max_pool2d", "pool"),
        ("reshape", "flat"),
        ("transpose", "classes"),
        ("nn.dense", "classes"),
        ("nn.bias_add", "classes"),
        ("nn.softmax", "classes"),
    ]


def test_calls_and_models_inside_are_told_apart():
    layers = [layer for _, layer in operators(from_keras(FUNCTIONAL, shapes={"image": (2, 6, 6, 3)}))]
    assert list(dict.fromkeys(layers)) == [
        "conv", "shortcut", "plus", "block/deep/conv", "block/norm", "block#1/deep/conv", "block#1/norm", "mean",
        "shared", "shared#1",
    ]  # fmt: skip


def test_weights_are_called_after_layer_and_variable():
    module = from_keras(FUNCTIONAL, shapes={"image": (2, 6, 6, 3)})
    names = {layer_names(op.location) for op in module.walk() if isinstance(op, ConstantOp)}
    parts = {"shared": "kernel bias", "block/norm": "gamma beta moving_mean moving_variance"}
    parts |= dict.fromkeys(("conv", "shortcut", "block/deep/conv"), "kernel bias")
    assert names == {(f"{layer}.{part}",) for layer, kinds in parts.items() for part in kinds.split()}


def test_a_weight_changes_what_names_it_and_nothing_else():
    def doubled(file: Any) -> None:
        kernel = file["layers/conv2d/vars/0"]
        kernel[...] = 2 * kernel[...]

    first, second = (from_keras(source, shapes={"image": (1, 8, 8, 3)}) for source in (CNN, with_weights(CNN, doubled)))
    assert operators(first) == operators(second)
    different: set[str] = set()
    for a, b in zip(first.walk(), second.walk(), strict=True):
        if isinstance(a, ConstantOp) and isinstance(b, ConstantOp):
            if not np.array_equal(a.value(first), b.value(second)):
                different |= set(layer_names(b.location))
    assert different == {"conv.kernel"}


def test_machine_code_remembers_layers():
    program = whence.compile(CNN)
    assert program.layers == ("conv", "norm", "relu", "pool", "drop", "flat", "classes")
    assert "cnn.keras" in str(program.where("conv"))


def test_whence_run_takes_keras_files(capsys: pytest.CaptureFixture[str]):
    assert whence_command(["run", str(FOLDER / "cnn.h5"), "--input-shapes", "image:[2,8,8,3]"]) == 0
    assert "classes" in capsys.readouterr().out


def test_older_archives_have_no_names_of_layers():
    def unnamed(file: Any) -> None:
        def forget(name: str, entry: Any) -> None:
            if "name" in entry.attrs:
                del entry.attrs["name"]

        file.visititems(forget)

    shape = {"image": (2, 6, 6, 3)}
    data = np.random.default_rng(0).standard_normal(shape["image"]).astype(np.float32)
    first, second = (from_keras(source, shapes=shape) for source in (FUNCTIONAL, with_weights(FUNCTIONAL, unnamed)))
    for a, b in zip(evaluate_module(first, [data]), evaluate_module(second, [data]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_weights_are_parameters_for_relay():
    module, params = relay.frontend.from_keras(CNN, {"image": (2, 3, 8, 8)})
    main = module["main"]
    assert [param.name_hint for param in main.params] == ["image", *(f"_param_{k}" for k in range(1, 8))]
    assert [tuple(map(int, main.params[0].checked_type.shape))] == [(2, 3, 8, 8)]
    assert params["_param_1"].shape == (3, 3, 3, 4)


def test_relay_has_images_as_the_layout_says():
    data = np.random.default_rng(0).standard_normal((2, 6, 6, 3)).astype(np.float32)
    wanted = evaluate_module(from_keras(FUNCTIONAL, shapes={"image": (2, 6, 6, 3)}), [data])
    module, params = relay.frontend.from_keras(FUNCTIONAL, {"image": (2, 3, 6, 6)})
    run = relay.create_executor("graph", mod=module).evaluate()
    results = run(data.transpose(0, 3, 1, 2), **params)
    for result, reference in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result.numpy(), reference, rtol=2e-5, atol=2e-5)
    with pytest.raises(FrontendError, match="expected a layout among NCHW, NHWC, NDHWC, got 'NCWH'"):
        relay.frontend.from_keras(FUNCTIONAL, layout="NCWH")
