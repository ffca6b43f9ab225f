"""Operators that nothing imports are named all at once, in one form, with what is near them."""

import onnx.parser
import pytest

from whence.frontends.importing.unsupported import nearest, plain_stem
from whence.frontends.onnx import from_onnx
from whence.frontends.onnx.convert import supported
from whence.frontends.tensorflow.convert import CONVERTERS as TENSORFLOW
from whence.frontends.tflite.convert import CONVERTERS as TFLITE
from whence.frontends.torch.convert import CONVERTERS as TORCH
from whence.frontends.torch.load import without_overload
from whence.support.errors import FrontendError


@pytest.mark.parametrize(
    ("operator", "near"),
    [
        ("com.microsoft.Erf", "Erf"),
        ("ai.onnx.contrib.RotaryEmbedding", "RotaryEmbedding"),
        ("LayerNormalisation", "LayerNormalization"),
        ("BatchNormalizaton", "BatchNormalization"),
        ("com.example.Foo", None),
        ("ImageDecoder", None),
        ("Asi", None),
        ("ReduceMid", None),
    ],
)
def test_the_nearest_of_onnx(operator: str, near: str | None):
    assert nearest(operator, supported()) == near


@pytest.mark.parametrize(
    ("operator", "near"), [("FusedBatchNormV9", "FusedBatchNormV2"), ("RGBToHLS", None), ("Acosi", None)]
)
def test_the_nearest_of_tensorflow(operator: str, near: str | None):
    assert nearest(operator, TENSORFLOW) == near


@pytest.mark.parametrize(
    ("operator", "near"),
    [("aten.sub_.Vector", "aten.sub.Tensor"), ("aten.igamma.default", None), ("mylib.add.default", None)],
)
def test_the_nearest_of_torch(operator: str, near: str | None):
    assert nearest(operator, TORCH, without_overload) == near


def test_no_operator_is_taken_for_another():
    for table in (supported(), TENSORFLOW, TFLITE):
        for name in table:
            near = nearest(name, table)
            assert near is None or plain_stem(near) == plain_stem(name), f"{name} is not {near}"


def test_layers_lines_and_the_nearest_are_in_the_error():
    text = """<ir_version: 8, opset_import: ["": 18, "com.microsoft": 1, "mine": 1]>
    net (float[2] x) => (float[2] y) { [root] a = com.microsoft.Erf (x) [far] b = mine.Hologram (a)
    y = mine.Hologram (b) }"""
    model = onnx.parser.parse_model(text)
    trace = model.graph.node[1].metadata_props.add()
    trace.key, trace.value = "pkg.torch.onnx.stack_trace", 'File "net.py", line 7, in forward\n    x = hologram(x)'
    with pytest.raises(FrontendError) as error:
        from_onnx(model)
    assert str(error.value) == (
        "<memory>: The following operators are not supported for frontend ONNX: "
        "com.microsoft.Erf (1 layer: root; Erf is supported), mine.Hologram (2 layers: far at net.py:7, Hologram_0); "
        'custom_ops={"com.microsoft.Erf": function, ..} has functions of yours compute them'
    )
