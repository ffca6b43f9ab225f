"""Bad models end in one error that names the file and the node: damaged, hostile, of unsupported operators."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tensorflow_graphs import Net

import whence
from whence.frontends.tensorflow import from_tensorflow
from whence.frontends.tensorflow.checkpoint import Checkpoint
from whence.frontends.tensorflow.crc32c import crc32c
from whence.frontends.tensorflow.messages import message
from whence.support.errors import FrontendError

DATA = Path(__file__).parent / "data"


def refused(graph: bytes, *words: str) -> None:
    with pytest.raises(FrontendError) as error:
        from_tensorflow(graph)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_all_unsupported_operators_are_named_at_once():
    net = Net()
    x = net.placeholder("x", (2,))
    first = net.op("Zeta", "first", x)
    net.op("Igamma", "second", first)
    for k in range(5):
        net.op("Zeta", f"more/{k}", x)
    refused(net.build(), "<memory>", "Igamma (1 layer: second)", "Zeta (6 layers: first, more/0, more/1 and 3 more)")


def test_texts_are_refused_only_where_an_output_needs_them():
    net = Net()
    x = net.placeholder("x", (2,))
    text = net.op("StringJoin", "join", net.op("AsString", "text", x))
    net.op("Relu", "relu", x)
    net.op("Assert", "assert", x, text)
    assert len(from_tensorflow(net.build()).ops) == 1
    net.op("StringToNumber", "number", text)
    refused(net.build(), "AsString (1 layer: text)", "texts and image files are decoded before the model")


def test_a_radius_below_0():
    net = Net()
    net.op("LRN", "y", net.placeholder("x", (1, 2, 2, 3)), depth_radius=-1)
    refused(net.build(), "LRN: expected a non-negative number as 'depth_radius', got -1")


def test_an_attribute_or_input_that_no_row_asks_for_is_refused_by_its_name():
    net = Net()
    x = net.placeholder("x", (2, 3))
    net.op("Relu", "relu", x, slope=0.5)
    refused(net.build(), "Relu: expected no attribute 'slope', which is not supported, got 0.5")
    net = Net()
    x = net.placeholder("x", (2, 3))
    net.op("Relu", "relu", x, x)
    refused(net.build(), "Relu: expected no input 1, which is not supported, got 'x'")


def test_variables_need_a_checkpoint():
    net = Net()
    net.op("ReadVariableOp", "read", net.op("VarHandleOp", "handle", dtype="float32"))
    refused(net.build(), "Graph is not frozen", "VarHandleOp (node handle)")


def test_functions_may_not_call_themselves():
    net = Net()
    function = net.graph.library.function.add()
    function.signature.name = "f"
    function.signature.input_arg.add(name="x")
    function.signature.output_arg.add(name="y")
    function.node_def.add(name="again", op="PartitionedCall", input=["x"]).attr["f"].func.name = "f"
    function.ret["y"] = "again:output:0"
    node = net.graph.node.add(name="call", op="PartitionedCall", input=[net.placeholder("x", (2,))])
    node.attr["f"].func.name = "f"
    refused(net.build(), "node 'call/again'", "'f' inside itself")
    node.attr["f"].func.name = "g"
    refused(net.build(), "node 'call'", "expected a function of the model, got 'g'")


def test_edges_lead_to_nodes_and_make_no_circles():
    net = Net()
    net.op("Relu", "relu", "nowhere")
    refused(net.build(), "node 'relu'", "got 'nowhere'")
    net = Net()
    net.op("Relu", "a", "b")
    net.op("Relu", "b", "a")
    net.op("Relu", "c", "b")
    refused(net.build(), "expected inputs that do not depend on it, got a circle")
    refused(message("GraphDef").SerializeToString(), "expected a GraphDef with nodes")
    refused(b"\n\xff\xff\xff\xff\x0f", "expected a GraphDef, got bytes that are none or damaged")


def test_frames_are_loops():
    net = Net()
    enter = net.op("Enter", "enter", net.placeholder("x", (2,)), frame_name="frame")
    net.op("Exit", "exit", enter)
    refused(net.build(), "loop 'frame'", "expected one condition, got 0")


def test_constants_fill_their_shapes():
    net = Net()
    net.op("Relu", "relu", net.const("c", np.ones(4, np.float32)))
    tensor = net.graph.node[0].attr["value"].tensor
    tensor.tensor_content = tensor.tensor_content[:-1]
    refused(net.build(), "node 'c'", "expected 16 bytes, got 15 bytes")
    tensor.tensor_content = b""
    tensor.float_val.append(2.5)
    (relay,) = from_tensorflow(net.build()).ops
    assert "2.5" in str(relay)
    tensor.tensor_shape.dim[0].size = 1 << 50
    refused(net.build(), "node 'c'", "expected a tensor that fits the memory")


def test_checksums():
    assert crc32c(b"123456789") == 0xE3069283
    data = np.random.default_rng(0).bytes(100_003)
    whole = 0xFFFFFFFF
    for byte in data:
        whole ^= byte
        for _ in range(8):
            whole = whole >> 1 ^ (0x82F63B78 if whole & 1 else 0)
    assert crc32c(data) == whole ^ 0xFFFFFFFF


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "cnn_saved", tmp_path / "saved"))


def outcome(path: Path, **shapes: tuple[int, ...]) -> str:
    """The error of reading a model, or nothing."""
    try:
        whence.load(path, shapes)
    except FrontendError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", ["variables.index", "variables.data-00000-of-00001"])
def test_bits_of_the_variables_are_wrong(saved: Path, name: str):
    """Each is noticed where a variable that the signature reads is concerned."""
    path = saved / "variables" / name
    data = path.read_bytes()
    errors: list[str] = []
    places: list[int] = np.random.default_rng(0).choice(len(data), 20, replace=False).tolist()
    for at in places:
        path.write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
        errors.append(outcome(saved, image=(1, 16, 16, 3)))
    assert sum("expected" in error and "variables" in error for error in errors) >= 10
    path.write_bytes(data[: len(data) // 2])
    assert "variables" in outcome(saved, image=(1, 16, 16, 3))
    path.unlink()
    assert "variables" in outcome(saved, image=(1, 16, 16, 3))


def test_a_byte_of_the_data_is_wrong(saved: Path):
    """One variable cannot be read, the others can."""
    prefix = saved / "variables" / "variables"
    key = "variables/0/.ATTRIBUTES/VARIABLE_VALUE"
    data = prefix.with_name("variables.data-00000-of-00001")
    raw = bytearray(data.read_bytes())
    array = Checkpoint(prefix)[key]
    at = raw.find(array.tobytes())
    raw[at] ^= 1
    data.write_bytes(bytes(raw))
    with pytest.raises(FrontendError, match=f"variable '{key}': expected the bytes of checksum .*, got a damaged file"):
        Checkpoint(prefix)[key]
    assert Checkpoint(prefix)["variables/1/.ATTRIBUTES/VARIABLE_VALUE"].shape == (8,)


@pytest.mark.parametrize("name", ["cnn_saved/saved_model.pb", "nested_frames.pb", "lstm.pb"])
def test_a_damaged_graph_ends_in_one_error(tmp_path: Path, name: str):
    source = DATA / name
    target = Path(shutil.copytree(source.parent, tmp_path / "saved")) if "/" in name else tmp_path / source.name
    path = target / source.name if target.is_dir() else target
    data = source.read_bytes()
    rng = np.random.default_rng(0)
    errors: list[str] = []
    for _ in range(40):
        damaged = bytearray(data)
        for at in rng.choice(len(data), 3, replace=False).tolist():
            damaged[at] = int(rng.integers(256))
        path.write_bytes(bytes(damaged))
        errors.append(outcome(target))
    assert any(errors)


def test_folders_and_forms_that_are_not_read(tmp_path: Path):
    (tmp_path / "saved_model.pbtxt").write_text("")
    with pytest.raises(FrontendError, match=r"expected saved_model.pb, got saved_model.pbtxt"):
        whence.load(tmp_path)
    (tmp_path / "saved_model.pbtxt").unlink()
    with pytest.raises(FrontendError, match="or the folder of a saved model, got another folder"):
        whence.load(tmp_path)
