"""Descriptions of session documents for others: a JSON schema, and the types of TypeScript.

Both come of the dataclasses of `document`, their docstrings included.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from ...support.codec import types_of
from .document import LARGEST, VERSION, Session
from .judgement import Verdict

_LEAVES: dict[Any, dict[str, object]] = {
    int: {"type": "integer", "minimum": -LARGEST, "maximum": LARGEST},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
}
_SCRIPT_LEAVES: dict[Any, str] = {int: "number", float: "number", str: "string", bool: "boolean"}


@cache
def _described(cls: type) -> dict[str, str]:
    """Return the docstrings of a class ("") and below its fields."""
    (tree,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(tree, ast.ClassDef)
    texts = {"": inspect.getdoc(cls) or ""}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(field.target, ast.Name):
            texts[field.target.id] = inspect.cleandoc(ast.literal_eval(text.value))
    return texts


def _classes(*roots: type) -> list[type]:
    """Return some classes and those that they name, each after those that it names."""
    classes: dict[type, None] = {}

    def visit(kind: Any) -> None:
        if isinstance(kind, type) and is_dataclass(kind):
            if kind not in classes:
                for field in types_of(kind).values():
                    visit(field)
                classes[kind] = None
        for argument in get_args(kind):
            visit(argument)

    for root in roots:
        visit(root)
    return list(classes)


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of session documents.

    Links between tables are no matter of types: `session.check` holds them.
    """
    objects = {cls.__name__: _object(cls) for cls in _classes(Session)}
    root = objects.pop("Session")
    root["properties"]["whence_session"] = {"const": VERSION}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Whence session",
        **root,
        "$defs": objects,
    }


def _object(cls: type) -> dict[str, Any]:
    properties: dict[str, object] = {}
    for name, kind in types_of(cls).items():
        text = _described(cls).get(name, "")
        properties[name] = {**_schema(kind), "description": text} if text else _schema(kind)
    text = _described(cls)[""]
    return {"type": "object", "description": text, "properties": properties, "required": list(properties)}


def _schema(kind: Any) -> dict[str, object]:
    if kind in _LEAVES:
        return _LEAVES[kind]
    if isinstance(kind, type) and is_dataclass(kind):
        return {"$ref": f"#/$defs/{kind.__name__}"}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is UnionType:
        return {"anyOf": [{"type": "null"} if argument is NoneType else _schema(argument) for argument in arguments]}
    if origin is tuple:
        return {
            "type": "array",
            "prefixItems": [_schema(a) for a in arguments],
            "items": False,
            "minItems": len(arguments),
        }
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    return {"type": "array", "items": _schema(arguments[0])}


def declarations() -> str:
    """Return the types of session documents, and of verdicts, in TypeScript, as page/document.d.ts has them."""
    lines = ["/** The session document: generated from explorer/session/document.py by its tests. */", ""]
    for cls in _classes(Session, Verdict):
        lines += [*_comment(_described(cls)[""], ""), f"export interface {cls.__name__} {{"]
        for name, kind in types_of(cls).items():
            lines += [*_comment(_described(cls).get(name, ""), "  "), f"  {name}: {_script(kind)};"]
        lines += ["}", ""]
    return "\n".join(lines)


def _comment(text: str, indent: str) -> list[str]:
    return [f"{indent}/** {' '.join(text.split())} */"] if text else []


def _script(kind: Any) -> str:
    if kind in _SCRIPT_LEAVES:
        return _SCRIPT_LEAVES[kind]
    if isinstance(kind, type) and is_dataclass(kind):
        return kind.__name__
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " | ".join(f'"{choice}"' for choice in arguments)
    if origin is UnionType:
        return " | ".join("null" if argument is NoneType else _script(argument) for argument in arguments)
    if origin is tuple:
        return f"[{', '.join(map(_script, arguments))}]"
    if origin is dict:
        return f"Record<string, {_script(arguments[1])}>"
    element = _script(arguments[0])
    return f"({element})[]" if "|" in element else f"{element}[]"
