"""why, where and coverage of a compiled model, against what its construction says they must be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.numpy_helper
import onnx.parser
import pytest

import whence
from whence.executables.restoring import read_library
from whence.explorer.code import kernel_of, line_location, machine_code
from whence.explorer.coverage import LEVELS
from whence.explorer.why import why
from whence.provenance.span import layer_names
from whence.support.errors import FrontendError

LAYERS = ("bias_maker", "conv1", "bn1", "relu1", "dropout", "conv2", "bn2", "relu2", "pool")


@pytest.fixture
def twins(compiled: whence.Executable) -> tuple[str, str]:
    """The calls of the two equal convolutions."""
    first, second = [name for name in compiled.kernels if "conv2d" in name]
    return first, second


def served(compiled: whence.Executable, kernel: str) -> list[str]:
    (origin,) = compiled.why(kernel).calls
    return [part.layer.name for part in origin.layers]


def test_layers_are_the_nodes_of_the_model_in_order(compiled: whence.Executable):
    assert compiled.layers == LAYERS


def test_kernels_are_the_calls_in_order(compiled: whence.Executable):
    assert compiled.kernels == tuple(call.name for call in compiled.artifact.calls)


def test_twins_share_a_kernel_but_not_layers(compiled: whence.Executable, twins: tuple[str, str]):
    first, second = map(compiled.why, twins)
    assert first.symbol == second.symbol
    assert first.twins == (twins[1],)
    assert served(compiled, twins[0]) == ["conv1", "bn1", "relu1"]
    assert served(compiled, twins[1]) == ["conv2", "bn2", "relu2"]


def test_a_symbol_and_an_index_ask_about_every_call(compiled: whence.Executable, twins: tuple[str, str]):
    index = next(call.kernel for call in compiled.artifact.calls if call.name == twins[0])
    for key in (index, str(index), compiled.artifact.kernels[index].symbol):
        assert [origin.name for origin in compiled.why(key).calls] == list(twins)
    only = why(compiled.artifact, index, call=twins[1])
    assert [origin.name for origin in only.calls] == [twins[1]]


def test_operators_tell_their_passes_and_stages(compiled: whence.Executable, twins: tuple[str, str]):
    (origin,) = compiled.why(twins[0]).calls
    conv = next(one for one in origin.operators if "conv2d" in one.op)
    assert conv.layers == ("conv1",)
    assert "contrib_conv2d_NCHWc" in conv.stages
    made_by = [(entry.pass_name, entry.pattern) for entry in conv.entries]
    assert made_by.index(("relay-fold-scale-axis", "ScaleResult")) < made_by.index(
        ("relay-alter-op-layout", "BlockConv")
    )
    assert not any("conv2" in name for entry in conv.entries for at in entry.before for name in layer_names(at))


def test_the_answer_reads_well(compiled: whence.Executable, twins: tuple[str, str]):
    text = str(compiled.why(twins[1]))
    assert "serves 3 layers:" in text
    assert "conv2  Conv                <memory>:5  nn.contrib_conv2d_NCHWc" in text
    assert f"shared with 1 other call: {twins[0]}" in text
    assert "relay-simplify-inference  UnpackBatchNorm" in text


def test_every_machine_instruction_with_a_line_names_layers(compiled: whence.Executable):
    artifact = compiled.artifact
    for call in artifact.calls:
        kernel = kernel_of(artifact, call.kernel)
        allowed = set(layer_names(call.location))
        for one in machine_code(kernel):
            if one.line:
                names = layer_names(line_location(kernel, one.line, call.layers))
                assert names, f"{call.name}: {one.text}"
                assert set(names) <= allowed


def test_a_line_tells_its_layers_per_call_and_its_instructions(compiled: whence.Executable, twins: tuple[str, str]):
    kernel = kernel_of(compiled.artifact, next(c.kernel for c in compiled.artifact.calls if c.name == twins[0]))
    number = next(n for n, text in enumerate(kernel.tir.splitlines(), 1) if "tir.select" in text)
    answer = compiled.why(kernel.symbol, line=number).line
    assert answer is not None
    assert answer.layers == ((twins[0], ("relu1",)), (twins[1], ("relu2",)))
    assert answer.text == kernel.tir.splitlines()[number - 1]
    assert any("max" in instruction for instruction in answer.instructions)


@pytest.mark.parametrize("line", [0, -1, 10_000])
def test_lines_outside_of_the_kernel_are_refused(compiled: whence.Executable, line: int):
    with pytest.raises(FrontendError, match=rf"line {line}: expected one from 1 to \d+"):
        compiled.why(0, line=line)


def test_unknown_kernels_get_near_names(compiled: whence.Executable):
    with pytest.raises(
        FrontendError, match=r"unknown kernel 'fused_layout_transfor'.* \(did you mean fused_layout_transform"
    ):
        compiled.why("fused_layout_transfor")
    with pytest.raises(FrontendError, match=r"kernel 99: expected an index from 0 to \d+"):
        compiled.why(99)


def test_where_follows_a_layer_to_machine_code(compiled: whence.Executable, twins: tuple[str, str]):
    answer = compiled.where("relu1")
    (part,) = answer.kernels
    assert (part.call, part.operators, part.stages) == (twins[0], ("relay.nn.relu",), ("relu",))
    assert any("tir.select" in text for _, text in part.lines)
    assert not any("fma" in text for _, text in part.lines)
    for some, whole in (part.llvm, part.native):
        assert 0 < some < whole


def test_where_finds_weights_that_carry_a_layer(compiled: whence.Executable, twins: tuple[str, str]):
    answer = compiled.where("bias_maker")
    assert answer.vanished
    assert {call for param in answer.params for call in param.calls} == set(twins)
    assert any("bn1" in into for _, into in answer.fate)
    assert "no operator, only constants carry it" in str(answer)


def test_where_explains_a_dropped_layer(compiled: whence.Executable):
    answer = compiled.where("dropout")
    assert (answer.kernels, answer.params) == ((), ())
    (entry, into), *_ = answer.fate
    assert (entry.pass_name, entry.pattern, into) == ("relay-simplify-inference", "DropDropout", ())
    assert "nn.dropout removed" in str(answer)


def test_where_knows_tensors(compiled: whence.Executable):
    answer = compiled.where("conv1.w1")
    assert [param.calls for param in answer.params] == [
        tuple(call for call in compiled.kernels if "conv2d" in call and not call.endswith("_1"))
    ]


def test_every_layer_is_accounted_for(compiled: whence.Executable):
    for name in compiled.layers:
        answer = compiled.where(name)
        assert answer.kernels or answer.params or answer.fate, name


def test_unknown_layers_get_near_names(compiled: whence.Executable):
    with pytest.raises(
        FrontendError, match=r"unknown layer 'conv': expected one of 9 \(did you mean conv[12] or conv[12]"
    ):
        compiled.where("conv")
    with pytest.raises(FrontendError, match="unknown layer ''"):
        compiled.where("")


def test_all_ops_know_their_layers(compiled: whence.Executable):
    found = compiled.coverage()
    assert tuple(found) == LEVELS
    assert [found[level] for level in LEVELS[:4]] == [1.0] * 4
    assert found["native"] > 0.85
    assert 0 < found["native_inferred"] < 1 - found["native"]


@pytest.fixture(scope="module")
def scaled() -> whence.Executable:
    """A product by a weight, and one by a number that is in the code."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        net (float[4,8] x) => (float[4,8] y)
        {
            [fc] a = MatMul (x, head_weight)
            [soft] s = Softmax (a)
            [scale] b = Mul (s, c)
            [act] y = Tanh (b)
        }"""
    )
    for name, shape in (("head_weight", (8, 8)), ("c", (1,))):
        array = np.random.default_rng(0).standard_normal(shape, np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return whence.compile(model)


def test_a_number_in_the_code_is_where_it_is_read(scaled: whence.Executable):
    answer = scaled.where("scale.c")
    assert not answer.vanished
    (part,) = answer.kernels
    assert part.operators == ("relay.constant of relay.multiply",)
    assert any("arith.constant" in text for _, text in part.lines)
    assert part.native[0] > 0


def test_tensors_have_the_names_that_their_source_gives_them(scaled: whence.Executable, tmp_path: Path):
    scaled.export_library(tmp_path / "net.tar")
    loaded = read_library(tmp_path / "net.tar").executable
    for executable in (scaled, loaded):
        assert executable.where("head_weight") == executable.where("fc.head_weight")
        assert executable.where("c") == executable.where("scale.c")
        assert executable.where("b").layers == executable.where("scale").layers
        assert executable.why("a").symbol == executable.why("fused_nn_contrib_dense_pack").symbol
        with pytest.raises(FrontendError, match=r"unknown layer 'head_weigt': .*did you mean head_weight"):
            executable.where("head_weigt")


@pytest.mark.parametrize(
    ("file", "weight"),
    [
        ("exports/pytorch/cnn.pt2", "stem.conv.weight"),
        ("frontends/keras/models/halves.keras", "conv.kernel"),
        ("frontends/keras/models/halves.keras", "conv/kernel"),
        ("frontends/tensorflow/data/cnn_saved", "cnn/conv/kernel_1"),
    ],
)
def test_weights_of_each_format_are_called_as_their_source_does(file: str, weight: str):
    executable = whence.compile(Path(__file__).parents[1] / file)
    answer = executable.where(weight)
    assert answer.params or answer.kernels or answer.fate
