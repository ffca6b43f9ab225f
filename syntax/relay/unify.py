"""Types with holes, and their unification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects.builtin import FunctionType, LocationAttr, StringAttr, TupleType
from xdsl.ir import Attribute, TypeAttribute

from ...dialects.relay.types import (
    AdtType,
    Forall,
    RefType,
    TypeVar,
    adt_type,
    fits,
    parts_of,
    substituted,
    tuple_type,
    types_in,
)
from ...provenance.diagnostics import message
from ...support.errors import FrontendError

MOST_PARTS = 1 << 13
"""The maximal number of parts of a type, including the parts of tuples and functions in it."""

HOLE = TypeVar(StringAttr("_"))
"""`_` in an annotation: a type for inference to find."""


_KINDS: dict[type[Attribute], str] = {TupleType: "tuple", FunctionType: "function", RefType: "reference"}


def is_open(type_: Attribute) -> bool:
    """Return whether a type has `_` in it."""
    return any(inner == HOLE for inner in types_in(type_))


class Mismatch(Exception):
    """Two types do not fit each other."""


@dataclass(eq=False)
class Hole:
    """A type that is not known yet; once it is, `term` holds it."""

    term: Term | None = None


@dataclass(frozen=True)
class Compound:
    """A type constructor applied to types, some of which may have holes."""

    kind: str
    parts: tuple[Term, ...]


Term: TypeAlias = "Attribute | Hole | Compound"


def pruned(term: Term) -> Term:
    """Return the term that a hole stands for, as far as it is known."""
    path: list[Hole] = []
    while isinstance(term, Hole) and term.term is not None:
        path.append(term)
        term = term.term
    for hole in path:
        hole.term = term
    return term


def term_of(type_: Attribute, variables: Mapping[str, Term] | None = None) -> Term:
    """Return a type with a new hole for each `_`, and with terms for type variables."""
    variables = variables or {}
    if isinstance(type_, TypeVar):
        if type_ == HOLE:
            return Hole()
        return variables.get(type_.hint.data, type_)
    if isinstance(type_, Forall) or (split := _parts(type_)) is None:
        if variables and all(isinstance(value, Attribute) for value in variables.values()):
            return substituted(type_, cast(dict[str, Attribute], dict(variables)))
        return type_
    kind, parts = split
    terms = tuple(term_of(part, variables) for part in parts)
    return type_ if all(a is b for a, b in zip(terms, parts, strict=True)) else Compound(kind, terms)


def _parts(type_: Attribute) -> tuple[str, tuple[Attribute, ...]] | None:
    """Return a type's kind and parts; None for tensors, type variables and polymorphic functions."""
    parts = parts_of(type_)
    if parts is None or isinstance(type_, Forall):
        return None
    return type_.definition.string_value() if isinstance(type_, AdtType) else _KINDS[type(type_)], parts


def attribute_of(kind: str, parts: Sequence[Attribute]) -> Attribute:
    """Return the type with a kind and parts."""
    match kind:
        case "tuple":
            return tuple_type(parts)
        case "function":
            return FunctionType.from_lists(list(parts[:-1]), [parts[-1]])
        case "reference":
            return RefType(cast(TypeAttribute, parts[0]))
        case _:
            return adt_type(kind, parts)


def instance(type_: Attribute, arguments: Sequence[Attribute] = ()) -> Term:
    """Return the type of one use of a polymorphic function, with type arguments or holes for its variables."""
    if not isinstance(type_, Forall):
        return type_
    names = [name.data for name in type_.params]
    if arguments and len(arguments) != len(names):
        raise Mismatch(f"{len(names)} type arguments", str(len(arguments)))
    terms: list[Term] = list(arguments) if arguments else [Hole() for _ in names]
    return term_of(type_.body, dict(zip(names, terms, strict=True)))


def check_size(term: Term, name: str = "type", location: LocationAttr | None = None) -> None:
    """Raise FrontendError for a type of more than MOST_PARTS parts; a shared part counts at each use.

    A chain of tuples, each of which holds the one before twice, is a short program, but its type doubles at each step.
    """
    counts: dict[int, int] = {}
    stack = [pruned(term)]
    while stack:
        inner = stack[-1]
        compound = _compound(inner)
        parts = [] if compound is None else [pruned(part) for part in compound.parts]
        if id(inner) in counts:
            stack.pop()
        elif missing := [part for part in parts if id(part) not in counts]:
            stack += missing
        else:
            counts[id(inner)] = 1 + sum(counts[id(part)] for part in parts)
        if len(stack) > MOST_PARTS or counts.get(id(inner), 0) > MOST_PARTS:
            raise FrontendError(message(name, f"a type of at most {MOST_PARTS} parts", "one of more", location))


def resolved(term: Term) -> Attribute | None:
    """Return the type that a term stands for; None while it has holes. Raises the errors of `check_size`."""
    if isinstance(pruned(term), Compound):
        check_size(term)
    return _resolved(term)


def _resolved(term: Term) -> Attribute | None:
    term = pruned(term)
    if isinstance(term, Attribute):
        return term
    if isinstance(term, Hole):
        return None
    parts = [_resolved(part) for part in term.parts]
    return None if any(part is None for part in parts) else attribute_of(term.kind, cast(list[Attribute], parts))


def shown(term: Term, spell: Callable[[Attribute], str] = str) -> str:
    """Return a term as text for errors, with `_` for unknown types."""
    term = pruned(term)
    check_size(term)
    if isinstance(term, Hole):
        return "_"
    if isinstance(term, Attribute):
        return spell(term)
    return spell(attribute_of(term.kind, [_known(part) for part in term.parts]))


def _known(term: Term) -> Attribute:
    term = pruned(term)
    if isinstance(term, Compound):
        return attribute_of(term.kind, [_known(part) for part in term.parts])
    return HOLE if isinstance(term, Hole) else term


def unify(expected: Term, actual: Term) -> None:
    """Unify two types; raises Mismatch. An extent `?` fits every extent."""
    stack = [(expected, actual)]
    seen: dict[tuple[int, int], tuple[Term, Term]] = {}
    while stack:
        first, second = map(pruned, stack.pop())
        if first is second or (id(first), id(second)) in seen:
            continue
        seen[id(first), id(second)] = first, second
        if isinstance(first, Hole):
            _bind(first, second)
        elif isinstance(second, Hole):
            _bind(second, first)
        elif isinstance(first, Attribute) and isinstance(second, Attribute) and first == second:
            continue
        else:
            left, right = _compound(first), _compound(second)
            if isinstance(first, Attribute) and isinstance(second, Attribute) and left is right:
                if not fits(first, second):
                    raise Mismatch
                continue
            if left is None or right is None or left.kind != right.kind or len(left.parts) != len(right.parts):
                raise Mismatch
            stack.extend(zip(left.parts, right.parts, strict=True))


def _bind(hole: Hole, term: Term) -> None:
    if _occurs(hole, term):
        raise Mismatch
    hole.term = term


def _occurs(hole: Hole, term: Term) -> bool:
    stack, seen = [term], set[int]()
    while stack:
        inner = pruned(stack.pop())
        if inner is hole:
            return True
        if isinstance(inner, Compound) and id(inner) not in seen:
            seen.add(id(inner))
            stack.extend(inner.parts)
    return False


def _compound(term: Term) -> Compound | None:
    if isinstance(term, Compound):
        return term
    if isinstance(term, Forall):
        # A polymorphic function stands for one of its instances.
        return _compound(instance(term))
    parts = _parts(term) if isinstance(term, Attribute) else None
    return Compound(*parts) if parts is not None else None
