"""Modules, expressions, types and arrays as JSON, TVM's `save_json` and `load_json`.

The JSON holds Relay text with its metadata, so that graphs keep shared nodes and spans. TVM's own files are not read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from whence.relay.module import IRModule
from whence.relay.ty import is_type
from whence.runtime.values.ndarray import view
from whence.support.dtypes import Array
from whence.support.errors import FrontendError
from whence.syntax.relay.expr import Constant, Expr, GlobalVar, Op
from whence.syntax.relay.nodes import post_order
from whence.syntax.relay.type_text import spelled
from whence.syntax.relay.type_view import plain
from whence.syntax.text import astext, fromtext, parse_expr

_KEY = "whence"
"""The key that marks the text of an object, beside JSON's own kinds."""
_PRELUDE = '#[version = "0.0.5"]\n'


def save_json(node: Any) -> str:
    """A module, an expression, a type, an array, or lists and mappings of them, as JSON.

    Raises FrontendError for anything else.
    """
    return json.dumps(_saved(node), ensure_ascii=False)


def _saved(node: Any) -> Any:
    if isinstance(node, IRModule):
        return {_KEY: "IRModule", "text": node.astext()}
    if isinstance(node, GlobalVar | Op):
        return {_KEY: type(node).__name__, "text": node.name_hint if isinstance(node, GlobalVar) else node.name}
    if isinstance(node, Expr):
        return {_KEY: "Expr", "text": astext(node)}
    if isinstance(node, np.ndarray):
        return {_KEY: "NDArray", "text": astext(Constant(cast(Array, node)))}
    if is_type(node):
        return {_KEY: "Type", "text": spelled(plain(node))}
    match node:
        case None | bool() | int() | float() | str():
            return node
        case Mapping():
            items = cast("Mapping[str, Any]", node).items()
            return {_KEY: "Map", "items": {str(key): _saved(value) for key, value in items}}
        case Sequence():
            return [_saved(item) for item in cast("Sequence[Any]", node)]
        case _:
            raise FrontendError(f"save_json: expected a module, an expression or a type, got {type(node).__name__}")


def load_json(json_str: str) -> Any:
    """Read the text of `save_json`. Raises FrontendError for another text."""
    try:
        return _loaded(json.loads(json_str))
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise FrontendError(f"load_json: expected what save_json gave, got something else ({error})") from None


def _loaded(data: Any) -> Any:
    if isinstance(data, list):
        return [_loaded(item) for item in cast("list[Any]", data)]
    if not isinstance(data, dict):
        return data
    record = cast("dict[str, Any]", data)
    match record.get(_KEY):
        case "IRModule":
            return IRModule.of(fromtext(record["text"]))
        case "GlobalVar":
            return GlobalVar(record["text"])
        case "Op":
            return Op.get(record["text"])
        case "Expr":
            expr = parse_expr(record["text"])
            for node in post_order(expr):
                if isinstance(node, Constant):
                    node.data = view(node.data)
            return expr
        case "NDArray":
            return view(cast(Constant, parse_expr(record["text"])).data)
        case "Type":
            probe = fromtext(f"{_PRELUDE}def @main(%x: {record['text']}) {{ %x }}")
            return probe.functions["main"].params[0].type_annotation
        case "Map":
            return {key: _loaded(value) for key, value in record["items"].items()}
        case other:
            raise FrontendError(f"load_json: expected what save_json gave, got {other or 'something else'}")
