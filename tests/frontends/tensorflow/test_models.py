"""Whole models: frozen graphs and saved models, read and run without TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence.executables.stateful import Stateful
from whence.support.errors import FrontendError, PipelineError

DATA = Path(__file__).parent / "data"
MODELS = sorted(path for path in DATA.iterdir() if path.is_dir() or path.suffix == ".pb")


def calls(path: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The inputs and outputs of each call that TensorFlow made."""
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    with np.load(path.with_suffix(".npz")) as arrays:
        for key in arrays:
            call, part, name = key.split("|", 2)
            found.setdefault(call, ({}, {}))[part == "out"][name] = arrays[key]
    return [found[call] for call in sorted(found)]


def agree(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    assert set(found) >= set(expected)
    for name, array in expected.items():
        assert np.asarray(found[name]).dtype == array.dtype
        np.testing.assert_allclose(np.asarray(found[name]), array, rtol=2e-5, atol=2e-5)


@cache
def compiled(name: str) -> whence.Executable:
    return whence.compile(DATA / name)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_a_model(path: Path):
    executable = compiled(path.name)
    for inputs, expected in calls(path):
        agree(executable.run(inputs), expected)


def test_what_a_call_changes_is_there_for_the_next_one():
    """`test_a_model` makes the calls in order; a second program begins anew."""
    (inputs, expected), *_ = calls(DATA / "stateful_saved")
    agree(whence.compile(DATA / "stateful_saved").run(inputs), expected)


def test_no_tensorflow_is_needed():
    code = "import sys; sys.modules['tensorflow'] = None; import whence; whence.load(sys.argv[1], sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, str(DATA / "cnn_saved"), "image:[2,16,16,3]"], check=True)


def test_open_dimensions_are_sizes_of_one_program():
    executable = compiled("cnn_saved")
    assert [spec.shape for spec in executable.inputs] == [(-1, 16, 16, 3)]
    assert executable.choice.kind == "sized"


def test_inputs_are_called_what_the_signature_or_the_node_says():
    by_signature = whence.load(DATA / "cnn_saved", {"image": (2, 16, 16, 3)})
    by_node = whence.load(DATA / "cnn_saved", {"serving_default_image": (2, 16, 16, 3)})
    assert str(by_signature) == str(by_node)
    with pytest.raises(FrontendError, match="weren't found in the graph: picture"):
        whence.load(DATA / "cnn_saved", {"picture": (2, 16, 16, 3)})


def test_a_call_may_name_inputs_as_the_graph_does():
    executable, ((inputs, expected), *_) = compiled("cnn_saved"), calls(DATA / "cnn_saved")
    for name in ("serving_default_image", "serving_default_image:0"):
        agree(executable.run({name: inputs["image"]}), expected)
    with pytest.raises(FrontendError, match="expected input 'image' once, got it under several names"):
        executable.run({"image": inputs["image"], "serving_default_image": inputs["image"]})


def test_an_output_may_be_called_as_an_input_is():
    """The input then has the name of its placeholder, and that of the signature is another one for it."""
    executable = compiled("repeating_saved")
    assert [spec.name for spec in executable.inputs] == ["most", "serving_default_x"]
    assert [spec.name for spec in executable.outputs] == ["steps", "x"]
    (inputs, expected), *_ = calls(DATA / "repeating_saved")
    agree(executable.run({"most": inputs["most"], "serving_default_x": inputs["x"]}), expected)


def test_a_program_for_all_sizes_keeps_what_a_call_changes():
    executable = whence.compile(DATA / "counting_saved")
    assert executable.choice.kind == "sized"
    for inputs, expected in calls(DATA / "counting_saved"):
        agree(executable.run(inputs), expected)
    assert isinstance(executable, Stateful)
    assert executable.state["rows"] == 11
    executable.reset()
    (inputs, expected), *_ = calls(DATA / "counting_saved")
    agree(executable.run(inputs), expected)


def test_layers_have_no_names_of_calls():
    layers = compiled("cnn_saved").layers
    assert any(layer.endswith("conv_1/convolution") for layer in layers)
    assert [layer for layer in layers if "PartitionedCall" in layer] in ([], ["StatefulPartitionedCall_1/Identity"])
    assert "truediv" in compiled("counting_saved").layers


def test_signatures():
    with pytest.raises(FrontendError, match="expected a signature among serve, serving_default, got 'serv'"):
        whence.load(DATA / "cnn_saved", signature="serv")
    assert "serve_image" not in str(whence.load(DATA / "cnn_saved", {"image": (1, 16, 16, 3)}, signature="serve"))
    with pytest.raises(FrontendError, match="expected a saved model, which has signatures"):
        whence.load(DATA / "cnn.pb", signature="serve")
    with pytest.raises(PipelineError, match="expected a TFLite or saved model"):
        whence.load("light_resnet50", signature="serve")
