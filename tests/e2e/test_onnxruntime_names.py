"""Programs written for onnxruntime, run by it and, with the import changed, by us: the same numbers and answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto

import whence.onnxruntime as ours
from whence.support.errors import FrontendError, FrontendWarning, PipelineError

TEXTS = """
<ir_version: 8, opset_import: ["": 18], producer_name: "exporter", metadata_props: ["task": "fill-mask"]>
bert (int64[batch, seq] input_ids, int64[batch, seq] attention_mask)
    => (float[batch, seq, 8] last_hidden_state, float[batch, 8] pooler_output)
<float[8] scale = {1, 2, 3, 4, 5, 6, 7, 8}, float one = {1}, int64[1] minus = {-1}, int64[1] first = {1}> {
    [ids] x = Cast <to = 1> (input_ids)
    [mask] m = Cast <to = 1> (attention_mask)
    [hide] y = Mul (x, m)
    [wide] z = Unsqueeze (y, minus)
    [table] last_hidden_state = Mul (z, scale)
    [pool] pooler_output = ReduceMean <keepdims = 0> (last_hidden_state, first)
}
"""

README = """
session = ort.InferenceSession(RESNET)
outputs = session.run([output.name for output in session.get_outputs()], {session.get_inputs()[0].name: IMAGE})
result = [*outputs, [(arg.name, arg.shape, arg.type) for arg in session.get_inputs() + session.get_outputs()]]
"""

RESNET = """
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
options.intra_op_num_threads = 1
session = ort.InferenceSession(RESNET, sess_options=options, providers=ort.get_available_providers()[-1:])
name = session.get_inputs()[0].name
result = []
for scale in (0.5, 1.0, 2.0):
    (scores,) = session.run(None, {name: IMAGE * np.float32(scale)})
    result += [scores, np.argsort(-scores[0])[:2]]
"""

BERT = """
options = ort.SessionOptions()
options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
session = ort.InferenceSession(BERT, options, providers=[("CPUExecutionProvider", {})])
result = []
for length in (3, 7, 7, 12):
    encoded = {"input_ids": np.arange(2 * length).reshape(2, length), "attention_mask": np.ones((2, length), np.int64)}
    feed = {arg.name: encoded[arg.name] for arg in session.get_inputs()}
    hidden, pooled = session.run(["last_hidden_state", "pooler_output"], feed)
    result += [hidden, pooled]
result.append([(arg.name, arg.shape, arg.type) for arg in session.get_outputs()])
"""

OPTIMUM = """
class Model:
    def __init__(self, session):
        self.session = session
        self.inputs = {arg.name: index for index, arg in enumerate(session.get_inputs())}
        self.outputs = {arg.name: index for index, arg in enumerate(session.get_outputs())}
        self.types = {arg.name: arg.type for arg in session.get_inputs()}
        self.providers = session.get_providers()

    def __call__(self, **tensors):
        feed = {name: tensors[name] for name in self.inputs if name in tensors}
        results = self.session.run(None, feed)
        return {name: results[index] for name, index in self.outputs.items()}

with open(BERT, "rb") as file:
    session = ort.InferenceSession(file.read(), providers=["CPUExecutionProvider"])
model = Model(session)
ids = np.array([[5, 6, 7, 0]])
answer = model(input_ids=ids, attention_mask=(ids > 0).astype(np.int64), token_type_ids=ids)
meta = session.get_modelmeta()
result = [*answer.values(), model.inputs, model.types, model.providers]
result += [meta.producer_name, meta.custom_metadata_map["task"], meta.graph_name]
"""

BINDING = """
session = ort.InferenceSession(BERT, providers=["CPUExecutionProvider"])
ids, mask = np.arange(6).reshape(2, 3), np.ones((2, 3), np.int64)
hidden = np.empty((2, 3, 8), np.float32)
binding = session.io_binding()
binding.bind_cpu_input("input_ids", ids)
binding.bind_input("attention_mask", "cpu", 0, np.int64, mask.shape, mask.ctypes.data)
binding.bind_output("last_hidden_state", "cpu", 0, np.float32, hidden.shape, hidden.ctypes.data)
binding.bind_output("pooler_output", "cpu")
binding.synchronize_inputs()
session.run_with_iobinding(binding)
binding.synchronize_outputs()
result = [hidden.copy(), *binding.copy_outputs_to_cpu(), binding.get_outputs()[1].data_type()]

value = ort.OrtValue.ortvalue_from_numpy(ids * 2)
room = ort.OrtValue.ortvalue_from_shape_and_type([2, 8], np.float32, "cpu", 0)
binding = session.io_binding()
binding.bind_ortvalue_input("input_ids", value)
binding.bind_ortvalue_input("attention_mask", ort.OrtValue.ortvalue_from_numpy(mask))
binding.bind_ortvalue_output("pooler_output", room)
session.run_with_iobinding(binding)
result += [room.numpy().copy(), room.shape(), value.data_type(), value.element_type(), value.device_name()]
value.update_inplace(ids * 3)
session.run_with_iobinding(binding)
result.append(room.numpy().copy())
"""

ASYNC = """
import threading
options = ort.SessionOptions()
options.enable_profiling = False
options.log_severity_level = 3
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
options.add_free_dimension_override_by_name("batch", 1)
session = ort.InferenceSession(BERT, options, providers=["CPUExecutionProvider"])
done, result = threading.Event(), [session.get_inputs()[0].shape]
def callback(results, user_data, error):
    result.extend([*results, user_data, error])
    done.set()
feed = {"input_ids": np.arange(4).reshape(1, 4), "attention_mask": np.ones((1, 4), np.int64)}
session.run_async(["pooler_output"], feed, callback, "first")
done.wait(60)
result += session.run(None, feed, ort.RunOptions())
"""

SCRIPTS = {"readme": README, "resnet": RESNET, "bert": BERT, "optimum": OPTIMUM, "binding": BINDING, "async": ASYNC}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("models") / "bert.onnx"
    path.write_bytes(onnx.parser.parse_model(TEXTS).SerializeToString())
    return str(path)


def run(script: str, module: Any, bert: str, resnet: str) -> list[Any]:
    image = np.random.default_rng(0).standard_normal((1, 3, 9, 7)).astype(np.float32)
    names: dict[str, Any] = {"ort": module, "np": np, "BERT": bert, "RESNET": resnet, "IMAGE": image}
    exec(script, names)
    return names["result"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_gives_the_same_with_the_import_changed(
    name: str, bert: str, small_network: ModelProto, tmp_path: Path
):
    theirs: Any = pytest.importorskip("onnxruntime")
    (path := tmp_path / "resnet.onnx").write_bytes(small_network.SerializeToString())
    wanted, results = (run(SCRIPTS[name], module, bert, str(path)) for module in (theirs, ours))
    assert len(results) == len(wanted)
    for value, other in zip(results, wanted, strict=True):
        if isinstance(other, np.ndarray):
            array = cast(Any, other)
            assert value.dtype == array.dtype
            np.testing.assert_allclose(value, array, rtol=1e-5, atol=1e-6)
        else:
            assert value == other


def test_what_a_session_does_not_do_names_what_does(bert: str):
    options = ours.SessionOptions()
    options.enable_profiling = True
    with pytest.raises(PipelineError, match=r"expected profile, times, .* of session.executable, got enable_profiling"):
        ours.InferenceSession(bert, options)
    with pytest.raises(PipelineError, match=r"register_custom_ops_library: expected custom_ops of whence\.compile"):
        ours.SessionOptions().register_custom_ops_library("ops.so")
    with pytest.warns(FrontendWarning, match="expected CPUExecutionProvider, which is used, got CUDAExecutionProvider"):
        session = ours.InferenceSession(bert, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    with pytest.raises(FrontendError, match=r"unknown input 'ids' \(did you mean input_ids\?\)"):
        session.run(None, {"ids": np.ones((1, 2), np.int64), "attention_mask": np.ones((1, 2), np.int64)})
    with pytest.raises(PipelineError, match="device: expected cpu, got cuda"):
        session.io_binding().bind_output("pooler_output", "cuda")
    with pytest.raises(PipelineError, match="end_profiling: expected profile or times"):
        session.end_profiling()
