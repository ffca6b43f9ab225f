"""The table of nodes, with the variables and parts of expressions of each class, and the walks that read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any, TypeVar

from .expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Kind:
    """A class of nodes: the fields that hold expressions, or sequences of them, in the order of TVM's visitors."""

    name: str
    """The name in TVM's visitors: `call` for `visit_call`."""
    binds: Sequence[str] = ()
    """The fields with variables that the node binds."""
    reads: Sequence[str] = ()
    """The fields whose expressions are computed in the scope of the node."""
    opens: Sequence[str] = ()
    """The fields whose parts have own scopes. A clause binds the variables of its pattern and opens a scope."""


_KINDS: dict[type[Expr], Kind] = {
    Constant: Kind("constant"),
    Var: Kind("var"),
    GlobalVar: Kind("global_var"),
    Op: Kind("op"),
    Constructor: Kind("constructor"),
    Tuple: Kind("tuple", reads=("fields",)),
    TupleGetItem: Kind("tuple_getitem", reads=("tuple_value",)),
    Call: Kind("call", reads=("op", "args")),
    Function: Kind("function", binds=("params",), opens=("body",)),
    Let: Kind("let", binds=("var",), reads=("value", "body")),
    If: Kind("if", reads=("cond",), opens=("true_branch", "false_branch")),
    RefCreate: Kind("ref_create", reads=("value",)),
    RefRead: Kind("ref_read", reads=("ref",)),
    RefWrite: Kind("ref_write", reads=("ref", "value")),
    Match: Kind("match", reads=("data",), opens=("clauses",)),
}
_OTHER = Kind("")


def kind_of(node: Expr) -> Kind:
    """Return the row of a node's class; an empty one if it is no expression of Relay."""
    return _KINDS.get(type(node), _OTHER)


def is_leaf(node: Expr) -> bool:
    """Return whether nodes of this class have no parts."""
    kind = kind_of(node)
    return not kind.reads and not kind.opens


def _parts(node: Expr, fields: Sequence[str]) -> list[Any]:
    """Return the expressions, and clauses, in some fields of a node."""
    parts: list[Any] = []
    for name in fields:
        value: Any = getattr(node, name)
        if isinstance(value, Expr):
            parts.append(value)
        else:
            parts += value
    return parts


def children(node: Expr) -> Sequence[Expr]:
    """Return the parts of a node in TVM's order, without the variables that it binds."""
    if isinstance(node, Call):
        # Arguments come before the callee, as TVM's printer and graph executor number them.
        return (*node.args, node.op)
    kind = kind_of(node)
    return [*_parts(node, kind.reads), *scoped(node)] if kind.opens else _parts(node, kind.reads)


def scoped(node: Expr) -> list[Expr]:
    """Return the parts of a node that have own scopes: the body of a function, branches, results of clauses."""
    return [part.rhs if isinstance(part, Clause) else part for part in _parts(node, kind_of(node).opens)]


def placed(node: Expr) -> Iterator[tuple[Expr, int | None]]:
    """Yield each part of a node, with the number of the scope that the node opens for it, or None."""
    yield from ((part, None) for part in _parts(node, kind_of(node).reads))
    yield from ((part, index) for index, part in enumerate(scoped(node)))


def visited(node: Expr) -> Sequence[Expr]:
    """Return the nodes in the order of TVM's visitors: callees before arguments, variables before their readers."""
    if isinstance(node, Match):
        return [node.data, *(part for clause in node.clauses for part in (*pattern_vars(clause.lhs), clause.rhs))]
    kind = kind_of(node)
    return _parts(node, (*kind.binds, *kind.reads, *kind.opens))


def binds(node: Expr) -> list[Var]:
    """Return the variables that a node binds."""
    if isinstance(node, Match):
        return [var for clause in node.clauses for var in pattern_vars(clause.lhs)]
    return _parts(node, kind_of(node).binds)


def changed(
    node: Expr, new: Callable[[Expr], Any], pattern: Callable[[Pattern], Pattern] | None = None
) -> dict[str, Any]:
    """Return the fields of a node that `new` changes; it gets the parts in the order of `visited`.

    pattern: returns new patterns of clauses; without it, the variables that the node binds stay.
    """
    kind = kind_of(node)
    parts: dict[str, Any] = {}
    for name in (*(kind.binds if pattern is not None else ()), *kind.reads, *kind.opens):
        before: Any = getattr(node, name)
        after = _after(before, new, pattern)
        if after is not before:
            parts[name] = after
    return parts


def _after(value: Any, new: Callable[[Expr], Any], pattern: Callable[[Pattern], Pattern] | None) -> Any:
    if isinstance(value, Expr):
        return new(value)
    if not isinstance(value, Clause):
        return mapped(value, lambda item: _after(item, new, pattern))
    lhs, rhs = pattern(value.lhs) if pattern is not None else value.lhs, new(value.rhs)
    return value if lhs is value.lhs and rhs is value.rhs else Clause(lhs, rhs)


def mapped(items: Sequence[T], change: Callable[[T], T]) -> Sequence[T]:
    """Return the results of `change` for items; the same sequence if each is the same object."""
    after = list(map(change, items))
    return items if all(map(is_, items, after)) else after


def pattern_vars(pattern: Pattern) -> list[Var]:
    """Return the variables that a pattern binds, in order."""
    if isinstance(pattern, PatternVar):
        return [pattern.var]
    inner = pattern.patterns if isinstance(pattern, PatternConstructor | PatternTuple) else ()
    return [var for nested in inner for var in pattern_vars(nested)]


def with_vars(pattern: Pattern, renamed: Callable[[Var], Var]) -> Pattern:
    """Return a pattern with renamed variables; the same one if all are the same."""
    if isinstance(pattern, PatternVar):
        var = renamed(pattern.var)
        return pattern if var is pattern.var else PatternVar(var)
    if not isinstance(pattern, PatternConstructor | PatternTuple):
        return pattern
    inner = mapped(pattern.patterns, lambda nested: with_vars(nested, renamed))
    return pattern if inner is pattern.patterns else replace(pattern, patterns=inner)


def post_order(root: Expr, apart: Iterable[Expr] = ()) -> Iterator[Expr]:
    """Yield every node below `root` once, after its parts, except nodes `apart` and those that only these read."""
    seen = set(apart)
    stack = [(root, iter(children(root)))]
    while stack:
        node, unvisited = stack[-1]
        for child in unvisited:
            if child not in seen:
                stack.append((child, iter(children(child))))
                break
        else:
            stack.pop()
            if node not in seen:
                seen.add(node)
                yield node


def free_vars(root: Expr) -> list[Var]:
    """Return the variables that `root` reads and nothing in it binds, in the order of first use."""
    nodes = list(post_order(root))
    bound = {var for node in nodes for var in binds(node)}
    return [node for node in nodes if isinstance(node, Var) and node not in bound]
