"""The metadata section: objects that have no text, in TVM's JSON of a graph of nodes, with tensors in base64.

It is a map from kind to list; `meta[relay.Constant][0]` is the first object of a list. The format is that of TVM 0.14,
so that either reads the other's files. Kinds that only TVM knows are read, too; using one is an error.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from ...runtime.values.params import read_tensor, tensor_bytes
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..relay.expr import Constant, VirtualDevice

CONSTANT = "relay.Constant"
DEVICE = "VirtualDevice"
STRING = "runtime.String"
DIMENSIONS = ("tir.SizeVar", "tir.Var", "tir.Any")
"""The nodes for a dimension that only a run decides."""


@dataclass(frozen=True)
class UnknownNode:
    """A node of a kind that only TVM knows."""

    type_key: str


Entry: TypeAlias = "Array | VirtualDevice | str | int | UnknownNode"
MetaTable: TypeAlias = dict[str, list[Entry]]


def given_table(table: Mapping[str, Sequence[Entry | Constant]] | None) -> MetaTable:
    """Return a caller's table with tensors in the place of constants."""
    tensors: MetaTable = {}
    for key, entries in (table or {}).items():
        tensors[key] = [entry.data if isinstance(entry, Constant) else entry for entry in entries]
    return tensors


def read_metadata(section: str) -> MetaTable:
    """Return the lists of a metadata section by kind; raises FrontendError when it is none."""
    try:
        graph: dict[str, Any] = json.loads(section)
        nodes: list[dict[str, Any]] = graph["nodes"]
        root = nodes[cast(int, graph["root"])]
        lists = cast("list[int]", root["data"])
        tensors = [read_tensor(base64.b64decode(t, validate=True), "metadata") for t in graph.get("b64ndarrays", ())]
        reader = _Reader(nodes, tensors)
        return {
            key: [reader.entry(index) for index in cast("list[int]", nodes[at]["data"])]
            for key, at in zip(map(str, cast("list[str]", root["keys"])), lists, strict=True)
        }
    except RecursionError:
        raise FrontendError("expected a metadata section, got JSON that nests too deeply") from None
    except (ValueError, KeyError, TypeError, IndexError, binascii.Error) as error:
        reason = f"{type(error).__name__}: {error}"
        raise FrontendError(f"expected the metadata section to be a JSON graph of nodes, got {reason}") from error


@dataclass
class _Reader:
    nodes: list[dict[str, Any]]
    tensors: list[Array]

    def entry(self, index: int) -> Entry:
        node = self.nodes[index]
        attributes: dict[str, str] = node.get("attrs", {})
        match str(node["type_key"]):
            case key if key == CONSTANT:
                return self.tensors[int(attributes["data"])]
            case key if key == DEVICE:
                scope = cast(str, self.nodes[int(attributes["memory_scope"])].get("repr_str", ""))
                device = int(attributes["device_type_int"])
                return VirtualDevice(device, int(attributes["virtual_device_id"]), scope)
            case key if key == STRING:
                return str(node.get("repr_str", ""))
            case "IntImm":
                return int(attributes["value"])
            case key:
                return UnknownNode(key)


@dataclass
class MetadataWriter:
    """The objects to which a text refers so far; each object is one entry."""

    table: MetaTable = field(default_factory=MetaTable)
    _references: dict[object, str] = field(default_factory=dict[object, str])

    def reference(self, kind: str, entry: Entry, key: object) -> str:
        """Return `meta[kind][index]`; entries with equal keys are the same object."""
        if (reference := self._references.get((kind, key))) is None:
            entries = self.table.setdefault(kind, [])
            reference = self._references[(kind, key)] = f"meta[{kind}][{len(entries)}]"
            entries.append(entry)
        return reference

    def section(self) -> str:
        """Return the JSON of the objects."""
        return _Graph().of(self.table)


@dataclass
class _Graph:
    """Nodes in the order of their numbers; number 0 stands for nothing."""

    nodes: list[dict[str, Any]] = field(default_factory=lambda: [{"type_key": ""}])
    tensors: list[str] = field(default_factory=list[str])
    _once: dict[object, int] = field(default_factory=dict[object, int])

    def node(self, type_key: str, **fields: Any) -> int:
        self.nodes.append({"type_key": type_key, **fields})
        return len(self.nodes) - 1

    def of(self, table: MetaTable) -> str:
        root = self.node("Map", keys=sorted(table))
        lists: list[int] = []
        for key in sorted(table):
            lists.append(at := self.node("Array"))
            self.nodes[at]["data"] = [self.entry(key, entry) for entry in table[key]]
        self.nodes[root]["data"] = lists
        graph = {"root": root, "nodes": self.nodes, "b64ndarrays": self.tensors, "attrs": {"tvm_version": "0.14.0"}}
        return json.dumps(graph, indent=2, separators=(", ", ": "))

    def entry(self, kind: str, entry: Entry) -> int:
        match entry:
            case VirtualDevice():
                return self.device(entry)
            case str():
                return self.string(entry)
            case int() | UnknownNode():
                raise FrontendError(f"metadata: expected a tensor, a device or a string for {kind}, got {entry}")
            case _:
                self.tensors.append(base64.b64encode(tensor_bytes(entry)).decode())
                at = self.node(CONSTANT)
                device = str(self.device(VirtualDevice()))
                attributes = {"_checked_type_": "0", "data": str(len(self.tensors) - 1), "span": "0"}
                self.nodes[at]["attrs"] = attributes | {"virtual_device_": device}
                return at

    def device(self, device: VirtualDevice) -> int:
        if (reference := self._once.get(device)) is None:
            reference = self._once[device] = self.node(DEVICE)
            self.nodes[reference]["attrs"] = {
                "device_type_int": str(device.device_type),
                "memory_scope": str(self.string(device.memory_scope)),
                "target": "0",
                "virtual_device_id": str(device.virtual_device_id),
            }
        return reference

    def string(self, text: str) -> int:
        return self.node(STRING, repr_str=text) if text else self.node(STRING)
