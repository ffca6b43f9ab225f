"""Attribution is true of TFLite networks: other numbers in a weight change the constants that name it, no others."""

from __future__ import annotations

from typing import Any

import flatbuffers
import numpy as np
import pytest
from tflite_builder import Array, tflite
from tflite_exports import FOLDER

from whence.dialects.relay.core import ConstantOp
from whence.explorer.layers import functions
from whence.frontends.tflite import from_tflite
from whence.lowering.llvm_to_native.target import Target
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.provenance.ledger import Ledger, recording
from whence.provenance.span import layer_names

NETWORKS = ("mobilenet_v1.float", "resnet.int8", "autoencoder.dynamic")
LARGE = 64
"""Elements of what counts as a weight."""


def constants(data: bytes) -> list[tuple[tuple[str, ...], Array]]:
    """Layers and value of each constant of the program, after all passes."""
    ledger = Ledger()
    with recording(ledger, "import"):
        module = from_tflite(data)
    layouts = "nn.conv2d:NCHW;qnn.conv2d:NCHW"
    run_passes(module, relay_pipeline(3, Target.parse("native").hardware, layouts), ledger=ledger, audit=True)
    ops = [op for op in functions(module)["main"].block.ops if isinstance(op, ConstantOp)]
    return [(layer_names(op.location), op.value(module)) for op in ops]


def weights(model: Any) -> list[Any]:
    """Tensors of the main graph that have many numbers in the file."""
    graph = model.subgraphs[0]
    return [
        tensor
        for tensor in graph.tensors
        if tensor.buffer and model.buffers[tensor.buffer].data is not None and np.prod(tensor.shape) >= LARGE
    ]


def changed(data: bytes, name: bytes) -> bytes:
    """The file with other numbers in the weight of a name."""
    model: Any = tflite.ModelT.InitFromObj(tflite.Model.GetRootAsModel(data, 0))
    (tensor,) = (one for one in weights(model) if one.name == name)
    dtype = {tflite.TensorType.FLOAT32: np.float32, tflite.TensorType.INT8: np.int8}[tensor.type]
    buffer = model.buffers[tensor.buffer]
    values = np.frombuffer(bytes(bytearray(buffer.data)), dtype)
    other = values // 2 - 3 if dtype is np.int8 else values * np.float32(0.5) + np.float32(0.25)
    buffer.data = list(other.astype(dtype).tobytes())
    builder: Any = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


@pytest.mark.parametrize("network", NETWORKS)
def test_a_weight_changes_what_names_it(network: str):
    data = (FOLDER / f"{network}.tflite").read_bytes()
    before = constants(data)
    found = [one.name for one in weights(tflite.ModelT.InitFromObj(tflite.Model.GetRootAsModel(data, 0)))]
    assert len(found) > 4
    for name in (found[len(found) // 2],):
        after = constants(changed(data, name))
        assert [layers for layers, _ in after] == [layers for layers, _ in before]
        moved = {at for at, (_, value) in enumerate(after) if not np.array_equal(value, before[at][1])}
        named = {at for at, (layers, _) in enumerate(before) if name.decode() in layers}
        assert named
        assert moved == named
