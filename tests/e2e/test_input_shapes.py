"""Shapes that the user gives: as a mapping, and in the text form of TVM's command line."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto

import whence
from whence.reading.input_shapes import given_shapes, parse_input_shapes
from whence.support.errors import FrontendError, PipelineError


@pytest.fixture
def model() -> ModelProto:
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 13]> net (float[N,C] a, float[C] b) => (float[N,C] y) { y = Add (a, b) }'
    )


@pytest.mark.parametrize("given", [{"a": (2, 3), "b": [3]}, "a:[2,3] b:[3]", "a:[2,3]"])
def test_the_forms_mean_the_same(model: ModelProto, given: dict[str, tuple[int, ...]] | str):
    a, b = np.ones((2, 3), np.float32), np.arange(3, dtype=np.float32)
    for exe in (whence.compile(model, input_shapes=given), whence.compile(model, shapes=given)):
        np.testing.assert_array_equal(exe(a, b), a + b)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("data:[1,3,224,224]", {"data": (1, 3, 224, 224)}),
        (" a:[ 1 , 2 ]  b: [3] ", {"a": (1, 2), "b": (3,)}),
        ("gpu_0/data_0:[1] data:0:[2,0]", {"gpu_0/data_0": (1,), "data:0": (2, 0)}),
        ("scalar:[]", {"scalar": ()}),
        ("a:[1]b:[2]", {"a": (1,), "b": (2,)}),
    ],
)
def test_texts(text: str, shapes: dict[str, tuple[int, ...]]):
    assert parse_input_shapes(text) == shapes


@pytest.mark.parametrize(
    "text", ["", " ", "a", "a:1,2", "a:[1,2", "a:[1,]", "a:[-2]", "a:[x y]", "a:[1] b", ":[1]", "a:[1.5]"]
)
def test_bad_texts(text: str):
    with pytest.raises(
        PipelineError, match=re.escape('input shapes: expected text such as "data:[1,3,224,224] mask:[1,16]"')
    ):
        parse_input_shapes(text)


def test_a_name_twice():
    with pytest.raises(PipelineError, match="expected one shape of 'a', got two"):
        parse_input_shapes("a:[1] a:[1]")


def test_shapes_that_do_not_fit(model: ModelProto):
    with pytest.raises(FrontendError, match="inputs that weren't found in the graph: c"):
        whence.compile(model, input_shapes="a:[2,3] c:[1]")
    with pytest.raises(
        FrontendError, match=r"input 'b': expected a shape that agrees with the model's \[C\], got \[4\]"
    ):
        whence.compile(model, input_shapes="a:[2,3] b:[4]")
    with pytest.raises(
        PipelineError, match=r"input shapes: expected extents by the names of inputs, got \{'a': \(2.5,\)\}"
    ):
        whence.compile(model, input_shapes={"a": cast(Any, (2.5,))})
    with pytest.raises(PipelineError, match="expected input_shapes or shapes, got both"):
        whence.compile(model, input_shapes="a:[2,3]", shapes="a:[2,3]")
    module = whence.load(model, "a:[2,3]")
    with pytest.raises(FrontendError, match=r"agrees with the module's \[2, 3\], got \[2, n\]"):
        whence.compile(module, input_shapes="a:[2,n]")


def test_what_a_user_leaves_open_is_called_as_the_model_has_it():
    text = "net (float[N, 4] x, float[N, 4] z) => (float[N, 4] y) { y = Add(x, z) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {text}')
    left = given_shapes("x:[-1,4] z:[ ? ,4]")
    assert str(left.shapes["x"][0]) != str(left.shapes["z"][0])
    assert given_shapes({"x": (-1, 4), "z": ("?", 4)}) == left
    exe = whence.compile(model, input_shapes="x:[-1,4] z:[?,4]")
    assert [str(spec) for spec in exe.inputs] == ["float32[N, 4] 'x'", "float32[N, 4] 'z'"]
    array = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(exe.run({"x": array, "z": array})["y"], 2 * array)
