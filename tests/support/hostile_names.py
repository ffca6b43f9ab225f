"""Names that pages, terminals and files have stumbled over, and what puts them wherever a name can be."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from whence.explorer.session.document import Session

HOSTILE = {
    "script": "<script>document.title = 'owned'</script>",
    "closing": "</script></style></title><script>document.title = 'owned'</script><!--",
    "image": '"><img src=x onerror="document.title = \'owned\'">',
    "quotes": "'\"`${document.title = 'owned'}`\\\"'",
    "lines": "a\nb\r\nc\u2028d",
    "nul": "a\0b\x1b[31mred\x7f",
    "right to left": "\u202egnp.exe\u2066\u200f",
    "long": "x" * 10_000,
    "address": "javascript:document.title='owned'",
    "prototype": "__proto__",
    "lone surrogate": "a\ud800b",
    "entity": "&lt;script&gt;&amp;",
    "style": "</style></title><base href=//example.test>",
    "format": "%s%n{0}{{}}$&$1<!-- title -->",
}
"""What it is -> the name."""
_VOCABULARY = {
    "kind", "level", "compiler", "place", "dtype",
}  # fmt: skip
"""Fields whose texts are words of the document's own."""
Row = TypeVar("Row")


def model_of(name: str) -> ModelProto:
    """Return a model in which `name` stands wherever ONNX lets one: graph, nodes, values, weights, extents, notes."""
    weight = numpy_helper.from_array(np.ones((4, 4), np.float32), f"w{name}")
    nodes = [
        helper.make_node("MatMul", [f"x{name}", f"w{name}"], [f"m{name}"], name=f"scope{name}/matmul{name}"),
        helper.make_node("Relu", [f"m{name}"], [f"r{name}"], name=name, doc_string=name),
        helper.make_node("Softmax", [f"r{name}"], [f"y{name}"], name=f"{name}/{name}"),
    ]
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(f"x{name}", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor_value_info(f"y{name}", TensorProto.FLOAT, [3, 4])],
        [weight],
        doc_string=name,
    )
    model = helper.make_model(graph, producer_name=name, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {name: name})
    return model


def poisoned(session: Session, name: str) -> Session:
    """Return a copy of a session in which each text ends with `name`, but for the words of the document itself."""
    return _poisoned(session, name)


def _poisoned(value: Any, name: str) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        rows = {field.name: getattr(value, field.name) for field in fields(value)}
        return type(value)(**{key: row if key in _VOCABULARY else _poisoned(row, name) for key, row in rows.items()})
    if isinstance(value, list | tuple):
        return type(value)(_poisoned(item, name) for item in value)  # type: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {_poisoned(key, name): _poisoned(item, name) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
    return value + name if isinstance(value, str) else value
