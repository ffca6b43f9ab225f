"""Graphs in TVM's JSON: what is written a strict reader takes, what is none is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from whence.runtime.program.graph import Entry, Graph, Node, Ref
from whence.runtime.program.graph_reader import read_graph
from whence.support.errors import FrontendError

OLD = """{
  "nodes": [
    {"op": "null", "name": "x", "inputs": []},
    {"op": "tvm_op", "name": "relu0",
     "attrs": {"flatten_data": "0", "func_name": "fuse_l2_normalize_relu", "num_inputs": "1", "num_outputs": "1"},
     "inputs": [[0, 0, 0]]}
  ],
  "arg_nodes": [0], "node_row_ptr": [0, 1, 2], "heads": [[1, 0, 0]],
  "attrs": {
    "storage_id": ["list_int", [1, 0]], "dtype": ["list_int", [0, 0]],
    "dltype": ["list_str", ["float32", "float32"]],
    "shape": ["list_shape", [[1, 3, 20, 20], [1, 3, 20, 20]]], "device_index": ["list_int", [1, 1]]
  }
}"""
"""The graph of the debugger's document: it has the `dtype` of old versions, and no hash."""


def changed(**parts: Any) -> str:
    return json.dumps(json.loads(OLD) | parts)


def changed_node(**parts: Any) -> str:
    graph = json.loads(OLD)
    graph["nodes"][1] |= parts
    return json.dumps(graph)


def changed_attrs(**parts: Any) -> str:
    graph = json.loads(OLD)
    graph["attrs"] |= parts
    return json.dumps(graph)


def test_the_graph_of_the_document_is_read():
    graph = read_graph(OLD)
    attrs = {"flatten_data": "0", "func_name": "fuse_l2_normalize_relu", "num_inputs": "1", "num_outputs": "1"}
    assert graph.nodes == (Node("null", "x"), Node("tvm_op", "relu0", (Ref(0),), attrs))
    assert graph.entries == (Entry((1, 3, 20, 20), "float32", 1), Entry((1, 3, 20, 20), "float32", 0))
    assert graph.heads == (Ref(1),)
    assert graph.storage_sizes() == {1: 4800, 0: 4800}


def test_what_is_written_is_read():
    graph = read_graph(OLD)
    assert read_graph(graph.to_json()) == graph
    assert read_graph(graph.to_json(indent=2)) == graph


def test_short_references_and_no_devices_are_read():
    graph = json.loads(changed_node(inputs=[[0, 0]]))
    del graph["attrs"]["device_index"]
    assert read_graph(json.dumps(graph)) == read_graph(OLD)


def test_metadata_ends_what_is_read():
    assert read_graph(changed(metadata={"any": "thing"}, after=1)) == read_graph(OLD)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("3", "the graph: expected an object, got 3"),
        (changed(more=1), "key more is not supported"),
        (changed_node(more=1), "expected keys among op, name.*got 'more'"),
        (changed_node(op="conv"), "node 1: expected op null or tvm_op, got 'conv'"),
        (changed_node(attrs={"func_name": "f"}), "none of num_inputs, num_outputs, flatten_data: invalid format"),
        (changed_node(inputs=[[1, 0, 0]]), "input of node 'relu0': expected a node before it, got 1"),
        (changed_node(inputs=[[-1, 0, 0]]), "input of node 'relu0'"),
        (changed_node(inputs=[[0, 1, 0]]), "expected one of the 1 outputs of 'x', got 1"),
        (changed_node(inputs=[]), "expected 1 inputs, as num_inputs says, got 0"),
        (changed_node(inputs=[[0, 0, True]]), "expected whole numbers, got True"),
        (changed(heads=[[2, 0, 0]]), "head: expected one of 2 nodes, got 2"),
        (changed(arg_nodes=[0, 1]), r"arg_nodes: expected the nodes whose op is null \[0\], got \(0, 1\)"),
        (changed(node_row_ptr=[0, 1, 3]), r"node_row_ptr: expected the sums of outputs \[0, 1, 2\]"),
        (changed_attrs(shape=["list_shape", [[1]]]), "expected 2 values, as many as entries, got 1"),
        (changed_attrs(shape=["list_int", [[1], [1]]]), r'expected \["list_shape", \[..\]\]'),
        (changed_attrs(shape=["list_shape", [[-1], [1]]]), "expected extents of an array"),
        (changed_attrs(shape=["list_shape", [[1 << 60], [1]]]), "expected extents of an array"),
        (changed_attrs(dltype=["list_str", ["float31", "float32"]]), "expected the name of a dtype, got 'float31'"),
        (changed_attrs(storage_id=["list_int", [-1, 0]]), "expected numbers from 0 on, got -1"),
        (changed_attrs(device_index=["list_int", [2, 1]]), "expected 1, the CPU, got 2"),
    ],
)
def test_what_is_no_graph_is_refused(text: str, complaint: str):
    with pytest.raises(FrontendError, match=complaint):
        read_graph(text)


@pytest.mark.parametrize("key", ["nodes", "arg_nodes", "node_row_ptr", "heads", "attrs"])
def test_all_keys_are_needed(key: str):
    graph = json.loads(OLD)
    del graph[key]
    with pytest.raises(FrontendError, match=f"got none of {key}"):
        read_graph(json.dumps(graph))


def test_a_view_keeps_dtype_and_size():
    attrs = {"flatten_data": "0", "func_name": "__nop", "num_inputs": "1", "num_outputs": "1"}
    assert read_graph(changed_node(attrs=attrs)).nodes[1].function == "__nop"
    graph = json.loads(changed_node(attrs=attrs))
    graph["attrs"]["shape"][1][1] = [1, 3, 20, 21]
    with pytest.raises(FrontendError, match="node 'relu0': expected as many elements of float32"):
        read_graph(json.dumps(graph))


def test_long_graphs_take_linear_time():
    count = 20_000
    attrs = {"num_outputs": "1", "num_inputs": "1", "flatten_data": "0", "func_name": "f"}
    nodes = (Node("null", "x"), *(Node("tvm_op", f"n{k}", (Ref(k),), attrs) for k in range(count)))
    graph = Graph(nodes, (0,), (Ref(count),), (Entry((1,), "float32", 0),) * (count + 1))
    assert len(read_graph(graph.to_json()).nodes) == count + 1
