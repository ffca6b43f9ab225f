"""Bad models, bad shapes, unsupported operators: each says what was expected, what was found, and where."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

from whence.frontends.importing import importer
from whence.frontends.onnx import from_onnx, pooling
from whence.frontends.onnx.convert import CONVERTERS
from whence.support.context import PassContext
from whence.support.errors import FrontendError, FrontendWarning


def parse(text: str, opset: int = 13) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}, "com.example": 1]> net {text}')


RELU = "(float[2] x) => (float[2] y) { y = Relu (x) }"


def fails(model: ModelProto | bytes | Path, text: str, shapes: dict[str, tuple[int, ...]] | None = None) -> None:
    with pytest.raises(FrontendError, match=re.escape(text)):
        from_onnx(model, shapes=shapes)


def test_missing_file(tmp_path: Path):
    fails(tmp_path / "none.onnx", "none.onnx: expected an ONNX model, got no such file")


def test_folder(tmp_path: Path):
    fails(tmp_path, "expected a readable ONNX model, got: Is a directory")


def test_truncated_file(tmp_path: Path):
    path = tmp_path / "cut.onnx"
    data = parse(RELU).SerializeToString()
    path.write_bytes(data[: len(data) // 2])
    fails(path, f"cut.onnx: expected an ONNX model, got {len(data) // 2} bytes that are none, or one cut short")


@pytest.mark.parametrize("data", [b"", b"just a text", b"\x89PNG\r\n\x1a\n" * 9, b"\x08\x07"])
def test_no_model(data: bytes):
    fails(data, f"<memory>: expected an ONNX model, got {len(data)} bytes")


def test_names_that_are_no_text():
    data = parse(RELU).SerializeToString().replace(b"Relu", b"Re\xffu")
    fails(data, "<memory>: expected names in UTF-8, got b'Re\\xffu'")


def test_damaged_models_raise_nothing_else():
    """Bytes of a small model replaced, dropped and added at random."""
    text = """(float[1,3,8,8] x) => (float[1,2,8,8] y) <float[2] b = {1.0, 2.0}, int64[4] s = {2, 3, 1, 1}> {
        w = ConstantOfShape (s) c = Conv <pads = [0, 0, 0, 0]> (x, w, b)
        p = MaxPool <kernel_shape = [2, 2], auto_pad = "SAME_UPPER"> (c)
        t = Shape (p) q = Reshape (p, t) y = Softmax <axis = 1> (q)
    }"""
    whole = parse(text).SerializeToString()
    generator = random.Random(0)
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(generator.randint(1, 4)):
            at = generator.randrange(len(data))
            data[at : at + generator.randint(0, 3)] = generator.randbytes(generator.randint(0, 3))
        with suppress(FrontendError):
            from_onnx(bytes(data))


def test_empty_graph():
    model = parse(RELU)
    del model.graph.node[:]
    fails(model, "<memory>: expected a graph with at least one node, got an empty one")


def test_no_output():
    model = parse(RELU)
    del model.graph.output[:]
    fails(model, "expected a graph with at least one output, got none")


@pytest.mark.parametrize("opset", [6, 25, 99])
def test_an_unknown_opset_is_imported_with_a_warning(opset: int):
    with pytest.warns(FrontendWarning, match=f"<memory>: expected ONNX opset 7 to 24, got {opset}; "):
        module = from_onnx(parse(RELU, opset))
    assert "relay.nn.relu" in str(module)


@pytest.mark.filterwarnings("ignore::whence.support.errors.FrontendWarning")
@pytest.mark.parametrize("operator", ["Dropout", "BatchNormalization"])
def test_training_of_old_opsets_is_refused(operator: str):
    more = ", s, s, s, s" if operator == "BatchNormalization" else ""
    text = f"(float[2,3] x, float[3] s) => (float[2,3] y) {{ y = {operator} <%s> (x{more}) }}"
    fails(
        parse(text % "is_test = 0", 6), f"{operator}: expected is_test=1 (inference) before opset 7, got training mode"
    )
    from_onnx(parse(text % "is_test = 1", 6))


def test_no_opset():
    model = parse(RELU)
    del model.opset_import[:]
    fails(model, "got no opset")


def test_unsupported_operators_are_listed_at_once():
    text = """(float[2] x) => (float[2] y) {
        [first] a = com.example.Bar (x) b = ImageDecoder (a) c = com.example.Foo (b) d = com.example.Bar (c)
        e = com.example.Bar (d) f = com.example.Bar (e) y = Relu (f)
    }"""
    fails(
        parse(text),
        "The following operators are not supported for frontend ONNX: ImageDecoder (1 layer: ImageDecoder_0), "
        "com.example.Bar (4 layers: first, Bar_0, Bar_1 and 1 more), com.example.Foo (1 layer: Foo_0); "
        'custom_ops={"ImageDecoder": function, ..} has functions of yours compute them',
    )


def test_cycle():
    fails(
        parse("(float[2] x) => (float[2] y) { [one] a = Add (x, b) [two] b = Relu (a) y = Relu (b) }"),
        "Add: expected nodes without cycles, got 'b', made by node 'two', which depends on it (a cycle) "
        "(layer 'one', <memory> node 0)",
    )


def test_missing_tensor():
    fails(
        parse("(float[2] x) => (float[2] y) { [one] y = Add (x, w) }"),
        "Add: expected an input, an initializer or an output of a node, got 'w', which the model does not define "
        "(layer 'one', <memory> node 0)",
    )


def test_missing_output():
    model = parse(RELU)
    model.graph.output[0].name = "z"
    fails(model, "<memory>: expected a definition of the graph output 'z', got none")


def test_checker_errors():
    text = "<memory>: expected a model that follows the ONNX standard, got: Unrecognized attribute: alpha for operator"
    fails(parse("(float[2] x) => (float[2] y) { y = Relu <alpha = 1.0> (x) }"), text)
    fails(parse("(float[2] x) => (float[2] y) { y = Relu (x, x) }"), "has input size 2 not in range")


def test_outputs_that_a_converter_does_not_give(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(pooling.TABLE, "MaxPool", replace(CONVERTERS["Relu"], unread={"kernel_shape": "for this test"}))
    text = "(float[1,1,4,4] x) => (int64[1,1,3,3] z) { [pool] y, i = MaxPool <kernel_shape = [2, 2]> (x) z = Neg (i) }"
    fails(parse(text), "Neg (layer 'Neg_0', <memory> node 1): expected outputs that exist at inference, got 'i'")


def test_dynamic_dimensions_need_shapes():
    model = parse("(float[N,3] x, float[2] k, float[?] z) => (float[N,3] y) { y = Relu (x) }")
    fails(
        model,
        "<memory>: expected static shapes, got dynamic dimensions in inputs x [N, 3], z [?]; "
        'give their shapes, such as "x:[1,3]" (input_shapes, --input-shapes)',
    )
    fails(model, "got dynamic dimensions in inputs z [?]", {"x": (2, 3)})


def test_unknown_rank_needs_a_shape():
    fails(parse("(float[] x) => (float[] y) { y = Relu (x) }"), "dynamic dimensions in inputs x [...]")


def test_shapes_of_unknown_inputs():
    text = "User specified the shape for inputs that weren't found in the graph: q, r"
    fails(parse(RELU), text, {"q": (1,), "x": (2,), "r": (1,)})


@pytest.mark.parametrize("shape", [(2,), (2, 4), (-1, 3), (2, 3, 1)])
def test_shapes_that_contradict_the_model(shape: tuple[int, ...]):
    model = parse("(float[N,3] x) => (float[N,3] y) { y = Relu (x) }")
    text = f"input 'x': expected a shape that agrees with the model's [N, 3], got {list(shape)}"
    fails(model, text, {"x": shape})


def test_one_dimension_of_two_sizes():
    model = parse("(float[N] x, float[N] z) => (float[N] y) { y = Add (x, z) }")
    fails(model, "input 'z': expected a shape that agrees with the model's [N], got [3]", {"x": (2,), "z": (3,)})


def test_input_of_unsupported_type():
    fails(
        parse("(complex64[2] x) => (complex64[2] y) { y = Identity (x) }"), "input 'x': expected an element type among"
    )
    fails(
        parse("(string[2] x) => (string[2] y) { y = Identity (x) }"),
        "input 'x': expected a tensor of numbers, got texts",
    )
    fails(
        parse("(seq(float[2]) x) => (float[2] y) { y = Relu (x) }"),
        "input 'x': expected a tensor of numbers, got a sequence",
    )


def test_absurd_input():
    fails(
        parse("(float[1000000,1000000,1000000] x) => (float[1] y) { y = Relu (x) }"),
        "input 'x': expected a tensor that fits the memory of",
    )


def test_absurd_result():
    fails(
        parse("(float[1000000,1] x, float[1000000] z) => (float[?,?] y) { [big] y = Add (x, z) }"),
        "Add: expected a tensor that fits the memory of",
    )


def test_absurd_constant():
    text = """(float[1] x) => (float[?,?,?] y) <int64[3] s = {1000000, 1000000, 1000000000}>
    { [big] c = ConstantOfShape (s) y = Add (x, c) }"""
    fails(parse(text), "got shape [1000000, 1000000, 1000000000] of")


def test_absurd_initializer():
    model = parse("(float[1] x) => (float[1] y) <float[1] w> { y = Add (x, w) }")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[10**6, 10**6, 10**6], raw_data=b"1234")
    model.graph.initializer.append(tensor)
    fails(model, "<memory>: initializer 'w': expected a tensor that fits the memory of")


def test_initializer_of_the_wrong_size():
    model = parse("(float[3] x) => (float[3] y) <float[3] w> { y = Add (x, w) }")
    model.graph.initializer.append(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3], raw_data=b"12345678"))
    fails(model, "<memory>: initializer 'w': expected 12 bytes of data for [3], got 8")
    model.graph.initializer[0].CopyFrom(TensorProto(name="w", data_type=1, dims=[3], float_data=[1.0, 2.0]))
    fails(model, "<memory>: initializer 'w': expected 3 elements for [3]")


def with_external_data(folder: Path, location: str, **entries: str) -> Path:
    """A model in `folder` whose initializer lies in `location`."""
    model = parse("(float[2] x) => (float[2] y) <float[2] w> { y = Add (x, w) }")
    tensor = numpy_helper.from_array(np.array([1, 2], np.float32), "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    folder.mkdir(exist_ok=True)
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    return folder / "net.onnx"


def test_external_data_stays_in_the_folder(tmp_path: Path):
    (tmp_path / "secret").write_bytes(bytes(8))
    folder = tmp_path / "model"
    for location in ("../secret", str(tmp_path / "secret"), ".", ""):
        text = f"net.onnx: initializer 'w': expected external data inside the model's folder {folder}, got '{location}'"
        fails(with_external_data(folder, location), text)
    os.symlink(tmp_path / "secret", folder / "link")
    fails(with_external_data(folder, "link"), "expected external data inside the model's folder")


def test_external_data_that_is_missing_or_short(tmp_path: Path):
    fails(with_external_data(tmp_path, "w.bin"), f"expected external data in {tmp_path / 'w.bin'}, got no such file")
    (tmp_path / "w.bin").write_bytes(bytes(8))
    from_onnx(with_external_data(tmp_path, "w.bin"))
    fails(with_external_data(tmp_path, "w.bin", offset="4"), "expected 8 bytes of external data, got offset 4 in")
    fails(with_external_data(tmp_path, "w.bin", length="4"), "got offset 0 of length 4 in")
    fails(with_external_data(tmp_path, "w.bin", offset="-4"), "expected a well-formed reference to external data")


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("w\0.bin", r"got 'w\x00.bin': "),
        ("w" * 5000, "(5002 characters): File name too long"),
        ("a/" * 2500 + "w", "(5003 characters): File name too long"),
    ],
)
def test_external_data_in_what_names_no_file(tmp_path: Path, location: str, text: str):
    with pytest.raises(FrontendError, match=re.escape("initializer 'w': expected the name of a file, got '")) as caught:
        from_onnx(with_external_data(tmp_path, location))
    assert text in str(caught.value)
    assert len(str(caught.value)) < 300


def test_external_data_behind_links_in_a_circle(tmp_path: Path):
    os.symlink("a", tmp_path / "b")
    os.symlink("b", tmp_path / "a")
    fails(with_external_data(tmp_path, "a"), "initializer 'w': expected ")


HUGE = [1 << 32, 1 << 32, 0]


@pytest.mark.parametrize("external", [False, True])
def test_empty_tensors_that_no_array_can_have(external: bool, tmp_path: Path):
    model = parse("(float[2] x) => (float[2] y) <float[2] w> { y = Add (x, w) }")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=HUGE)
    if external:
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="w.bin")
        (tmp_path / "w.bin").write_bytes(bytes(8))
    else:
        tensor.raw_data = b""
    model.graph.initializer.append(tensor)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    fails(tmp_path / "net.onnx", "initializer 'w': expected a tensor that fits the memory of ")


def test_an_empty_input_that_no_array_can_be():
    text = "input 'x': expected a tensor that fits the memory of "
    fails(parse(f"(float{HUGE} x) => (float{HUGE} y) {{ y = Relu (x) }}"), text)
    fails(parse("(float[a,b,c] x) => (float[a,b,c] y) { y = Relu (x) }"), text, {"x": tuple(HUGE)})


def test_a_tensor_of_too_many_dimensions():
    model = parse("(float[2] x) => (float[2] y) <float[2] w> { y = Add (x, w) }")
    model.graph.initializer.append(TensorProto(name="w", data_type=1, dims=[1] * 70, raw_data=bytes(4)))
    fails(model, "initializer 'w': expected at most 64 dimensions, got 70")


def test_external_data_of_a_model_in_memory(tmp_path: Path):
    model = ModelProto.FromString(with_external_data(tmp_path, "w.bin").read_bytes())
    fails(model, "initializer 'w': expected data in the model, which has no path, got external data in 'w.bin'")


OPERATORS = [
    (13, "(float[3,8] x, float[4,3,3] w)", "y = Conv (x, w)", "Conv: expected a 3-d, 4-d or 5-d input"),
    (13, "(float[1,3,8,8] x, float[4,2,3,3] w)", "y = Conv (x, w)", "expected 3 input channels"),
    (
        13,
        "(float[1,3,8,8] x, float[4,3,3,3] w)",
        "y = Conv <strides = [1]> (x, w)",
        "2 positive numbers as",
    ),
    (
        13,
        "(float[1,3,8,8] x, float[4,3,3,3] w)",
        "y = Conv <pads = [-1, 0, 0, 0]> (x, w)",
        "'pads', got [-1",
    ),
    (13, "(float[1,3,8,8] x, float[4,3,3,3] w)", "y = Conv <kernel_shape = [5, 5]> (x, w)", "kernel_shape [3, 3]"),
    (13, "(float[1,3,8,8] x)", 'y = MaxPool <kernel_shape = [2, 2], auto_pad = "SOME"> (x)', "auto_pad NOTSET"),
    (13, "(float[1,3,8] x)", "y = MaxPool <kernel_shape = [2], pads = [0, 2]> (x)", "pads smaller than the window"),
    (13, "(float[1,3,0] x)", "y = MaxPool <kernel_shape = [2], pads = [1, 1]> (x)", "an image of some pixels"),
    (13, "(float[0,3] x)", "y = ArgMax (x)", "at least one element along axis 0"),
    (13, "(float[5] x)", "y, z = Split (x)", "2 equal parts, got 5"),
    (13, "(float[2,3] x, float[2,3] w)", "y = MatMul (x, w)", "operands that multiply"),
    (13, "(float[2] x, float[3] w)", "y = Add (x, w)", "relay.add: expected shapes that broadcast"),
    (
        13,
        "(float[2] x, double[2] w)",
        "y = Add (x, w)",
        "expected an input 1 (B) of float32, the type of A, got float64",
    ),
    (
        13,
        "(float[2,3] x)",
        "s = Constant <value_ints = [4]> () y = Reshape (x, s)",
        "a newshape of 6 elements",
    ),
    (13, "(float[2,3] x, int64[1] s)", "y = Reshape (x, s)", "a shape known at import, got 's'"),
    (13, "(float[2,3] x)", "y = Softmax <axis = 2> (x)", "an axis in [-2, 2), got 2"),
    (13, "(float[2,3] x)", "y = Transpose <perm = [0, 0]> (x)", "axes that permute 2 dimensions"),
    (9, "(float[2,3] x)", "y = Unsqueeze <axes = [1, 1]> (x)", "axes that differ"),
    (9, "(float[2,3] x)", "y = Squeeze <axes = [0]> (x)", "axes of extent 1"),
    (9, "(float[2,3] x)", "y = Pad <pads = [0, 3]> (x)", "4 pads"),
    (13, "(float[2,3] x)", "i = Constant <value_int = 2> () y = Gather (x, i)", "indices in [-2, 2), got 2 to 2"),
    (13, "(float[2,3] x)", "y = Cast <to = 14> (x)", "expected an element type among"),
    (17, "(float[2,3] x, float[3] s)", "y = LayerNormalization <axis = 2> (x, s)", "axis in [-2, 2), got 2"),
]


@pytest.mark.parametrize(("opset", "inputs", "nodes", "text"), OPERATORS)
def test_bad_operators_name_their_layer(opset: int, inputs: str, nodes: str, text: str):
    model = parse(f"{inputs} => (float[] y) {{ {nodes} }}", opset)
    model.graph.node[-1].name = "culprit"
    with pytest.raises(FrontendError, match=re.escape(text)) as error:
        from_onnx(model)
    assert "<memory> node" in str(error.value) or "Cast" in str(error.value)
    with PassContext(config={"relay.frontend.fill_span": False}), pytest.raises(FrontendError) as without_spans:
        from_onnx(model)
    assert str(without_spans.value) == str(error.value)


def test_onnx_is_imported_when_it_is_used():
    script = "import sys, whence.frontends.onnx; sys.exit('onnx' in sys.modules or 'xdsl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_functions_that_double_again_and_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importer, "MOST_SPLICED", 40)

    def model(levels: int) -> ModelProto:
        head = '<opset_import: ["": 17, "com.example": 1], domain: "com.example">'
        bodies = [f"{head} f0 (x) => (y) {{ y = Relu (x) }}"]
        for level in range(1, levels):
            call = f"com.example.f{level - 1}"
            bodies.append(f"{head} f{level} (x) => (y) {{ a = {call} (x) y = {call} (a) }}")
        return parse(
            f"(float[2] x) => (float[2] y) {{ y = com.example.f{levels - 1} (x) }}\n" + "\n".join(bodies), opset=17
        )

    from_onnx(model(4))
    fails(model(8), "expected functions that come to at most 40 nodes")


ONE_NUMBER = {
    "a count of tiles that is one number, got int64[2]": (
        5,
        "<int64[2] t = {2, 3}, int64 a = {1}> { y = Tile (x, t, a) }",
    ),
    "an axis that is one number, got int64[2]": (5, "<int64 t = {2}, int64[2] a = {0, 1}> { y = Tile (x, t, a) }"),
    "ratio that is one number, got float32[2]": (13, "<float[2] r = {0.5, 0.1}> { y = Dropout (x, r) }"),
    "frame_step that is one number, got int64[2]": (17, "<int64[2] s = {2, 3}> { y = STFT (x, s, x) }"),
}


@pytest.mark.filterwarnings("ignore:.*expected ONNX opset")
@pytest.mark.parametrize("expected", ONE_NUMBER)
def test_what_is_to_be_one_number(expected: str):
    opset, text = ONE_NUMBER[expected]
    fails(parse(f"(float[2,3] x) => (y) {text}", opset), f"expected {expected} (layer")


def test_one_number_may_have_a_dimension():
    text = "(float[2,3] x) => (y) <int64[1] t = {2}, int64[1] a = {1}> { y = Tile (x, t, a) }"
    with pytest.warns(FrontendWarning, match="expected ONNX opset"):
        module = from_onnx(parse(text, 5))
    assert "-> tensor<2x6xf32>" in str(module)
