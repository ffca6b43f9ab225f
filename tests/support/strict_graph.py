"""A strict reader and a writer of TVM's graph JSON and params files, written from the description of the formats."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

_ATTRS = {"shape": "list_shape", "storage_id": "list_int", "device_index": "list_int", "dltype": "list_str"}


def check_graph(text: str) -> dict[str, Any]:
    """The graph; AssertionError unless it is exactly what the format says, with unique names and sound storage."""
    graph: dict[str, Any] = json.loads(text)
    assert list(graph) == ["nodes", "arg_nodes", "heads", "attrs", "node_row_ptr"]
    rows = [0]
    for place, node in enumerate(graph["nodes"]):
        if node["op"] == "null":
            assert list(node) == ["op", "name", "inputs"]
            assert node["inputs"] == []
            assert place in graph["arg_nodes"]
            outputs = 1
        else:
            assert list(node) == ["op", "name", "attrs", "inputs"]
            assert node["op"] == "tvm_op"
            assert {"num_outputs", "num_inputs", "flatten_data", "func_name", "hash"} <= set(node["attrs"])
            assert all(isinstance(value, str) for value in node["attrs"].values())
            assert int(node["attrs"]["num_inputs"]) == len(node["inputs"])
            outputs = int(node["attrs"]["num_outputs"])
        for at, index, version in node["inputs"]:
            assert at < place
            assert rows[at] + index < rows[at + 1]
            assert version == 0
        rows.append(rows[-1] + outputs)
    assert graph["node_row_ptr"] == rows
    assert len({node["name"] for node in graph["nodes"]}) == len(graph["nodes"])
    assert set(graph["attrs"]) == set(_ATTRS)
    for name, kind in _ATTRS.items():
        assert graph["attrs"][name][0] == kind
        assert len(graph["attrs"][name][1]) == rows[-1]
    _check_storage(graph, rows)
    return graph


def _check_storage(graph: dict[str, Any], rows: list[int]) -> None:
    """No entry is written while another one of the same storage is still to be read."""
    storage: list[int] = graph["attrs"]["storage_id"][1]
    last = [0] * rows[-1]
    for place, node in enumerate(graph["nodes"]):
        for at, index, _ in node["inputs"]:
            last[rows[at] + index] = place
    for at, index, _ in graph["heads"]:
        last[rows[at] + index] = len(graph["nodes"])
    for place, node in enumerate(graph["nodes"]):
        if node.get("attrs", {}).get("func_name") == "__nop":
            (at, index, _) = node["inputs"][0]
            assert storage[rows[place]] == storage[rows[at] + index]
            continue
        for entry in range(rows[place], rows[place + 1]):
            for other in range(rows[place]):
                assert storage[other] != storage[entry] or last[other] < place


def read_tensors(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """The tensors of a params file as TVM writes it: no checksum, nothing behind."""
    at = 0

    def take(form: str) -> tuple[Any, ...]:
        nonlocal at
        values = struct.unpack_from(f"<{form}", data, at)
        at += struct.calcsize(f"<{form}")
        return values

    assert take("QQ") == (0xF7E58D4F05049CB7, 0)
    names: list[str] = []
    for _ in range(take("Q")[0]):
        (length,) = take("Q")
        names.append(take(f"{length}s")[0].decode())
    assert take("Q") == (len(names),)
    found: dict[str, npt.NDArray[Any]] = {}
    for name in names:
        assert take("QQii") == (0xDD5E40F096B4A13F, 0, 1, 0)
        rank, code, bits, lanes = take("iBBH")
        assert lanes == 1
        shape = take(f"{rank}q")
        (size,) = take("q")
        dtype = np.dtype({0: "int", 1: "uint", 2: "float"}[code] + str(bits))
        assert size == int(np.prod(shape)) * dtype.itemsize
        found[name] = np.frombuffer(take(f"{size}s")[0], dtype).reshape(shape)
    assert at == len(data)
    return found
