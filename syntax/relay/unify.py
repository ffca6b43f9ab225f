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
"""Of a type, tuples and functions in it and what they are made of included."""

HOLE = TypeVar(StringAttr("_"))
"""`_` in an annotation: a type to be found."""


_KINDS: dict[type[Attribute], str] = {TupleType: "tuple", FunctionType: "function", RefType: "reference"}


def is_open(type_: Attribute) -> bool:
    """Return whether a type has `_` in it."""
    return any(inner == HOLE for inner in types_in(type_))


class Mismatch(Exception):
    """Two types do not fit each other."""


@dataclass(eq=False)
class Hole:
    """A type not known yet; `found` once it is."""

    found: Term | None = None


@dataclass(frozen=True)
class Made:
    """A type made of others, some of which may have holes."""

    kind: str
    parts: tuple[Term, ...]


Term: TypeAlias = "Attribute | Hole | Made"


def found(term: Term) -> Term:
    """Return what a hole stands for, as far as it is known."""
    path: list[Hole] = []
    while isinstance(term, Hole) and term.found is not None:
        path.append(term)
        term = term.found
    for hole in path:
        hole.found = term
    return term


def term_of(type_: Attribute, given: Mapping[str, Term] | None = None) -> Term:
    """A type with a new hole for each `_`, and terms in the place of type variables."""
    given = given or {}
    if isinstance(type_, TypeVar):
        if type_ == HOLE:
            return Hole()
        return given.get(type_.hint.data, type_)
    if isinstance(type_, Forall) or (parts := _parts(type_)) is None:
        if given and all(isinstance(value, Attribute) for value in given.values()):
            return substituted(type_, cast(dict[str, Attribute], dict(given)))
        return type_
    kind, inner = parts
    terms = tuple(term_of(part, given) for part in inner)
    return type_ if all(a is b for a, b in zip(terms, inner, strict=True)) else Made(kind, terms)


def _parts(type_: Attribute) -> tuple[str, tuple[Attribute, ...]] | None:
    """Return a type's kind and parts; None for tensors, type variables and polymorphic functions."""
    parts = parts_of(type_)
    if parts is None or isinstance(type_, Forall):
        return None
    return type_.definition.string_value() if isinstance(type_, AdtType) else _KINDS[type(type_)], parts


def made(kind: str, parts: Sequence[Attribute]) -> Attribute:
    """The inverse of `_parts`."""
    match kind:
        case "tuple":
            return tuple_type(parts)
        case "function":
            return FunctionType.from_lists(list(parts[:-1]), [parts[-1]])
        case "reference":
            return RefType(cast(TypeAttribute, parts[0]))
        case _:
            return adt_type(kind, parts)


def instance(type_: Attribute, given: Sequence[Attribute] = ()) -> Term:
    """The type of one use of a polymorphic function, with holes or the given types for its variables."""
    if not isinstance(type_, Forall):
        return type_
    names = [name.data for name in type_.params]
    if given and len(given) != len(names):
        raise Mismatch(f"{len(names)} type arguments", str(len(given)))
    terms: list[Term] = list(given) if given else [Hole() for _ in names]
    return term_of(type_.body, dict(zip(names, terms, strict=True)))


def check_size(term: Term, name: str = "type", location: LocationAttr | None = None) -> None:
    """Raise FrontendError for a type of more than MOST_PARTS parts, each counted wherever it stands.

    A tuple that holds the one before twice is short as a program, and as a type twice as long as that.
    """
    counts: dict[int, int] = {}
    stack = [found(term)]
    while stack:
        inner = stack[-1]
        whole = _made(inner)
        parts = [] if whole is None else [found(part) for part in whole.parts]
        if id(inner) in counts:
            stack.pop()
        elif missing := [part for part in parts if id(part) not in counts]:
            stack += missing
        else:
            counts[id(inner)] = 1 + sum(counts[id(part)] for part in parts)
        if len(stack) > MOST_PARTS or counts.get(id(inner), 0) > MOST_PARTS:
            raise FrontendError(message(name, f"a type of at most {MOST_PARTS} parts", "one of more", location))


def resolved(term: Term) -> Attribute | None:
    """The type that a term stands for; None while it has holes. Raises FrontendError as `check_size` does."""
    if isinstance(found(term), Made):
        check_size(term)
    return _resolved(term)


def _resolved(term: Term) -> Attribute | None:
    term = found(term)
    if isinstance(term, Attribute):
        return term
    if isinstance(term, Hole):
        return None
    parts = [_resolved(part) for part in term.parts]
    return None if any(part is None for part in parts) else made(term.kind, cast(list[Attribute], parts))


def shown(term: Term, spell: Callable[[Attribute], str] = str) -> str:
    """A term for an error, `_` for what is not known."""
    term = found(term)
    check_size(term)
    if isinstance(term, Hole):
        return "_"
    if isinstance(term, Attribute):
        return spell(term)
    return spell(made(term.kind, [_known(part) for part in term.parts]))


def _known(term: Term) -> Attribute:
    term = found(term)
    if isinstance(term, Made):
        return made(term.kind, [_known(part) for part in term.parts])
    return HOLE if isinstance(term, Hole) else term


def unify(expected: Term, got: Term) -> None:
    """Make two types one; raises Mismatch. An extent `?` fits every extent."""
    stack = [(expected, got)]
    seen: dict[tuple[int, int], tuple[Term, Term]] = {}
    while stack:
        first, second = map(found, stack.pop())
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
            left, right = _made(first), _made(second)
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
    hole.found = term


def _occurs(hole: Hole, term: Term) -> bool:
    stack, seen = [term], set[int]()
    while stack:
        inner = found(stack.pop())
        if inner is hole:
            return True
        if isinstance(inner, Made) and id(inner) not in seen:
            seen.add(id(inner))
            stack.extend(inner.parts)
    return False


def _made(term: Term) -> Made | None:
    if isinstance(term, Made):
        return term
    if isinstance(term, Forall):
        # A polymorphic function stands for one of its instances.
        return _made(instance(term))
    parts = _parts(term) if isinstance(term, Attribute) else None
    return Made(*parts) if parts is not None else None
