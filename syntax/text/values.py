"""The values that actions pass to each other while a text is read: parts of the program and the tokens they span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from lark import Token
from xdsl.ir import Attribute

from ...dialects.sizes import Size
from ...support.dtypes import Array
from ..relay.expr import Expr, Pattern, Var
from .metadata import Entry


class Placed(NamedTuple):
    """An expression, with its first and last token."""

    expr: Expr
    first: Token
    last: Token


class Named(NamedTuple):
    """`key=value` among arguments or parameters."""

    key: str
    value: Any
    first: Token
    last: Token


class Value(NamedTuple):
    """An attribute's value, its first token, the depth of its nesting, and its text, which may be a part of a size."""

    value: Any
    first: Token
    depth: int = 0
    text: str = "?"


class SizeParts(NamedTuple):
    """The tokens of a size, and the depth of its brackets."""

    tokens: list[Token]
    depth: int = 0


class Number(NamedTuple):
    """A scalar of the dtype that its suffix names, and the exact number for attributes, which have no dtypes."""

    value: Array
    exact: int | float
    first: Token
    last: Token


class Meta(NamedTuple):
    """The entry of the metadata section that a reference means; None for a missing one, which has been reported."""

    entry: Entry | None
    first: Token
    last: Token


class Type(NamedTuple):
    """A type, None for an open one, and the depth of its nesting."""

    type: Attribute | None
    depth: int = 0


class Dimension(NamedTuple):
    """An extent in a shape, DYNAMIC_INDEX for an open one."""

    size: Size


class Read(NamedTuple):
    """A pattern, the variables that it binds, and the depth of its nesting."""

    pattern: Pattern
    vars: list[Var]
    depth: int = 0


@dataclass
class Signature:
    """The part of a function between its name and its body."""

    params: list[Var]
    attrs: dict[str, Any]
    ret_type: Attribute | None


@dataclass
class Infix:
    """Operands with operators between them; each operator that waits for its operand binds tighter than the last."""

    operands: list[Placed]
    operators: list[Token]
