"""Structural equality and hash of expressions and programs, as TVM has them: names do not count, sharing does.

Both read the *tokens* of an expression: each node once and numbered, in the order of a walk from the root. Two
expressions are equal where their tokens are, one by one. Ops are compared as the expressions that `view.py` shows.
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
"""Attributes that differ by less are equal: 1e-5 is the float32 next to it."""


def structural_equal(
    lhs: Expr | Program, rhs: Expr | Program, map_free_vars: bool = False, spans: bool = False
) -> bool:
    """Return whether two expressions or programs are the same but for the names of variables.

    A graph is compared as one: what is read twice here is read twice there, so that `%0 = x + y; %0 + %0` is not
    `(x + y) + (x + y)`. Types that inference found count only where the other side has them written.

    map_free_vars: a free variable here may be another one there, the same everywhere; otherwise it is the same object.
    spans: whether spans count, those of names (operators, constructors, global functions) apart.
    """
    both = zip_longest(_tokens(lhs, map_free_vars, spans), _tokens(rhs, map_free_vars, spans))
    return all(mine == other for mine, other in both)


def structural_hash(what: Expr | Program, map_free_vars: bool = False) -> int:
    """The hash of an expression or a program, the same for what is structurally equal.

    map_free_vars: free variables count by where they are read first; otherwise each is itself.
    """
    return hash(tuple(_tokens(what, map_free_vars)))


def structural_digest(what: Expr) -> str:
    """16 hexadecimal digits for an expression, the same in every process; types and all digits of numbers count.

    Two expressions that have it in common are equal; equal ones have it in common where the same types are known.
    """
    digest = blake2b(digest_size=8)
    for token in _tokens(what, True):
        digest.update(repr(token).encode())
    return digest.hexdigest()


def _tokens(what: Expr | Program, map_free_vars: bool, spans: bool = False) -> Iterator[Token]:
    if isinstance(what, Program):
        for name, data in sorted(what.types.items()):
            yield (name, *_data(data))
        for name, function in sorted(what.functions.items()):
            yield name
            yield from _Walk(map_free_vars, spans).tokens(function)
    else:
        yield from _Walk(map_free_vars, spans).tokens(what)


def _data(data: TypeData) -> Iterator[Token]:
    names: _Types = {name: TypeVar(StringAttr(f"{index}")) for index, name in enumerate(data.type_vars)}
    yield len(names)
    for constructor in data.constructors:
        types = tuple(numbered(substituted(type_, names)) for type_ in constructor.inputs)
        yield (constructor.name_hint, constructor.belong_to, types)


@dataclass(frozen=True, eq=False)
class _Type:
    """A type as it was written, and as inference found it: where it is left out, the second stands for the first."""

    written: Attribute | None
    inferred: Attribute | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Type):
            return False
        return (self.written is None and other.written is None) or self.known == other.known

    def __hash__(self) -> int:
        return 0

    @property
    def known(self) -> Attribute | None:
        return self.written or self.inferred

    def __repr__(self) -> str:
        return str(self.known)


@dataclass(frozen=True, eq=False)
class _TypeArguments:
    """Types that are written by few, and found by inference: they count where both sides have them."""

    types: Sequence[Attribute | None]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TypeArguments) and (not self.types or not other.types or self.types == other.types)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return ", ".join(map(str, self.types))


@dataclass(frozen=True, eq=False)
class _Value:
    """The value of an attribute, or a constant: an array, which counts bit by bit, so that nan is nan; or another."""

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
        one, other = cast("tuple[Any, ...]", lhs), cast("tuple[Any, ...]", rhs)
        return len(one) == len(other) and all(map(_same_values, one, other))
    if isinstance(lhs, float) and isinstance(rhs, float) and abs(lhs - rhs) < _CLOSE:
        return True
    # An int where a float or a bool is declared becomes one.
    return bool(lhs == rhs)


def _exact(value: Any) -> Any:
    """A value of which Python compares all."""
    if not isinstance(value, np.ndarray):
        return value
    array = cast(Array, value)
    return (array.dtype.str, array.shape, array.tobytes())


def _hash(value: Any) -> int:
    """A hash that equal values have in common: True is 1, and numbers that are close are equal."""
    if isinstance(value, bool | int | float):
        return hash(float(value)) if float(value).is_integer() else 0
    if isinstance(value, tuple):
        return hash(tuple(map(_hash, cast("tuple[Any, ...]", value))))
    return hash(_exact(value) if isinstance(value, np.ndarray) else str(value))


def _both_sides(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes with padding before and after all axes, where it is written once for both."""
    padding, strides = attributes.get("padding"), attributes.get("strides")
    if isinstance(padding, list | tuple) and isinstance(strides, list | tuple):
        written, axes = tuple(cast("Sequence[int]", padding)), len(cast("Sequence[int]", strides))
        attributes["padding"] = written * (2 * axes // len(written)) if written else written
    return attributes


class _Walk:
    """A walk over the nodes of an expression, without recursion: each after those that read it."""

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
        """Yield what a node is besides its parts. Leaves and the tuple of nothing are as good as equal ones."""
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
        """A variable where it is bound, or read first."""
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
            own = {name: TypeVar(StringAttr(f"#{next(self.number)}")) for name in node.type_params}
            self.types = {**self.types, **own}
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
