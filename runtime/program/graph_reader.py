"""A reader of graphs in TVM's JSON format, including that of old versions; it refuses all else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any, NoReturn, cast

from ...support.dtypes import NAMES, SMALL
from ...support.errors import FrontendError, expectation
from .graph import CPU, NOP, Entry, Graph, Node, Ref

_KEYS = ("nodes", "arg_nodes", "node_row_ptr", "heads", "attrs")
_NODE_KEYS = ("op", "name", "inputs", "attr", "attrs", "control_deps")
_CALL_ATTRS = ("func_name", "num_inputs", "num_outputs", "flatten_data")
_DTYPES = frozenset((*NAMES, *SMALL))


def read_graph(text: str | bytes) -> Graph:
    """Return the graph of a JSON text.

    Reading ends at the key "metadata"; other keys that TVM's reader does not know are refused. `dtype`, of old
    versions, is ignored in favour of `dltype`. Raises FrontendError when the text is no such graph.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FrontendError(expectation("graph", "JSON", str(error) or type(error).__name__)) from error
    fields: dict[str, Any] = {}
    for key, value in _dict(data, "the graph").items():
        if key == "metadata":
            break
        if key not in _KEYS:
            raise FrontendError(f"graph: key {key} is not supported")
        fields[key] = value
    if missing := [key for key in _KEYS if key not in fields]:
        _fail("the graph", f"the keys {', '.join(_KEYS)}", f"none of {', '.join(missing)}")
    nodes = tuple(_node(value, index) for index, value in enumerate(_list(fields["nodes"], "nodes")))
    rows = [0, *accumulate(node.outputs for node in nodes)]
    if (row_ptr := _list(fields["node_row_ptr"], "node_row_ptr")) != rows:
        _fail("node_row_ptr", f"the sums of outputs {_short(rows)}", _short(row_ptr))
    for index, node in enumerate(nodes):
        if node.function == NOP and (len(node.inputs), node.outputs) != (1, 1):
            _fail(f"node '{node.name}'", f"one input and one output of {NOP}", f"{len(node.inputs)}, {node.outputs}")
        for ref in node.inputs:
            _check_ref(ref, nodes[:0] if index == 0 else nodes, index, f"input of node '{node.name}'")
    heads = tuple(_ref(value, "heads") for value in _list(fields["heads"], "heads"))
    for head in heads:
        _check_ref(head, nodes, len(nodes), "head")
    arguments = tuple(_int(value, "arg_nodes") for value in _list(fields["arg_nodes"], "arg_nodes"))
    if list(arguments) != (null := [index for index, node in enumerate(nodes) if node.is_argument]):
        _fail("arg_nodes", f"the nodes whose op is null {_short(null)}", _short(arguments))
    graph = Graph(nodes, arguments, heads, _entries(_dict(fields["attrs"], "attrs"), rows[-1]))
    _check_views(graph)
    return graph


def _check_views(graph: Graph) -> None:
    for index, node in enumerate(graph.nodes):
        if node.function == NOP:
            before, after = graph.entries[graph.entry(node.inputs[0])], graph.entries[graph.rows[index]]
            if before.dtype != after.dtype or before.nbytes != after.nbytes:
                expected = f"as many elements of {before.dtype} as {list(before.shape)} has"
                _fail(f"node '{node.name}'", expected, f"{after.dtype}{list(after.shape)}")


def _node(value: object, index: int) -> Node:
    what = f"node {index}"
    data = _dict(value, what)
    for key in data:
        if key not in _NODE_KEYS:
            _fail(what, f"keys among {', '.join(_NODE_KEYS)}", repr(key))
    for key in ("op", "name", "inputs"):
        if key not in data:
            _fail(what, "op, name and inputs", f"no {key}")
    op, name = _str(data["op"], f"op of {what}"), _str(data["name"], f"name of {what}")
    inputs = tuple(_ref(ref, f"inputs of {what}") for ref in _list(data["inputs"], f"inputs of {what}"))
    attributes = _dict(data.get("attrs", data.get("attr", {})), f"attrs of {what}")
    attrs = {key: _str(text, f"attribute {key} of {what}") for key, text in attributes.items()}
    if op == "null":
        if inputs:
            _fail(what, "no inputs of an argument", str(len(inputs)))
        return Node(op, name, (), attrs)
    if op != "tvm_op":
        _fail(what, "op null or tvm_op", repr(op))
    if missing := [key for key in _CALL_ATTRS if key not in attrs]:
        _fail(what, f"attributes {', '.join(_CALL_ATTRS)}", f"none of {', '.join(missing)}: invalid format")
    for key in ("num_inputs", "num_outputs"):
        if not attrs[key].isascii() or not attrs[key].isdecimal() or len(attrs[key]) > 6:
            _fail(what, f"a number as {key}", repr(attrs[key]))
    if int(attrs["num_inputs"]) != len(inputs):
        _fail(what, f"{attrs['num_inputs']} inputs, as num_inputs says", str(len(inputs)))
    return Node(op, name, inputs, attrs)


def _entries(attrs: dict[str, Any], count: int) -> tuple[Entry, ...]:
    def column(key: str, kind: str) -> list[Any]:
        pair = _list(attrs[key], f"attribute {key}")
        if len(pair) != 2 or pair[0] != kind:
            _fail(f"attribute {key}", f'["{kind}", [..]]', _short(pair))
        values = _list(pair[1], f"attribute {key}")
        if len(values) != count:
            _fail(f"attribute {key}", f"{count} values, as many as entries", str(len(values)))
        return values

    for key in ("shape", "storage_id", "dltype"):
        if key not in attrs:
            _fail("attrs", "shape, storage_id and dltype", f"no {key}")
    shapes, storages = column("shape", "list_shape"), column("storage_id", "list_int")
    dtypes = column("dltype", "list_str")
    devices = column("device_index", "list_int") if "device_index" in attrs else [CPU] * count
    return tuple(map(_entry, shapes, dtypes, storages, devices))


def _entry(shape: object, dtype: object, storage: object, device: object) -> Entry:
    extents = tuple(_int(extent, "attribute shape") for extent in _list(shape, "attribute shape"))
    name = _str(dtype, "attribute dltype")
    if name not in _DTYPES:
        _fail("attribute dltype", "the name of a dtype", repr(name))
    if min(extents, default=0) < 0 or len(extents) > 32 or prod(extents) > 1 << 48:
        _fail("attribute shape", "extents of an array that memory can hold", _short(extents))
    number = _int(storage, "attribute storage_id")
    if number < 0:
        _fail("attribute storage_id", "numbers from 0 on", str(number))
    if (device_type := _int(device, "attribute device_index")) != CPU:
        _fail("attribute device_index", f"{CPU}, the CPU", str(device_type))
    return Entry(extents, name, number, device_type)


def _check_ref(ref: Ref, nodes: Sequence[Node], before: int, what: str) -> None:
    if not 0 <= ref.node < before:
        _fail(what, "a node before it" if before < len(nodes) else f"one of {len(nodes)} nodes", str(ref.node))
    if not 0 <= ref.output < nodes[ref.node].outputs:
        _fail(what, f"one of the {nodes[ref.node].outputs} outputs of '{nodes[ref.node].name}'", str(ref.output))


def _ref(value: object, what: str) -> Ref:
    parts = [_int(part, what) for part in _list(value, what)]
    if len(parts) not in (2, 3):
        _fail(what, "[node, output, version]", _short(parts))
    return Ref(*parts)


def _dict(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _fail(what, "an object", _short(value))
    return cast("dict[str, Any]", value)


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        _fail(what, "a list", _short(value))
    return cast("list[Any]", value)


def _str(value: object, what: str) -> str:
    if not isinstance(value, str):
        _fail(what, "a text", _short(value))
    return value


def _int(value: object, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        _fail(what, "whole numbers", _short(value))
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _fail(what: str, expected: str, actual: str) -> NoReturn:
    raise FrontendError(expectation(f"graph, {what}", expected, actual))
