"""The values that actions hand to each other while a text is read: parts of the program and the tokens they span."""

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
    """An expression, and the tokens that it begins and ends with."""

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
    """An attribute's value, where it begins, how far it nests, and its text where it may be a part of a size."""

    value: Any
    first: Token
    depth: int = 0
    text: str = "?"


class SizeParts(NamedTuple):
    """The tokens of a size, and how far its brackets nest."""

    tokens: list[Token]
    depth: int = 0


class Number(NamedTuple):
    """A scalar of the dtype that its suffix names, and the number as it is written: attributes have no dtypes."""

    value: Array
    exact: int | float
    first: Token
    last: Token


class Meta(NamedTuple):
    """The entry that a reference into the metadata section stands for; None for a missing one, already reported."""

    entry: Entry | None
    first: Token
    last: Token


class Type(NamedTuple):
    """A type, None where it is left open, and how far it nests."""

    type: Attribute | None
    depth: int = 0


class Dimension(NamedTuple):
    """An extent in a shape, DYNAMIC_INDEX for one that is left open."""

    size: Size


class Read(NamedTuple):
    """A pattern, the variables that it binds, and how far it nests."""

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
    """Operands with signs between them, of which those that wait for a later one bind tighter and tighter."""

    operands: list[Placed]
    operators: list[Token]
