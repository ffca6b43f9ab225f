"""Constants of a Relax text: numbers in line, tensors in the metadata, which is TVM's JSON of a graph of nodes."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from ...runtime.values.params import read_tensor, tensor_bytes
from ...support.dtypes import Array
from ...support.errors import FrontendError

KINDS = ("ir.GenericConst", "relax.expr.Constant")
"""The names of lists of constants in a metadata section: that of 0.26 and later, and that of before."""
_FEW = 8
"""The most elements that stand in line."""


@dataclass
class ConstantTable:
    """The tensors that a text names, each once."""

    kind: str = KINDS[0]
    tensors: list[Array] = field(default_factory=list[Array])
    _indices: dict[int, int] = field(default_factory=dict[int, int])

    def text(self, data: Array) -> str:
        """Return the text of a constant: `R.const(1.0, "float32")`, or its place in the metadata."""
        if data.size <= _FEW and _is_plain(data):
            return f'R.const({_literal(data.tolist())}, "{data.dtype.name}")'
        if (index := self._indices.get(id(data))) is None:
            index = self._indices[id(data)] = len(self.tensors)
            self.tensors.append(data)
        return f'metadata["{self.kind}"][{index}]'

    def section(self) -> str:
        """Return the statement that reads the metadata; "" without tensors."""
        if not self.tensors:
            return ""
        graph = json.dumps(_graph(self.tensors, self.kind), indent=2)
        return f'metadata = tvm.ir.load_json("""{graph}""")'


def _is_plain(data: Array) -> bool:
    if data.dtype.kind == "f":
        exact = np.array(data.tolist(), np.float64).astype(data.dtype)
        return bool(np.isfinite(data).all()) and exact.tobytes() == data.tobytes()
    return data.dtype.kind in "biu" and data.size > 0


def _literal(value: Any) -> str:
    return f"[{', '.join(map(_literal, cast('list[Any]', value)))}]" if isinstance(value, list) else repr(value)


def _graph(tensors: Sequence[Array], kind: str) -> dict[str, Any]:
    """Return the nodes of TVM's JSON: one constant with its type for each tensor, and the map of their list."""
    nodes: list[dict[str, Any]] = []

    def node(type_: str, data: Any = None) -> int:
        nodes.append({"type": type_} if data is None else {"type": type_, "data": data})
        return len(nodes) - 1

    none = node("None")
    whole = node("ir.PrimType", {"span": none, "dtype": "int64"})
    constants: list[int] = []
    for tensor in tensors:
        numbers = [node("int", int(extent)) for extent in tensor.shape]
        extents = [node("ir.IntImm", {"span": none, "ty": whole, "value": n}) for n in numbers]
        values = node("ffi.Array", extents)
        shape_type = node("relax.ShapeType", {"span": none, "values": values, "ndim": tensor.ndim})
        shape = node("relax.expr.ShapeExpr", {"span": none, "ty": shape_type, "values": values})
        dtype = node("ir.PrimType", {"span": none, "dtype": tensor.dtype.name})
        fields = {"span": none, "shape": shape, "dtype": dtype, "vdevice": none, "ndim": tensor.ndim}
        type_ = node("relax.TensorType", fields)
        data = node("ffi.Tensor", base64.b64encode(tensor_bytes(tensor, has_booleans=True)).decode())
        constants.append(node(kind, {"span": none, "ty": type_, "value": data}))
    name, items = node("ffi.String", kind), node("ffi.Array", constants)
    root = node("ffi.Map", [name, items])
    return {"root_index": root, "nodes": nodes, "metadata": {"tvm_version": "0.27.0"}}


def read_constants(text: str) -> dict[str, list[Array]]:
    """Return the tensors of a metadata section by kind; raises FrontendError when it is none."""
    try:
        graph: dict[str, Any] = json.loads(text)
        nodes: list[dict[str, Any]] = graph["nodes"]
        data = cast("list[int]", nodes[graph["root_index"]]["data"])
        pairs = zip(data[::2], data[1::2], strict=True)
        return {
            str(nodes[key]["data"]): [_tensor(nodes, index) for index in nodes[items]["data"]]
            for key, items in pairs
            if nodes[key]["data"] in KINDS
        }
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, binascii.Error) as error:
        reason = f"{type(error).__name__}: {error}"
        raise FrontendError(f"expected metadata that is a JSON graph of nodes, got {reason}") from error


def _tensor(nodes: Sequence[dict[str, Any]], index: int) -> Array:
    fields: dict[str, Any] = nodes[index]["data"]
    at = fields["value"] if "value" in fields else fields["data"]
    return read_tensor(base64.b64decode(cast(str, nodes[at]["data"]), validate=True), "metadata")
