"""What TVM's own tests of executors and debugger use, by TVM's names."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import whence as tvm
from whence import relay
from whence.contrib import graph_executor
from whence.contrib.debugger import debug_executor
from whence.runtime.debugger.report import Report

GRAPH = json.dumps(
    {
        "nodes": [
            {"op": "null", "name": "x", "inputs": []},
            {
                "op": "tvm_op",
                "name": "add",
                "inputs": [[0, 0, 0]],
                "attrs": {"func_name": "myadd", "flatten_data": "1", "num_inputs": "1", "num_outputs": "1"},
            },
        ],
        "arg_nodes": [0],
        "node_row_ptr": [0, 1, 2],
        "heads": [[1, 0, 0]],
        "attrs": {
            "shape": ["list_shape", [[4], [4]]],
            "dltype": ["list_str", ["float32", "float32"]],
            "storage_id": ["list_int", [0, 1]],
        },
    }
)
X = np.arange(4, dtype=np.float32)


@pytest.fixture
def library() -> Any:
    module = tvm.support.FrontendTestModule()

    def myadd(x: Any, y: Any) -> None:
        y.copyfrom(x + 1)

    module["myadd"] = myadd
    return module


def test_a_graph_calls_functions_of_python(library: Any):
    module = graph_executor.create(GRAPH, library, tvm.cpu(0))
    module.run(x=X)
    assert module.get_output(0, tvm.nd.empty((4,))).tolist() == [1, 2, 3, 4]
    with pytest.raises(tvm.TVMError, match=r"a function of the library \(none\), got 'myadd'"):
        graph_executor.create(GRAPH, tvm.support.FrontendTestModule(), tvm.cpu(0))


def test_the_debugger_by_its_older_names(library: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    module: Any = debug_executor.create(GRAPH, library, tvm.cpu(0), dump_root=tmp_path / "root")
    directory = module._dump_path
    assert os.listdir(directory) == ["_tvmdbg_graph_dump.json"]
    module.set_input(x=X)
    module.run(number=1)
    datum = module.debug_datum
    assert datum.get_debug_result() == capsys.readouterr().out[:-1]
    lines = [re.split(r"  [ ]*", line) for line in datum.get_debug_result().split("\n")]
    assert [line[:2] for line in lines[2:]] == [["add", "myadd"], ["Total_time", "-"]]
    assert all(line[-1] == "" for line in lines)
    nodes = datum.get_graph_nodes()
    assert [node["op"] for node in nodes] == ["param", "myadd"]
    assert [datum.get_graph_node_output_num(node) for node in nodes] == [1, 1]
    assert (datum.get_graph_node_shapes(), datum.get_graph_node_dtypes()) == ([[4], [4]], ["float32", "float32"])
    assert datum.get_output_tensors()["add____topo-index:1____output-num:0"].tolist() == [1, 2, 3, 4]
    trace = json.loads((Path(directory) / "_tvmdbg_execution_trace.json").read_text())["traceEvents"]
    assert [(one["name"], one["ph"]) for one in trace] == [("x", "B"), ("x", "E"), ("add", "B"), ("add", "E")]
    assert [one["ts"] for one in trace[:3]] == [0, 0, 0]
    report = module.profile(x=X)
    again = Report.from_json(report.json())
    assert again.table(aggregate=False) == report.table(aggregate=False)
    with pytest.raises(tvm.TVMError, match="profile report: expected the JSON"):
        Report.from_json("[]")
    with pytest.raises(tvm.TVMError):
        module.run_individual_node(2)
    module.exit()
    assert not (tmp_path / "root").exists()


def test_a_function_is_built_and_inputs_lie_elsewhere():
    x, y = relay.var("x", shape=(1, 4)), relay.var("y", shape=(1, 4))
    with relay.build_config(opt_level=0):
        lib = relay.build(relay.Function([x, y], x + y), target=tvm.target.Target("llvm"), params={"y": X[None]})
    module = graph_executor.GraphModule(lib["default"](tvm.nd.cpu()))
    given = tvm.nd.array(X[None])
    module.set_input_zero_copy(x=given)
    given[...] = 2
    module.run()
    assert module.get_output(0).numpy().tolist() == [[2, 3, 4, 5]]
    (value,) = lib.get_params().values()
    assert value.same_as(value)
    assert value.numpy().tolist() == [X.tolist()]
    loaded = relay.load_param_dict(tvm.runtime.save_param_dict(lib.get_params()))
    assert [one.numpy().tolist() for one in loaded.values()] == [[X.tolist()]]
    assert lib.lib is lib.get_lib()


def _synthetic(batch: int) -> Any:
    return relay.testing.synthetic.get_net((batch, 3, 24, 12))


@pytest.mark.parametrize(
    ("get", "shapes"),
    [
        (relay.testing.mlp.get_net, {"fc1_weight": (128, 784), "fc3_bias": (10,)}),
        (_synthetic, {"dense_weight": (12, 12), "conv_weight": (3, 3, 3, 3)}),
    ],
)
def test_workloads_have_weights_of_their_shapes(get: Callable[[int], Any], shapes: dict[str, tuple[int, ...]]):
    mod, params = relay.testing.create_workload(get(1))
    assert [one.name_hint for one in mod["main"].params if one.name_hint not in params] == ["data"]
    assert {name: params[name].shape for name in shapes} == shapes
    name, shape = next(iter(shapes.items()))
    spread = np.sqrt(1 / (np.prod(shape[2:]) * (shape[0] + shape[1]) / 2))
    assert params[name].std() == pytest.approx(spread, rel=0.2)
    again = relay.testing.create_workload(get(1), relay.testing.init.Constant(3))[1]
    assert set(again[name].ravel().tolist()) == {3}


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ((None, {"y": X}), ["p0"]),
        (("llvm", "llvm", None, None, None, None, {"y": X}), ["p0"]),
        (({"kind": "llvm", "mcpu": "native", "keys": ["cpu"]},), []),
        (({tvm.cpu(): "llvm"},), []),
        ((["llvm", "llvm"],), "target: expected one target, as there is one machine, got 2"),
        (("llvm", "llvm -mtriple=aarch64-linux-gnu"), "target_host: expected the target, .*, got aarch64"),
        (("llvm", None, {"y": X}), "expected executor graph or aot, got params"),
        (("llvm", {"y": X}, None, None, None, None, {"y": X}), "expected params once"),
        (({"kind": "llvm", "speed": 1},), "target: expected kind, mtriple, .*, got 'speed'"),
    ],
)
def test_targets_and_params_stand_where_callers_put_them(more: tuple[Any, ...], found: Any):
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    function = relay.Function([x, y], x + y)
    if isinstance(found, list):
        assert list(relay.build(function, *more).get_params()) == found
    else:
        with pytest.raises(tvm.PipelineError, match=found):
            relay.build(function, *more)


def test_the_library_of_a_build_is_shipped_beside_graph_and_params(tmp_path: Path):
    x, w = relay.var("x", shape=(1, 4)), relay.const(np.arange(8, dtype=np.float32).reshape(2, 4))
    factory = relay.build(relay.Function([x], relay.nn.dense(x, w)))
    graph, lib, params = factory
    loaded = tvm.runtime.load_module(lib.export_library(tmp_path / "deploy.tar"))
    assert not loaded.get_params()
    module = graph_executor.create(graph, loaded, tvm.cpu())
    module.load_params(tvm.runtime.save_param_dict(params))
    module.run(x=X[None])
    assert module.get_output(0).numpy().tolist() == [[14, 38]]
    assert len(module.module.time_evaluator("run", tvm.cpu(), number=1, repeat=3)().results) == 3
    assert loaded.type_key == "library"
    assert loaded.is_runnable
    assert not loaded.imported_modules
    assert loaded.implements_function("default")
    assert not loaded.implements_function("main")
    assert factory.module is factory
    assert isinstance(tvm.runtime.profiler_vm, ModuleType)
    with pytest.raises(tvm.PipelineError, match="expected the library of a build"):
        tvm.support.FrontendTestModule().library.export_library(tmp_path / "f.tar")
    with pytest.raises(tvm.PipelineError, match="expected the function 'run'"):
        module.module.time_evaluator("walk")


@pytest.mark.parametrize("name", ["container", "ndarray", "params", "profiling", "registry", "tensors"])
def test_modules_have_the_names_that_tvm_and_the_docs_have(name: str):
    module = import_module(f"whence.runtime.{name}")
    assert module.__name__.split(".")[:2] == ["whence", "runtime"]
    assert module is import_module(module.__name__)
