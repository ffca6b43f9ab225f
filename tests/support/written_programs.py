"""Exported programs written by hand: .pt2 files of a few operators, with graphs that nodes run."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

FLOAT, LONG, BOOL = 7, 5, 12
"""Element types, as the schema numbers them."""


@dataclass(frozen=True)
class Number:
    """The name of a number that the program computes: `int`, `float` or `bool`."""

    name: str
    kind: str = "int"


def argument(value: Any) -> dict[str, Any]:
    """An argument: a text names a tensor, `Number` a number, a list several tensors, a dictionary is as it stands."""
    match value:
        case None:
            return {"as_none": True}
        case dict():
            return cast("dict[str, Any]", value)
        case bool():
            return {"as_bool": value}
        case int():
            return {"as_int": value}
        case float():
            return {"as_float": value}
        case str():
            return {"as_tensor": {"name": value}}
        case Number():
            return {f"as_sym_{value.kind}": {"as_name": value.name}}
        case _:
            if all(isinstance(item, str) for item in value):
                return {"as_tensors": [{"name": item} for item in value]}
            return {"as_ints": [*value]}


def node(target: str, arguments: Sequence[Any] | Mapping[str, Any], outputs: Sequence[Any], line: int = 1) -> Any:
    """A call at a line of `hand.py`; `target` without `torch.ops.`, but for operators that have none."""
    named = arguments.items() if isinstance(arguments, Mapping) else [("", value) for value in arguments]
    full = target if target.startswith(("_operator", "whence.", "math.", "torch.")) else f"torch.ops.{target}"
    first = outputs[0] if outputs else target
    return {
        "name": first.name if isinstance(first, Number) else first,
        "target": full,
        "inputs": [{"name": name, "arg": argument(value), "kind": 1} for name, value in named],
        "outputs": [argument(output) for output in outputs],
        "metadata": {"stack_trace": f'File "hand.py", line {line}, in forward\n    code'},
    }


def graph(inputs: Sequence[Any], nodes: Sequence[Any], outputs: Sequence[Any], **metas: Any) -> dict[str, Any]:
    """A graph; `metas` are shapes, or element types with shapes, of values."""
    return {
        "inputs": [argument(value) for value in inputs],
        "outputs": [argument(value) for value in outputs],
        "nodes": [*nodes],
        "tensor_values": {name: meta(value) for name, value in metas.items()},
    }


def inner(name: str, graph: Any) -> Any:
    """A graph as an argument of a node."""
    return {"as_graph": {"name": name, "graph": graph}}


def size(value: int | str) -> Any:
    return {"as_int": value} if isinstance(value, int) else {"as_expr": {"expr_str": value}}


def meta(value: Any) -> dict[str, Any]:
    dtype, shape = cast("tuple[int, list[int | str]]", value if isinstance(value, tuple) else (FLOAT, value))
    strides: list[Any] = [1]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent if isinstance(extent, int) and isinstance(strides[-1], int) else 1)
    return {
        "dtype": dtype,
        "sizes": [size(extent) for extent in shape],
        "strides": [size(stride) for stride in reversed(strides[: len(shape)])],
        "layout": 7,
    }


def program(graph: Any, weights: Mapping[str, Any] | None = None, **document: Any) -> bytes:
    """The .pt2 file of a graph all of whose inputs are those of a call, or as `input_specs` says.

    weights: the module's name of a float32 tensor -> it, an array.
    """
    specs = document.pop("input_specs", None) or [{"user_input": {"arg": value}} for value in graph["inputs"]]
    signature = {
        "input_specs": specs,
        "output_specs": [{"user_output": {"arg": value}} for value in graph["outputs"]],
    }
    model: dict[str, Any] = {
        "schema_version": {"major": 8, "minor": 20},
        "graph_module": {"graph": graph, "signature": signature, "module_call_graph": []},
        "range_constraints": {},
        "guards_code": [],
        **document,
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("hand/archive_format", "pt2")
        archive.writestr("hand/models/model.json", json.dumps(model))
        config: dict[str, Any] = {}
        for at, (name, array) in enumerate((weights or {}).items()):
            archive.writestr(f"hand/data/weights/weight_{at}", array.tobytes())
            config[name] = {"path_name": f"weight_{at}", "use_pickle": False, "tensor_meta": meta([*array.shape])}
        archive.writestr("hand/data/weights/model_weights_config.json", json.dumps({"config": config}))
    return target.getvalue()
