"""The head of a Relax text, before its module: sizes, `n = TypeVar("n")`, and constants, `metadata = ..`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from whence.dialects.sizes import symbol
from whence.script.source import Source
from whence.support.dtypes import Array
from whence.support.errors import FrontendError
from whence.syntax.relax.constants import read_constants


@dataclass
class Head:
    """The sizes and constants that a text declares."""

    sizes: dict[str, Any] = field(default_factory=dict[str, Any])
    constants: dict[str, Sequence[Array]] = field(default_factory=dict[str, Sequence[Array]])

    def reads(self, node: ast.stmt, source: Source) -> bool:
        """Read a statement before the module; return whether it is one of these."""
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="TypeVar"), args=[ast.Constant(value=str() as text)]),
            ):
                try:
                    self.sizes[name] = symbol(text)
                except ValueError as error:
                    source.record(node.lineno, node.col_offset + 1, str(error))
            case ast.Assign(
                targets=[ast.Name(id="metadata")],
                value=ast.Call(func=ast.Attribute(attr="load_json"), args=[ast.Constant(value=str() as text)]),
            ):
                try:
                    self.constants.update(read_constants(text))
                except FrontendError as error:
                    source.record(node.lineno, node.col_offset + 1, str(error))
            case _:
                return False
        return True
