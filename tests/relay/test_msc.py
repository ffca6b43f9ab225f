# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
"""Modules as graphs of MSC: through JSON and back they are equal."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException
from zoo import SMALL

import whence
from whence import ir, relax, relay
from whence.contrib.msc import MSCGraph, from_relay, to_relay
from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.size_ranges import set_ranges, set_required
from whence.dialects.sizes import symbol as sized
from whence.provenance.span import layer_names
from whence.relay.module import IRModule
from whence.support.errors import FrontendError

NETWORKS = (
    "resnet",
    "mobilenet_v3",
    "bert",
    "llama",
    "vit",
    "unet",
    "yolov8n",
    "ssd",
    "lstm",
    "resnet_qdq",
    "hrnet",
    "style",
)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_round_trips(name: str):
    module = relay.transform.FoldConstant()(whence.load(SMALL[name]()[0]))
    assert not isinstance(module, IRModule)
    main = next(iter(module.ops))
    for key in ("input_names", "output_names"):
        main.attributes.pop(key, None)
    graph, weights = from_relay(module)
    text = graph.to_json()
    back = to_relay(MSCGraph.from_json(text), weights)
    assert ir.structural_equal(IRModule.of(module), back)
    assert from_relay(back)[0].to_json() == text
    # Each op serves the same layers.
    layers = [{name for op in one.walk() for name in layer_names(op.location)} for one in (module, back.module)]
    assert {node.outputs[0].alias for node in graph.nodes if node.outputs[0].alias} <= layers[1]
    assert layers[1] - layers[0] <= {"main", *(node.name for node in graph.nodes if node.optype == "constant")}


def test_sizes_and_what_is_known_of_them_round_trip():
    x, y = relay.var("x", shape=("n", 8)), relay.var("y", shape=("2*m", 4))
    joined = relay.concatenate([relay.nn.relu(x), relax.op.reshape(y, (sized("m"), 8))], 0)
    module = IRModule.from_expr(relay.Function([x, y], joined)).module
    main = next(iter(module.ops))
    assert isinstance(main, FuncOp)
    main.attributes.pop("input_names", None)
    set_ranges(main, {"n": (2, 9), "m": (1, None)})
    set_required(main, [(sized("n") - sized("m"), main.location)])
    graph, weights = from_relay(module)
    assert (graph.get_inputs()[1].shape, graph.get_inputs()[1].prims) == ([-1, 4], ["2*m", "4"])
    kinds = [(prim.name, prim.optype, prim.attrs.get("bounds")) for prim in graph.prims]
    assert kinds == [("m", "Var", "1<=m"), ("n", "Var", "2<=n<=9"), ("-m + n", "Required", None)]
    back = to_relay(MSCGraph.from_json(graph.to_json()), weights)
    assert ir.structural_equal(IRModule.of(module), back)
    assert from_relay(back)[0].to_json() == graph.to_json()
    exe = whence.compile(back)
    for rows, halves in ((2, 1), (5, 3)):
        a, b = np.ones((rows, 8), np.float32), np.full((2 * halves, 4), 2, np.float32)
        np.testing.assert_array_equal(np.asarray(exe(a, b)), np.concatenate([a, b.reshape(halves, 8)]))


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('"2*m"', '"2**m"', "expected sizes as prims"),
        ('"1<=m"', '"1<m"', "prim m: expected sizes and their bounds"),
        ('"2*m",', "", "expected 2 prims, got 1"),
        ('"2*m"', '"3*m"', "reshape"),
    ],
)
def test_sizes_that_are_none_are_refused(old: str, new: str, error: str):
    y = relay.var("y", shape=("2*m", 4))
    module = IRModule.from_expr(relay.Function([y], relax.op.reshape(y, (sized("m"), 8)))).module
    main = next(iter(module.ops))
    assert isinstance(main, FuncOp)
    set_ranges(main, {"m": (1, None)})
    graph, weights = from_relay(module)
    text = graph.to_json()
    assert old in text
    with pytest.raises(FrontendError, match=error):
        to_relay(MSCGraph.from_json(text.replace(old, new, 1)), weights)


def small() -> tuple[MSCGraph, dict[str, Any]]:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.const(np.ones((4, 3, 3, 3), np.float32))
    y = relay.nn.conv2d(x, w, padding=(1, 1))
    joined = relay.concatenate([y, relay.nn.relu(y)], 1)
    return from_relay(IRModule.from_expr(relay.Function([x], joined)))


def test_the_json_is_that_of_msc():
    graph, weights = small()
    data = json.loads(graph.to_json())
    assert set(data) == {"name", "inputs", "outputs", "nodes", "prims"}
    first, conv, relu, joined = data["nodes"]
    assert (first["optype"], first["outputs"][0]["shape"]) == ("input", [1, 3, 8, 8])
    assert (conv["optype"], conv["inputs"], conv["parents"]) == ("nn.conv2d", ["x:0"], ["x"])
    assert conv["attrs"]["padding"] == "1,1,1,1"
    assert all(isinstance(value, str) for value in conv["attrs"].values())
    weight = conv["weights"]["weight"]
    assert (weight["shape"], weight["dtype"]) == ([4, 3, 3, 3], "float32")
    assert list(weights) == [weight["name"]]
    assert joined["inputs"] == [conv["outputs"][0]["name"], relu["outputs"][0]["name"]]
    assert data["outputs"] == [joined["outputs"][0]["name"]]
    assert graph.find_producer(data["outputs"][0]).optype == "concatenate"
    assert [node.name for node in graph.find_consumers(conv["outputs"][0]["name"])] == [relu["name"], joined["name"]]
    assert graph.inspect()["nodes"]["total"] == 4


def test_what_msc_does_not_require_may_be_missing():
    graph, weights = small()
    data = json.loads(graph.to_json())
    del data["prims"]
    for node in data["nodes"]:
        for key in ("shared_ref", "parents"):
            del node[key]
        for tensor in (*node["outputs"], *node["weights"].values()):
            for key in ("alias", "layout", "prims"):
                tensor.pop(key)
    back = to_relay(MSCGraph.from_json(json.dumps(data)), weights)
    assert ir.structural_equal(back, to_relay(graph, weights))


def changed(change: Any) -> MSCGraph:
    data = json.loads(small()[0].to_json())
    change(data)
    return MSCGraph.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda d: d["nodes"][1].update(optype="nn.conv9d"), "expected an operator of relay, got 'nn.conv9d'"),
        (lambda d: d["nodes"][1].update(inputs=["z:0"]), "expected a tensor of a node before, got 'z:0'"),
        (lambda d: d["nodes"][1]["attrs"].update(stride="1"), "expected attributes among .*, got stride"),
        (lambda d: d["nodes"][1]["attrs"].update(groups="many"), "expected a value of attribute 'groups', got 'many'"),
        (lambda d: d["nodes"][1]["outputs"][0].update(shape=[1, 4, 9, 9]), r"expected float32 of shape \[1, 4, 9, 9\]"),
        (lambda d: d["nodes"][1]["weights"]["weight"].update(name="q"), "expected a weight 'q', got none"),
        (lambda d: d["nodes"][1]["weights"].clear(), "expected an input 'weight', got none"),
        (lambda d: d["nodes"][1]["outputs"][0].pop("dtype"), r"nodes\[1\]\.outputs\[0\]\.dtype: expected a text"),
        (lambda d: d.update(nodes="none"), "nodes: expected a list"),
    ],
)
def test_bad_graphs_are_refused_by_node(change: Any, text: str):
    with pytest.raises(FrontendError, match=text):
        to_relay(changed(change), small()[1])


def test_what_is_no_layer_is_refused():
    x, c = relay.var("x", shape=(2,)), relay.var("c", shape=(), dtype="bool")
    with pytest.raises(VerifyException, match=r"expected an operator on tensors, got relay\.if"):
        from_relay(IRModule.from_expr(relay.Function([x, c], relay.If(c, x, relay.exp(x)))))
    with pytest.raises(FrontendError, match="expected JSON"):
        MSCGraph.from_json("{")
