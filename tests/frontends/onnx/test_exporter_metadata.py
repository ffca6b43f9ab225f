"""Metadata of PyTorch's exporter in ONNX files: layers at the user's lines of Python, with the paths of modules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import whence
from whence.executables.restoring import read_artifact
from whence.explorer.layers import layers_of, owners
from whence.explorer.where import where
from whence.frontends.importing.frames import MOST_TEXT, Frame, frames_in, user_frames
from whence.frontends.onnx import from_onnx
from whence.frontends.onnx.exporter_metadata import Origin, origin_of
from whence.lowering.kernel.record import Kernel
from whence.provenance.span import layer_location, leaf_name, leaves

TORCH = "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py"


def trace(line: int) -> str:
    return f"""File "train.py", line 40, in <module>
    main()
  File "net.py", line 3, in forward
    x = self.stem(x)
  File "{TORCH}", line 1773, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
  File "blocks.py", line {line}, in forward
    return torch.relu(self.conv(x))
  File "{TORCH}", line 543, in forward
    return self._conv_forward(input, self.weight, self.bias)
"""


CONV = {
    "namespace": ": net.Net/stem: net.Stem/stem.conv: torch.nn.modules.conv.Conv2d/conv2d: aten.conv2d.default",
    "pkg.torch.onnx.class_hierarchy": "['net.Net', 'net.Stem', 'torch.nn.modules.conv.Conv2d', 'aten.conv2d.default']",
    "pkg.torch.onnx.name_scopes": "['', 'stem', 'stem.conv', 'conv2d']",
    "pkg.torch.onnx.stack_trace": trace(7),
}
RELU = {"pkg.torch.onnx.name_scopes": "['', 'stem', 'relu']", "pkg.torch.onnx.stack_trace": trace(8)}


def node(
    kind: str, inputs: list[str], output: str, name: str, metadata: Mapping[str, str], **attributes: Any
) -> NodeProto:
    result = helper.make_node(kind, inputs, [output], name=name, **attributes)
    for key, value in metadata.items():
        result.metadata_props.add(key=key, value=value)
    return result


def network(conv: Mapping[str, str] = CONV, relu: Mapping[str, str] = RELU, second: str = "relu") -> ModelProto:
    """A convolution, Relu, and HardSwish, which the standard defines by a function."""
    nodes = [
        node("Conv", ["x", "w"], "a", "conv", conv, pads=[1, 1, 1, 1]),
        node("Relu", ["a"], "b", second, relu),
        node("HardSwish", ["b"], "y", "swish", {}),
    ]
    weights = numpy_helper.from_array(np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32), "w")
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size, 8, 8]) for name, size in (("x", 3), ("y", 4))
    )
    graph = helper.make_graph(nodes, "net", [x], [y], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


CALLERS = (("net.py", 3), ("train.py", 40))


def bare(**metadata: str) -> NodeProto:
    return node("Relu", ["x"], "y", "relu", {f"pkg.torch.onnx.{key}": value for key, value in metadata.items()})


def test_layers_stand_at_the_innermost_line_that_is_no_part_of_torch():
    found = {leaf for op in from_onnx(network()).walk() for leaf in leaves(op.location)}
    conv, relu = (layer_location(name, "blocks.py", at, 0, CALLERS) for name, at in (("conv", 7), ("relu", 8)))
    assert {conv, relu} <= found
    # The weight stands with the layer that reads it; a node without metadata, in the model.
    assert layer_location("conv.w", "blocks.py", 7, 0, CALLERS) in found
    assert layer_location("swish", "<memory>", 2) in found


CONV_IN_FULL = """layer conv (Conv, stem.conv, blocks.py:7)
  blocks.py:7         return torch.relu(self.conv(x))
    from net.py:3     x = self.stem(x)
    from train.py:40  main()
"""


def test_questions_are_answered_with_module_and_line():
    executable = whence.compile(network())
    answer = " ".join(str(executable.why(kernel)) for kernel in executable.kernels)
    for expected in ("stem.conv, blocks.py:7", "stem, blocks.py:8", "<memory>:2"):
        assert expected in answer
    assert str(executable.where("conv")).startswith(CONV_IN_FULL)
    assert executable.why(executable.kernels[0]).lines[0].callers[1].code == "main()"
    assert {leaf_name(leaf): layer.name for leaf, layer in owners(executable.artifact).items()}["conv.w"] == "conv"


def test_exported_models_keep_the_modules(tmp_path: Path):
    path = tmp_path / "net.tar"
    whence.compile(network()).export_library(path)
    assert str(where(read_artifact(path), "conv")).startswith(CONV_IN_FULL)


def test_code_names_and_numbers_do_not_depend_on_metadata():
    with_metadata, without = whence.compile(network()), whence.compile(network({}, {}))
    assert [k for k in with_metadata.artifact.kernels if isinstance(k, Kernel)] == [
        k for k in without.artifact.kernels if isinstance(k, Kernel)
    ]
    assert {layer.name for layer in layers_of(with_metadata.artifact)} == {"conv", "relu", "swish"}
    assert sorted(with_metadata.layers) == sorted(without.layers)
    x = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    np.testing.assert_array_equal(with_metadata(x), without(x))


def test_spans_off_leave_metadata_away(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TVM_SPANFILLING", "0")
    assert not [leaf for op in from_onnx(network()).walk() for leaf in leaves(op.location)]


def test_layers_of_one_name_are_told_apart_by_their_numbers():
    found = {leaf for op in from_onnx(network(second="conv")).walk() for leaf in leaves(op.location)}
    assert {layer_location("conv", "<memory>", 0), layer_location("conv", "<memory>", 1)} <= found


def test_what_a_node_contains_stands_at_its_line():
    inner = helper.make_graph(
        [helper.make_node("Exp", ["x"], ["t"], name="grow")],
        "yes",
        [],
        [helper.make_tensor_value_info("t", TensorProto.FLOAT, [3])],
    )
    choice = helper.make_node("If", ["c"], ["y"], name="choose", then_branch=inner, else_branch=inner)
    for key, value in RELU.items():
        choice.metadata_props.add(key=key, value=value)
    inputs = [helper.make_tensor_value_info("c", TensorProto.BOOL, []), helper.make_tensor_value_info("x", 1, [3])]
    graph = helper.make_graph([choice], "net", inputs, [helper.make_tensor_value_info("y", 1, [3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    executable = whence.compile(model)
    x = np.ones(3, np.float32)
    np.testing.assert_allclose(executable(np.asarray(True), x), np.exp(x), rtol=1e-6)
    assert "choose/grow (Exp, stem, blocks.py:8)" in str(executable.where("choose/grow"))


def test_errors_name_the_line():
    model = network()
    model.graph.node[0].attribute[0].ints[:] = [1, 1, 1]
    with pytest.raises(whence.WhenceError, match=r"layer 'conv', blocks.py line 7"):
        from_onnx(model)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "['', 'stem'",
        "['stem' 'relu']",
        "[__import__('os').system('true'), 'stem', 'relu']",
        "['ste\\x6d', 'relu']",
        "['stem\n', 'relu']",
        f"['{'m' * 2000}', 'relu']",
        f"['', {'a, ' * MOST_TEXT}'relu']",
    ],
)
def test_damaged_scopes_are_ignored(text: str):
    assert origin_of(bare(name_scopes=text, stack_trace=trace(7))) == Origin(user_frames(frames_in(trace(7))))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Traceback",
        'File "net.py", line x, in forward',
        'File "net.py", line 12345678901, in forward',
        'File "net.py, line 1, in forward',
        'File "net\x07.py", line 1, in forward',
        f'File "{"n" * 2000}", line 1, in forward',
        'File "<stdin>", line 1, in forward',
        trace(7) * 200,
    ],
)
def test_damaged_traces_are_ignored(text: str):
    damaged = {"pkg.torch.onnx.name_scopes": "[", "pkg.torch.onnx.stack_trace": text}
    assert origin_of(node("Relu", ["x"], "y", "relu", damaged)) == Origin()
    found = {leaf for op in from_onnx(network(damaged)).walk() for leaf in leaves(op.location)}
    relu = layer_location("relu", "blocks.py", 8, 0, CALLERS)
    assert {layer_location("conv", "<memory>", 0), relu} <= found


def test_metadata_that_is_not_text_is_ignored():
    data = network().SerializeToString().replace(b"blocks.py", b"block\xff.py")
    assert onnx.load_from_string(data).graph.node[0].name == "conv"
    found = {leaf for op in from_onnx(data).walk() for leaf in leaves(op.location)}
    assert layer_location("conv", "<memory>", 0) in found


def test_scopes_are_lists_of_texts():
    assert origin_of(bare(name_scopes="['', 'a', \"a.it's\", 'relu']")).module == "a.it's"
    assert origin_of(bare(name_scopes="['', 'relu']")).module == ""
    assert origin_of(bare(name_scopes="['relu']")).module == ""


def test_lines_of_users():
    frames = frames_in(trace(7))
    assert frames[1] == Frame("net.py", 3, "forward", "x = self.stem(x)")
    assert [(at.file, at.line) for at in user_frames(frames)] == [("blocks.py", 7), *CALLERS]
    assert user_frames(frames[2:3])[0][:2] == ("torch/nn/modules/module.py", 1773)
    installed = 'File "/x/site-packages/timm/mlp.py", line 4, in forward\n' + trace(7).splitlines()[4]
    assert user_frames(frames_in(installed))[0][:2] == ("timm/mlp.py", 4)
    assert user_frames(()) == ()


def test_places_have_a_bounded_number_of_callers():
    text = "".join(f'File "net.py", line {line}, in forward\n' for line in range(1000))
    assert len(user_frames(frames_in(text))) == 24
