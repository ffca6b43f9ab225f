"""Indices that a call gives: what lies outside is one error, before anything runs."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from meanings.meaning import Value
from meanings.running import table, written

import whence
from whence.runtime import load_module
from whence.support.errors import FrontendError


def compiled(text: str, opset: int = 18) -> whence.Executable:
    return whence.compile(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> g {text}'), threads=1)


def data(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


OPERATORS = {
    "Gather": ("int64[k] i", "[at] y = Gather (x, i)", ([0, 3], [-4, 1]), ([4, 0], [0, -5])),
    "Gather int32": (
        "int32[k] i",
        "j = Cast <to = 7> (i) [at] y = Gather (x, j)",
        ([0, 3], [-4, 1]),
        ([4, 0], [0, -5]),
    ),
    "GatherElements": ("int64[k, 3] i", "[at] y = GatherElements (x, i)", ([[0, 3, -4]],), ([[0, 4, 0]], [[0, -5, 0]])),
    "GatherND": ("int64[k, 2] i", "[at] y = GatherND (x, i)", ([[3, 2], [-4, -3]],), ([[3, 3]], [[-5, 0]])),
    "ScatterElements": ("int64[1, 3] i", "[at] y = ScatterElements (x, i, u)", ([[3, 0, -4]],), ([[4, 0, 0]],)),
    "ScatterND": ("int64[3, 2] i", "[at] y = ScatterND (x, i, v)", ([[3, 2], [0, 0], [-4, -3]],), ([[0, 3]] * 3,)),
}


@pytest.mark.parametrize("extent", ["4", "n"])
@pytest.mark.parametrize("name", OPERATORS)
def test_an_index_outside_is_an_error_that_names_the_layer(name: str, extent: str):
    given, nodes, inside, outside = OPERATORS[name]
    initial = "<float[1, 3] u = {1, 2, 3}, float[3] v = {1, 2, 3}>"
    executable = compiled(f"(float[{extent}, 3] x, {given}) => (y) {initial} {{ {nodes} }}")
    dtype = np.int32 if "int32" in name else np.int64
    for indices in inside:
        executable(data(4, 3), np.array(indices, dtype))
    for indices in outside:
        with pytest.raises(FrontendError, match=r"inputs: 'i' at \[.*\]: expected an index from .* \(layer 'at', <mem"):
            executable(data(4, 3), np.array(indices, dtype))


def test_what_an_exported_model_is_given_is_checked_too(tmp_path: Path):
    for extent in ("4", "n"):
        executable = compiled(f"(float[{extent}, 3] x, int64[2] i) => (y) {{ [at] y = Gather (x, i) }}")
        path = tmp_path / f"{extent}.so"
        executable.export_library(path)
        loaded = load_module(path)
        np.testing.assert_array_equal(loaded(data(4, 3), np.array([0, -1])), data(4, 3)[[0, -1]])
        with pytest.raises(FrontendError, match=r"from -4 to 3, got 7 \(layer 'at'"):
            loaded(data(4, 3), np.array([0, 7]))


def test_a_branch_that_is_not_taken_may_have_any_indices():
    executable = compiled("""(float[n, 3] x, int64[2] i) => (y) <int64[1] two = {2}> {
        n = Shape <end = 1> (x)
        few = Less (n, two)
        y = If (few) <then_branch = t () => (a) { a = Concat <axis = 0> (x, x) },
                      else_branch = e () => (b) { b = Gather (x, i) }>
    }""")
    doubled = np.concatenate([data(1, 3)] * 2)
    np.testing.assert_array_equal(executable(data(1, 3), np.array([5, 5])), doubled)


LOSSES = {
    "NegativeLogLikelihoodLoss (x, t)": ([0, 2], [3, 0], [0, -1]),
    "SoftmaxCrossEntropyLoss (x, t)": ([0, 2], [3, 0], [0, -1]),
    "SoftmaxCrossEntropyLoss <ignore_index = -1> (x, t)": ([-1, 2], [3, -1], [-2, 0]),
    "NegativeLogLikelihoodLoss <ignore_index = 255> (x, t)": ([255, 2], [3, 255], [-1, 0]),
}


@pytest.mark.parametrize("extent", ["3", "n"])
@pytest.mark.parametrize("node", LOSSES)
def test_a_target_outside_the_classes_is_an_error_unless_it_is_ignored(node: str, extent: str, tmp_path: Path):
    inside, *outside = (np.array(targets) for targets in LOSSES[node])
    executable = compiled(f"(float[2, {extent}] x, int64[2] t) => (y) {{ [loss] y = {node} }}")
    reference = executable(data(2, 3), inside)
    executable.export_library(tmp_path / "m.so")
    loaded = load_module(tmp_path / "m.so")
    np.testing.assert_array_equal(loaded(data(2, 3), inside), reference)
    for targets, call in product(outside, (executable, loaded)):
        with pytest.raises(FrontendError, match=r"'t' at .*: expected a (class|number) from 0 to 2.*\(layer 'loss'"):
            call(data(2, 3), targets)


@pytest.mark.parametrize("node", LOSSES)
def test_a_target_of_the_model_outside_the_classes_is_refused(node: str):
    for at, targets in enumerate(LOSSES[node]):
        text = f"(float[2, 3] x) => (y) <int64[2] t = {{{targets[0]}, {targets[1]}}}> {{ [loss] y = {node} }}"
        if not at:
            compiled(text)
            continue
        with pytest.raises(FrontendError, match=r"expected indices in \[0, 3\), got .*\(layer 'loss'"):
            compiled(text)


def imported(form: str, model: Any) -> Any:
    return import_module(f"meanings.formats.{form}").load(model)


@pytest.mark.parametrize("form", ["tensorflow", "tflite", "torch"])
def test_an_index_outside_of_a_table_is_an_error_where_none_counts_from_the_end(form: str):
    (embedding,) = (meaning for meaning in table("lookups") if meaning.name == "embedding")
    executable = whence.compile(imported(form, written(embedding, form, embedding.cases).model))
    for outside in (6, -1):
        with pytest.raises(FrontendError, match=rf"expected a number from 0 to 5, got {outside} \(layer"):
            executable(np.full((2, 2), outside, np.int32))


def test_known_points_outside_are_refused_where_tensorflow_refuses_them():
    net = import_module("meanings.formats.tensorflow").Net()
    points, updates = net.const([[0], [3]], "int32"), net.const([1, 2], "float32")
    result = net("TensorScatterUpdate", net.input(data(3)), points, updates, Tindices="int32")
    with pytest.raises(FrontendError, match=r"TensorScatterUpdate: expected indices in \[0, 3\), got 0 to 3"):
        imported("tensorflow", net.build([result], [data(3)]))


@pytest.mark.parametrize("name", ["nonzero_numpy", "where"])
@pytest.mark.parametrize("number", [0, 5])
def test_the_place_of_a_scalar_is_that_of_a_row_of_one(name: str, number: int):
    net = import_module("meanings.formats.torch").Net()
    scalar = np.asarray(number, np.float32)
    argument: dict[str, Value] = {"condition" if name == "where" else "self": net.input(scalar)}
    places = net(f"aten.{name}.default", results=[1], **argument)
    executable = whence.compile(net.build(places, [np.zeros(1, np.int64)]))
    assert np.ravel(executable(scalar)).tolist() == [0] * (number != 0)
