"""Structural equality and hash of expressions and programs, as in TVM: names do not count, sharing does.

Both read the *tokens* of an expression: each node once and numbered, in the order of a walk from the root. Two
expressions are equal if their tokens are, one by one. Ops are compared as the expressions of `view.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count, zip_longest
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from ...dialects.relay.types import TypeVar, numbered, substituted
from ...support.dtypes import Array
from .defaults import completed, plain
from .expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    Program,
    Tuple,
    TupleGetItem,
    TypeData,
    Var,
)
from .nodes import children, is_leaf
from .type_view import plain as attribute_of

Token: TypeAlias = Hashable
_Types: TypeAlias = dict[str, Attribute]
"""The types that stand for type variables."""

_CLOSE = 1e-9
"""The difference below which attributes are equal, so that 1e-5 equals the nearest float32."""


def structural_equal(
    lhs: Expr | Program, rhs: Expr | Program, map_free_vars: bool = False, spans: bool = False
) -> bool:
    """Return whether two expressions or programs are the same except for the names of variables.

    Sharing counts: `%0 = x + y; %0 + %0` is not `(x + y) + (x + y)`. Inferred types count only if the other side
    declares them.

    map_free_vars: a free variable may consistently be another one on the other side; else it must be the same object.
    spans: compare spans, too, except those of names (operators, constructors, global functions).
    """
    pairs = zip_longest(_tokens(lhs, map_free_vars, spans), _tokens(rhs, map_free_vars, spans))
    return all(left == right for left, right in pairs)


def structural_hash(node: Expr | Program, map_free_vars: bool = False) -> int:
    """Return the hash of an expression or a program, which is the same for structurally equal ones.

    Types that are inferred for one of them alone count, although they are no difference: infer both, or neither.

    map_free_vars: free variables count by the position of their first use; otherwise by identity.
    """
    return hash(tuple(_tokens(node, map_free_vars)))


def structural_digest(node: Expr) -> str:
    """Return 16 hexadecimal digits for an expression, the same in every process; types and exact numbers count.

    Expressions with the same digest are equal; equal ones have the same digest if the same types are known.
    """
    digest = blake2b(digest_size=8)
    for token in _tokens(node, True):
        digest.update(repr(token).encode())
    return digest.hexdigest()


def _tokens(node: Expr | Program, map_free_vars: bool, spans: bool = False) -> Iterator[Token]:
    if isinstance(node, Program):
        for name, data in sorted(node.types.items()):
            yield (name, *_data(data))
        for name, function in sorted(node.functions.items()):
            yield name
            yield from _Walk(map_free_vars, spans).tokens(function)
    else:
        yield from _Walk(map_free_vars, spans).tokens(node)


def _data(data: TypeData) -> Iterator[Token]:
    names: _Types = {name: TypeVar(StringAttr(f"{index}")) for index, name in enumerate(data.type_vars)}
    yield len(names)
    for constructor in data.constructors:
        types = tuple(numbered(substituted(type_, names)) for type_ in constructor.inputs)
        yield (constructor.name_hint, constructor.belong_to, types)


@dataclass(frozen=True, eq=False)
class _Type:
    """A type as it was written and as it was inferred; the second stands for the first if that is omitted."""

    written: Attribute | None
    inferred: Attribute | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Type):
            return False
        return (self.written is None and other.written is None) or self.known == other.known

    def __hash__(self) -> int:
        return hash(self.known)

    @property
    def known(self) -> Attribute | None:
        return self.written or self.inferred

    def __repr__(self) -> str:
        return str(self.known)


@dataclass(frozen=True, eq=False)
class _TypeArguments:
    """Type arguments, which are rarely written: they count only if both sides have them."""

    types: Sequence[Attribute | None]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TypeArguments) and (not self.types or not other.types or self.types == other.types)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return ", ".join(map(str, self.types))


@dataclass(frozen=True, eq=False)
class _Value:
    """The value of an attribute or a constant; arrays are compared bit by bit, so that nan equals nan."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Value) and _same_values(self.value, other.value)

    def __hash__(self) -> int:
        return _hash(self.value)

    def __repr__(self) -> str:
        return repr(_exact(self.value))


def _same_values(lhs: Any, rhs: Any) -> bool:
    if isinstance(lhs, np.ndarray) or isinstance(rhs, np.ndarray):
        return bool(_exact(lhs) == _exact(rhs))
    if isinstance(lhs, tuple) and isinstance(rhs, tuple):
        left, right = cast("tuple[Any, ...]", lhs), cast("tuple[Any, ...]", rhs)
        return len(left) == len(right) and all(map(_same_values, left, right))
    if isinstance(lhs, float) and isinstance(rhs, float) and abs(lhs - rhs) < _CLOSE:
        return True
    # An int may stand for a float or a bool.
    return bool(lhs == rhs)


def _exact(value: Any) -> Any:
    """Return a value that Python compares exactly and as a whole."""
    if not isinstance(value, np.ndarray):
        return value
    array = cast(Array, value)
    return (array.dtype.str, array.shape, array.tobytes())


def _hash(value: Any) -> int:
    """Return a hash that is the same for equal values; True is 1, and close numbers are equal."""
    if isinstance(value, bool | int | float):
        return hash(float(value)) if float(value).is_integer() else 0
    if isinstance(value, tuple):
        return hash(tuple(map(_hash, cast("tuple[Any, ...]", value))))
    return hash(_exact(value) if isinstance(value, np.ndarray) else str(value))


def _both_sides(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes with explicit padding on both sides of all axes if it is written once for both."""
    padding, strides = attributes.get("padding"), attributes.get("strides")
    if isinstance(padding, list | tuple) and isinstance(strides, list | tuple):
        widths, rank = tuple(cast("Sequence[int]", padding)), len(cast("Sequence[int]", strides))
        attributes["padding"] = widths * (2 * rank // len(widths)) if widths else widths
    return attributes


class _Walk:
    """A walk over the nodes of an expression, without recursion; readers come first."""

    def __init__(self, map_free_vars: bool, spans: bool):
        self.map_free_vars = map_free_vars
        self.spans = spans
        self.number = count()
        self.numbers: dict[Expr, int] = {}
        self.types: _Types = {}

    def tokens(self, root: Expr) -> Iterator[Token]:
        stack: list[Expr | _Types] = [root]
        while stack:
            node = stack.pop()
            if not isinstance(node, Expr):
                self.types = node
            elif node in self.numbers:
                yield self.numbers[node]
            else:
                outside = self.types
                yield (type(node).__name__, node.span if self._has_span(node) else None, *self._content(node))
                if outside is not self.types:
                    stack.append(outside)
                stack += reversed(children(node))

    def _has_span(self, node: Expr) -> bool:
        return self.spans and not isinstance(node, Op | GlobalVar | Constructor | Var)

    def _content(self, node: Expr) -> Iterator[Token]:
        """Yield the contents of a node except its parts. Equal leaves, and empty tuples, count as shared."""
        if not is_leaf(node) and not _is_unit(node):
            self.numbers[node] = next(self.number)
        match node:
            case Op():
                yield node.name
            case GlobalVar():
                yield node.name_hint
            case Constructor():
                yield (node.name_hint, node.belong_to)
            case Constant():
                yield _Value(node.data)
            case Var():
                yield self._define(node) if self.map_free_vars else id(node)
            case Tuple():
                yield len(node.fields)
            case TupleGetItem():
                yield node.index
            case Call():
                yield from self._call(node)
            case Function():
                yield from self._function(node)
            case Let():
                yield self._define(node.var)
            case Match():
                yield node.complete
                yield from (self._pattern(clause.lhs) for clause in node.clauses)
            case _:
                return

    def _define(self, var: Var) -> Token:
        """Return the token of a variable where it is bound, or read first."""
        self.numbers[var] = next(self.number)
        return (self._type(var.type_annotation, var.type), var.virtual_device, var.span if self.spans else None)

    def _type(self, written: Any, inferred: Attribute | None) -> _Type:
        return _Type(self._numbered(attribute_of(written)), self._numbered(inferred))

    def _numbered(self, type_: Attribute | None) -> Attribute | None:
        return None if type_ is None else numbered(substituted(type_, self.types) if self.types else type_)

    def _call(self, node: Call) -> Iterator[Token]:
        name = node.op.name if isinstance(node.op, Op) else ""
        yield len(node.args)
        yield _TypeArguments([] if name else [self._numbered(attribute_of(type_)) for type_ in node.type_args])
        yield from _attributes(_both_sides(completed(name, node.attrs)))

    def _function(self, node: Function) -> Iterator[Token]:
        if node.type_params:
            variables = {name: TypeVar(StringAttr(f"#{next(self.number)}")) for name in node.type_params}
            self.types = {**self.types, **variables}
        yield (len(node.params), len(node.type_params))
        yield from map(self._define, node.params)
        yield self._type(node.ret_type, node.body.type)
        yield from _attributes({key: plain(value) for key, value in node.attrs.items()})

    def _pattern(self, pattern: Pattern) -> Token:
        match pattern:
            case PatternVar(var):
                return self._define(var)
            case PatternConstructor(constructor, inner):
                return (constructor.name_hint, constructor.belong_to, *map(self._pattern, inner))
            case PatternTuple(inner):
                return ("tuple", *map(self._pattern, inner))
            case _:
                return "_"


def _is_unit(node: Expr) -> bool:
    return isinstance(node, Tuple) and not node.fields


def _attributes(attributes: dict[str, Any]) -> Iterator[Token]:
    for name in sorted(attributes):
        yield (name, _Value(attributes[name]))
