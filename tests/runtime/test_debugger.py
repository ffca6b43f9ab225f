"""The debug executor: dumps and tables in TVM's form, steps, watches, tensors put in."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from strict_graph import read_tensors

import whence
from whence import relay, te
from whence.contrib.debugger.debug_executor import GraphModuleDebug, create
from whence.relay.build_module import GraphExecutorFactoryModule
from whence.runtime.debugger.table import Row, debug_table
from whence.runtime.program.library import HasLibrary
from whence.support.errors import FrontendError, PipelineError

Array = npt.NDArray[Any]
W = np.random.default_rng(5).standard_normal((8, 4), np.float32)
_DENSE, _SOFTMAX, _VIEW = 2, 3, 4
"""Nodes; before them come x and p0."""


@pytest.fixture(scope="module")
def lib() -> GraphExecutorFactoryModule:
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(8, 4))
    body = relay.reshape(relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, w))), (16,))
    return relay.build(relay.IRModule.from_expr(relay.Function([x, w], body)), params={"w": W})


@pytest.fixture
def debug(lib: GraphExecutorFactoryModule, tmp_path: Path) -> GraphModuleDebug:
    device = whence.cpu()
    return GraphModuleDebug(lib["debug_create"]("default", device), [device], lib.graph_json, tmp_path / "dumps")


@pytest.fixture
def x() -> Array:
    return np.random.default_rng(1).standard_normal((2, 4), np.float32)


def hidden(x: Array) -> Array:
    return np.maximum(x @ W.T, 0)


def soft(x: Array) -> Array:
    return np.exp(x) / np.exp(x).sum(1, keepdims=True)


def test_the_folder_has_what_tvm_dumps(debug: GraphModuleDebug, x: Array, capsys: pytest.CaptureFixture[str]):
    debug.run(x=x, number=1)
    folder = Path(debug.dump_path)
    assert folder.name == "_tvmdbg_device_CPU_0"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    dumped = json.loads((folder / "_tvmdbg_graph_dump.json").read_text())
    first, dense = dumped["nodes"][0], dumped["nodes"][_DENSE]
    assert first == {"op": "param", "name": "x", "inputs": [], "attrs": {"T": "type: float32"}, "shape": [2, 4]}
    assert (dense["op"], dense["inputs"]) == (dense["attrs"]["func_name"], ["x", "p0"])
    assert (dense["shape"], dense["attrs"]["T"]) == ([2, 8], "type: float32")
    tensors = read_tensors((folder / "output_tensors.params").read_bytes())
    key = f"{dense['name']}____topo-index:{_DENSE}____output-num:0"
    np.testing.assert_allclose(tensors[key], hidden(x), rtol=1e-5)
    np.testing.assert_array_equal(tensors["x____topo-index:0____output-num:0"], x)
    layers = json.loads((folder / "output_tensors.layers.json").read_text())
    assert layers["nn.relu_0"] == [key]
    trace = json.loads((folder / "_tvmdbg_execution_trace.json").read_text())
    events = trace["traceEvents"]
    assert [event["ph"] for event in events] == ["B", "E"] * len(dumped["nodes"])
    assert events[0]["ts"] == 0
    assert events[2]["ts"] == events[1]["ts"]
    assert trace["displayTimeUnit"] == "ns"
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split() == ["Total_time", "-", lines[-1].split()[2], "-", "-", "-", "-", "-"]
    assert len(lines) == 6


def test_the_table_is_tvms():
    rows = [
        Row("mul", "mymul", (1e-6,), (4,), 2, 1),
        Row("add", "myadd", (250.1e-6,), (4,), 1, 1, ("l\x1b",), "15:24:44.177475", "15:24:44.177534"),
    ]
    assert debug_table(rows) == (
        "Node Name   Ops    Time(us)  Time(%)  Shape  Inputs  Outputs  Measurements(us)  \n"
        "---------   ---    --------  -------  -----  ------  -------  ----------------  \n"
        "add         myadd  250.1     99.602   (4,)   1       1        [250.1]           \n"
        "mul         mymul  1.0       0.398    (4,)   2       1        [1.0]             \n"
        "Total_time  -      251.1     -        -      -       -        -                 "
    )
    plain = debug_table(rows, sort_by_time=False).splitlines()
    assert [line.split("  ")[0] for line in plain] == ["Node Name", "---------", "mul", "add"]
    wide = debug_table(rows, times=True, layers=True).splitlines()
    assert "Start Time       End Time         Shape" in wide[0]
    assert wide[2].rstrip().endswith(r"l\x1b")


def test_times_of_layers_are_those_of_nodes(debug: GraphModuleDebug, x: Array):
    debug.set_input("x", x)
    debug.measured(number=1)
    times, rows = debug.by_layer(), debug.rows
    assert set(times) == {"nn.dense_0", "nn.relu_0", "nn.softmax_0", "reshape_0"}
    assert sum(times.values()) == pytest.approx(sum(row.mean for row in rows) * 1e6)
    dense = next(row for row in rows if "dense" in row.node)
    assert times["nn.dense_0"] + times["nn.relu_0"] == pytest.approx(dense.mean * 1e6)
    assert times["nn.dense_0"] > times["nn.relu_0"]
    table = debug.layer_table().splitlines()
    assert table[0].split() == ["Layer", "Time(us)", "Time(%)", "Estimated(us)"]
    estimated = {line.split()[0]: line.split()[3] for line in table[2:]}
    assert estimated["nn.softmax_0"] == "-"
    assert estimated["nn.dense_0"] != "-"


def test_single_nodes_are_timed(debug: GraphModuleDebug, x: Array):
    debug.set_input("x", x)
    times = debug.run_individual(number=2, repeat=3)
    assert [len(repeats) for repeats in times] == [3] * 5
    assert times[0] == [0.0] * 3
    assert min(times[_DENSE]) > 0
    assert debug.run_individual_node(0).mean == 0
    assert debug.run_individual_node(_SOFTMAX, number=1, repeat=2).mean > 0
    with pytest.raises(FrontendError, match="expected a node below 5, got 5"):
        debug.run_individual_node(5)


def test_the_report(debug: GraphModuleDebug, x: Array):
    report = debug.profile(x=x)
    names = [call["Name"] for call in report.calls]
    assert names == [node.function for node in debug.module.graph.nodes[_DENSE:]]
    assert str(report.calls[0]["Argument Shapes"]).endswith("float32[2, 8]")
    lines = report.table().splitlines()
    head = ["Name", "Duration", "(us)", "Percent", "Device", "Count", "Argument", "Shapes", "Hash"]
    assert lines[0].split()[: len(head)] == head
    assert [line.split()[0] for line in lines[4:7]] == ["----------", "Sum", "Total"]
    assert lines[8:10] == ["Configuration", "-------------"]
    assert "Executor: Graph" in lines
    data = json.loads(report.json())
    assert data["calls"][0]["Count"] == {"count": 1}
    assert set(data["calls"][0]["Duration (us)"]) == {"microseconds"}
    assert data["configuration"]["Executor"] == {"string": "Graph"}
    assert data["device_metrics"]["CPU"]["Percent"] == {"percent": 100.0}
    assert report.csv().splitlines()[0].startswith("Name,Duration (us),Percent,Device,Count,Argument Shapes,Hash")
    total = sum(float(call["Duration (us)"]) for call in report.calls)
    assert sum(report.by_layer().values()) == pytest.approx(total)


def test_twins_are_one_row_of_the_report():
    x = relay.var("x", shape=(2, 4))
    lib = relay.build(relay.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.softmax(x)))))
    report = create(lib.graph_json, lib).profile()
    rows = [line for line in report.table().splitlines() if line.startswith("tvmgen")]
    assert len(rows) == 1
    assert len([line for line in report.table(aggregate=False).splitlines() if line.startswith("tvmgen")]) == 2
    assert rows[0].split()[4] == "2"


def test_one_tensor_by_the_name_of_its_layer(debug: GraphModuleDebug, x: Array):
    debug.set_input("x", x)
    np.testing.assert_allclose(debug.debug_get_output("nn.relu_0"), hidden(x), rtol=1e-5)
    out = whence.nd.empty((2, 8))
    debug.debug_get_output("nn.softmax_0", out)
    np.testing.assert_allclose(out, soft(hidden(x)), rtol=1e-5)
    np.testing.assert_array_equal(debug.debug_get_output(0), x)
    with pytest.raises(
        FrontendError, match=r"layer 'nn.dense_0', got none: node .* computes it on the way to the value of nn.relu_0"
    ):
        debug.debug_get_output("nn.dense_0")
    with pytest.raises(FrontendError, match="Could not find a node named no in this graph"):
        debug.debug_get_output("no")


def test_steps_and_breakpoints(debug: GraphModuleDebug, x: Array):
    debug.set_input("x", x)
    stop = debug.step()
    assert stop is not None
    assert (stop.place, stop.layers) == (_DENSE, ("nn.dense_0", "nn.relu_0"))
    np.testing.assert_allclose(stop.outputs[0], hidden(x), rtol=1e-5)
    debug.break_at("nn.dense_0")
    debug.break_at(_VIEW)
    stop = debug.resume()
    assert stop is not None
    assert stop.place == _VIEW
    assert debug.resume() is None
    assert debug.step() is None
    debug.restart()
    again = debug.resume()
    assert again is not None
    assert again.place == _DENSE


def test_a_tensor_is_put_in_and_the_run_goes_on(debug: GraphModuleDebug, x: Array):
    mine = np.random.default_rng(8).standard_normal((2, 8), np.float32)
    debug.set_input("x", x)
    debug.inject("nn.relu_0", mine)
    assert debug.resume() is None
    np.testing.assert_allclose(debug.get_output(0), soft(mine).ravel(), rtol=1e-5)
    debug.restart()
    assert debug.step() is not None
    debug.inject("nn.relu_0", 2 * mine)
    debug.resume()
    np.testing.assert_allclose(debug.get_output(0), soft(2 * mine).ravel(), rtol=1e-5)
    with pytest.raises(FrontendError, match=r"expected float32\[2, 8\]"):
        debug.inject("nn.relu_0", mine.T.copy())


def test_the_first_nan_is_found_at_its_layer():
    x = relay.var("x", shape=(4,))
    root = relay.sqrt(relay.nn.softmax(x) - relay.const(np.float32(0.25)))
    lib = relay.build(relay.IRModule.from_expr(relay.Function([x], relay.nn.softmax(root))))
    debug = create(lib.graph_json, lib)
    found = debug.first_bad(x=np.array([0, 0, 0, 9], np.float32))
    assert found is not None
    assert (found.kind, found.count, found.index) == ("NaN", 3, (0,))
    assert "sqrt_0" in found.stop.layers
    assert "nn.softmax_1" not in found.stop.layers
    found = debug.first_bad(x=np.array([0, np.inf, 0, 9], np.float32))
    assert found is not None
    assert (found.kind, found.stop.node, found.index) == ("Inf", "x", (1,))
    assert debug.first_bad(x=np.zeros(4, np.float32)) is None


def test_a_graph_by_hand_runs_on_a_kernel_by_hand(tmp_path: Path):
    """TVM's own example: one node on a function that was built of a schedule."""
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    function = whence.build(te.create_schedule(b.op), [a, b], name="myadd")
    attrs = {"num_outputs": "1", "num_inputs": "1", "flatten_data": "0", "func_name": "myadd"}
    graph: dict[str, object] = {
        "nodes": [
            {"op": "null", "name": "x", "inputs": []},
            {"op": "tvm_op", "name": "add", "inputs": [[0, 0, 0]], "attrs": attrs},
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
    assert isinstance(function, HasLibrary)
    debug = create(json.dumps(graph), function, whence.cpu(), dump_root=tmp_path)
    debug.set_input("x", np.arange(4, dtype=np.float32))
    assert debug.measured(number=1).splitlines()[2].split()[:2] == ["add", "myadd"]
    np.testing.assert_array_equal(debug.get_output(0), [1, 2, 3, 4])


def test_folders_are_left_as_they_were(lib: GraphExecutorFactoryModule, tmp_path: Path):
    (tmp_path / "mine").write_text("kept")
    debug = create(lib.graph_json, lib, dump_root=tmp_path)
    debug.exit()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    debug = create(lib.graph_json, lib)
    root = Path(debug.dump_path).parent
    assert root.name.startswith("tvmdbg_")
    debug.exit()
    assert not root.exists()
    with pytest.raises(FrontendError, match="expected a folder to write dumps to"):
        create(lib.graph_json, lib, dump_root=tmp_path / "mine")
    with pytest.raises(PipelineError, match="expected the graph of the module, got another"):
        GraphModuleDebug(lib.debug_create("default"), None, lib.graph_json.replace('"x"', '"y"'))
