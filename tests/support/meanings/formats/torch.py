# pyright: basic
"""Exported PyTorch programs written as documents of torch's schema."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Value
from whence.frontends.torch import from_exported_program as load
from whence.frontends.torch.tensors import DTYPES

__all__ = ["DType", "Net", "load"]

_CODES = {dtype.name: code for code, dtype in DTYPES.items()}


@dataclass(frozen=True)
class DType:
    """An argument that is an element type."""

    name: str


def _strides(shape: Sequence[int]) -> list[int]:
    return [int(np.prod(shape[at + 1 :], dtype=int)) for at in range(len(shape))]


def _meta(shape: Sequence[int], dtype: np.dtype[Any]) -> dict[str, Any]:
    return {
        "dtype": _CODES[dtype.name],
        "sizes": [{"as_int": int(extent)} for extent in shape],
        "requires_grad": False,
        "device": {"type": "cpu", "index": None},
        "strides": [{"as_int": stride} for stride in _strides(shape)],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def _argument(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return {"as_none": True}
        case Value():
            return {"as_tensor": {"name": value.name}}
        case DType():
            return {"as_scalar_type": _CODES[value.name]}
        case bool():
            return {"as_bool": value}
        case int():
            return {"as_int": value}
        case float():
            return {
                "as_float": {np.inf: "Infinity", -np.inf: "-Infinity"}.get(value, "NaN" if value != value else value)
            }
        case str():
            return {"as_string": value}
        case list() | tuple() if value and all(isinstance(item, Value) for item in value):
            return {"as_tensors": [{"name": item.name} for item in value]}
        case list() | tuple() if value and any(isinstance(item, Value) for item in value):
            return {"as_optional_tensors": [_argument(item) for item in value]}
        case list() | tuple() if any(isinstance(item, float) for item in value):
            return {"as_floats": list(value)}
        case list() | tuple():
            return {"as_ints": list(value)}
        case _:
            raise TypeError(value)


class Net:
    """A program under construction; a call adds a node."""

    def __init__(self) -> None:
        self.operators: set[str] = set()
        self.nodes: list[Any] = []
        self.inputs: list[Value] = []
        self.constants: list[Value] = []

    def input(self, array: Array) -> Value:
        self.inputs.append(Value(f"x{len(self.inputs)}", array.shape, array.dtype))
        return self.inputs[-1]

    def const(self, array: Any, dtype: str = "") -> Value:
        array = np.asarray(array, dtype or None)
        self.constants.append(Value(f"c{len(self.constants)}", array.shape, array.dtype, array))
        return self.constants[-1]

    def __call__(self, op: str, /, *, results: int | Sequence[int] = 1, **arguments: Any) -> Any:
        """Add a node, with arguments by the names of the schema; returns its result, or a tuple of them.

        results: a list of a number, where the result is a list of as many tensors.
        """
        self.operators.add(op)
        listed = not isinstance(results, int)
        names = [f"y{len(self.nodes)}_{at}" for at in range(results[0] if listed else results)]
        outputs: list[Any] = [{"as_tensor": {"name": name}} for name in names]
        if listed:
            outputs = [{"as_tensors": [{"name": name} for name in names]}]
        entries = [{"name": name, "arg": _argument(value), "kind": 1} for name, value in arguments.items()]
        self.nodes.append({
            "target": f"torch.ops.{op}", "inputs": entries, "outputs": outputs, "metadata": {},
            "is_hop_single_tensor_return": None, "name": names[0],
        })  # fmt: skip
        made = [Value(name, (), np.dtype(np.float32)) for name in names]
        return made[0] if results == 1 else tuple(made)

    def build(self, outputs: Sequence[Value], expected: Sequence[Array]) -> bytes:
        values = [*self.constants, *self.inputs]
        metas = {value.name: _meta(value.shape, value.dtype) for value in values}
        metas |= {value.name: _meta(x.shape, x.dtype) for value, x in zip(outputs, expected, strict=True)}
        tensors = [{"as_tensor": {"name": value.name}} for value in values]
        specs: list[Any] = [
            {"tensor_constant": {"arg": {"name": value.name}, "tensor_constant_name": value.name}}
            for value in self.constants
        ]
        specs += [{"user_input": {"arg": tensor}} for tensor in tensors[len(specs) :]]
        results = [{"as_tensor": {"name": value.name}} for value in outputs]
        graph = {"inputs": tensors, "outputs": results, "nodes": self.nodes, "tensor_values": metas}
        graph |= {"sym_int_values": {}, "sym_bool_values": {}, "sym_float_values": {}, "custom_obj_values": {}}
        signature = {"input_specs": specs, "output_specs": [{"user_output": {"arg": item}} for item in results]}
        document = {
            "graph_module": {"graph": graph, "signature": signature, "module_call_graph": []},
            "schema_version": {"major": 8, "minor": 14},
            "torch_version": "2.13.0",
        }
        configs = {
            value.name: {"path_name": value.name, "is_param": False, "use_pickle": False,
                         "tensor_meta": _meta(value.shape, value.dtype)}
            for value in self.constants
        }  # fmt: skip
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("net/archive_format", "pt2")
            archive.writestr("net/byteorder", "little")
            archive.writestr("net/models/model.json", json.dumps(document))
            archive.writestr("net/data/constants/model_constants_config.json", json.dumps({"config": configs}))
            for value in self.constants:
                assert value.array is not None
                archive.writestr(f"net/data/constants/{value.name}", np.ascontiguousarray(value.array).tobytes())
        return stream.getvalue()
