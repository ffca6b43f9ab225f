"""Models of all formats: one error for shapes that do not fit, and one for results that contradict the model."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from damaged_pt2 import archive, entries
from onnx import parser
from tensorflow_graphs import Net as Graph
from tflite_builder import Net

from whence.compiler.formats import read_model
from whence.dialects.relay.size_ranges import main_of
from whence.frontends.importing.tensor import Undecided
from whence.frontends.importing.whole_models import import_model, import_symbolic
from whence.support.errors import FrontendError

KERAS = Path(__file__).parent / "keras/models/halves.keras"


def onnx(shape: str = "2, N", result: str = "float[2, N]") -> bytes:
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[{shape}] x) => ({result} y) {{ y = Neg (x) }}'
    return parser.parse_model(text).SerializeToString()


def tflite(result: str = "float32") -> bytes:
    net = Net()
    x = net.input("x", [2, 3])
    net.op("NEG", [x], [y := net.tensor("y", [2, 3], result)])
    return net.build([y])


def tensorflow(stated: Sequence[int] = (2, -1)) -> bytes:
    graph = Graph()
    graph.op("Neg", "y", graph.placeholder("x", (2, -1)), T="float32")
    shape = graph.graph.node[-1].attr["_output_shapes"].list.shape.add()
    for extent in stated:
        shape.dim.add(size=extent)
    return graph.build()


def stablehlo(stated: str = "2x?xf32") -> bytes:
    return f"""
module @m {{
  func.func public @main(%x: tensor<2x?xf32> loc("x")) -> tensor<{stated}> {{
    %0 = "stablehlo.negate"(%x) : (tensor<2x?xf32>) -> tensor<{stated}>
    return %0 : tensor<{stated}>
  }}
}}""".encode()


def torch(change: Callable[[Any], None] = lambda document: None) -> bytes:
    files = entries("cnn")
    key = next(key for key in files if key.endswith("/model.json"))
    document = json.loads(files[key])
    change(document)
    return archive({**files, key: json.dumps(document).encode()})


def keras(change: Callable[[Any], None] = lambda config: None) -> bytes:
    with zipfile.ZipFile(KERAS) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    config = json.loads(parts["config.json"])
    change(config)
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in {**parts, "config.json": json.dumps(config).encode()}.items():
            file.writestr(name, data)
    return out.getvalue()


@dataclass(frozen=True)
class Case:
    """A model with an input of known rank."""

    data: Callable[[], bytes]
    name: str
    stated: str
    """The shape of its input, as errors show it."""
    rank: int


CASES: Mapping[str, Case] = {
    "onnx": Case(onnx, "x", "[2, N]", 2),
    "tflite": Case(tflite, "x", "[2, 3]", 2),
    "tensorflow": Case(tensorflow, "x", "[2, ?]", 2),
    "stablehlo": Case(stablehlo, "x", "[2, x_1]", 2),
    "torch": Case(torch, "image", "[image_0, 3, 16, 16]", 4),
    "keras": Case(keras, "image", "[batch, 8, 8, 3]", 4),
}
FORMATS = pytest.mark.parametrize("form", CASES)


def fails(case: Case, shapes: Mapping[str, Sequence[int]], text: str) -> None:
    model = read_model(case.data())
    for imported in (partial(import_model, model), partial(import_symbolic, model, ranges={}), model.inputs.after):
        with pytest.raises(FrontendError) as error:
            imported(shapes)
        assert str(error.value) == text


@FORMATS
def test_a_shape_of_another_rank(form: str):
    case = CASES[form]
    wrong = [1] * (case.rank + 1)
    text = f"input '{case.name}': expected a shape that agrees with the model's {case.stated}, got {wrong}"
    fails(case, {case.name: wrong}, text)


@FORMATS
def test_extents_below_0(form: str):
    case = CASES[form]
    wrong = [2, 3, 16, -1][: case.rank]
    wrong[-1] = -1
    text = f"input '{case.name}': expected a shape that agrees with the model's {case.stated}, got {wrong}"
    fails(case, {case.name: wrong}, text)


@pytest.mark.parametrize("form", [name for name in CASES if name != "tflite"])
def test_extents_that_are_others(form: str):
    case = CASES[form]
    wrong = [5] * case.rank
    text = f"input '{case.name}': expected a shape that agrees with the model's {case.stated}, got {wrong}"
    fails(case, {case.name: wrong}, text)


def test_tflite_takes_other_extents():
    (value,) = main_of(import_model(read_model(tflite()), {"x": [5, 7]})).block.args
    assert str(value.type) == "tensor<5x7xf32>"


@FORMATS
def test_names_that_no_input_has(form: str):
    text = "User specified the shape for inputs that weren't found in the graph: q, r"
    fails(CASES[form], {"q": [1], "r": [2]}, text)


@pytest.mark.parametrize("form", [name for name in CASES if name != "tflite"])
def test_open_extents_without_a_shape(form: str):
    case = CASES[form]
    example = re.sub(r"[a-zA-Z?]\w*", "1", case.stated).replace(" ", "")
    model = read_model(case.data())
    with pytest.raises(Undecided) as error:
        import_model(model, {})
    assert str(error.value) == (
        f"{model.file}: expected static shapes, got dynamic dimensions in inputs {case.name} {case.stated}; "
        f'give their shapes, such as "{case.name}:{example}" (input_shapes, --input-shapes)'
    )


@pytest.mark.parametrize(
    ("data", "stated", "actual"),
    [
        (partial(onnx, "2, 3", "int32[2, 3]"), "int32[2, 3]", "float32[2, 3]"),
        (partial(tflite, "int32"), "int32[2, 3]", "float32[2, 3]"),
        (partial(tensorflow, (3, -1)), "float32[3, ?]", "float32[2, 3]"),
        (partial(stablehlo, "3x?xf32"), "float32[3, ?]", "float32[2, 3]"),
    ],
    ids=["onnx", "tflite", "tensorflow", "stablehlo"],
)
def test_results_that_contradict_the_model(data: Callable[[], bytes], stated: str, actual: str):
    with pytest.raises(FrontendError) as error:
        import_model(read_model(data()), {"x": [2, 3]})
    assert f": expected a result of {stated}, as the model says, got {actual} (layer " in str(error.value)


def test_results_that_contradict_a_program_of_torch():
    def more_channels(document: Any) -> None:
        graph = document["graph_module"]["graph"]
        sizes = graph["tensor_values"]["conv2d"]["sizes"]
        sizes[1] = {"as_int": sizes[1]["as_int"] + 1}

    with pytest.raises(FrontendError) as error:
        import_model(read_model(torch(more_channels)), {"image": [2, 3, 16, 16]})
    assert re.search(
        r"conv2d\.default: expected a result of float32\[2, 9, .*\], as the model says, got", str(error.value)
    )


@pytest.mark.parametrize(("key", "value"), [("shape", [None, 6, 6, 5]), ("dtype", "float32")])
def test_results_that_contradict_a_file_of_keras(key: str, value: Any):
    def other(config: Any) -> None:
        (call,) = config["config"]["layers"][2]["inbound_nodes"]
        call["args"][0]["config"][key] = value

    with pytest.raises(FrontendError) as error:
        import_model(read_model(keras(other)), {"image": [1, 8, 8, 3]})
    text = r"Conv2D: expected a result of float.*, as the model says, got float16\[1, 6, 6, 4\] \(layer 'conv'"
    assert re.search(text, str(error.value))


@pytest.mark.parametrize("form", ["onnx", "tflite"])
def test_shapes_that_runtimes_compute_anew_may_be_stale(form: str):
    """The networks that torch.onnx wrote for the tests have one, too, which onnxruntime does not mind."""
    net = Net()
    net.op("NEG", [net.input("x", [2, 3])], [y := net.tensor("y", [2, 4])])
    stale = {"onnx": onnx("2, 3", "float[2, 4]"), "tflite": net.build([y])}[form]
    main = main_of(import_model(read_model(stale), {}))
    assert [str(type_) for type_ in main.function_type.outputs] == ["tensor<2x3xf32>"]


def test_a_name_of_an_extent_may_be_an_expression():
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[n] x, float["n + 1"] y) => (float[m] z) { z = Neg (x) }'
    model = read_model(parser.parse_model(text).SerializeToString())
    assert [spec.shape for spec in model.inputs.after({"x": [4]})] == [(4,), (5,)]
    with pytest.raises(
        FrontendError, match=r"input 'y': expected a shape that agrees with the model's \[n \+ 1\], got \[4\]"
    ):
        model.inputs.after({"x": [4], "y": [4]})
