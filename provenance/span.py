"""Spans and their MLIR form, the location: conversions, leaves, and `fuse`.

A *leaf* is the location of one layer, `NameLoc("conv1", FileLineColLoc("model.onnx", node index, 0))`. Where the source
says which calls led to it, these are call sites inside of the leaf, `NameLoc("conv1", CallSiteLoc(innermost, caller))`.
A `FusedLoc` of leaves is what TVM calls a SequentialSpan. Locations are attributes: immutable and shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

_NONE = NoneAttr()
UNWRITTEN = "<expression>"
"""The file of layers that nobody named or wrote: expressions of Python without spans, which get names of their own."""
_CACHE_LIMIT = 1 << 16
_CACHED_LEAVES = 64
Caller: TypeAlias = "tuple[str, int]"
"""File and line of a call."""


class Position(NamedTuple):
    """A position in a source: of a model, `line` is the number of the node."""

    file: str
    line: int
    column: int = 0


def layer_location(name: str, file: str, index: int, column: int = 0, callers: tuple[Caller, ...] = ()) -> NameLoc:
    """The leaf of the layer `name`, node number `index` of `file` (for text: its line and column).

    callers: file and line of the calls that led there, the innermost first. Equal arguments give the same object.
    """
    return _layer_location(name, file, index, column, callers)


@lru_cache(_CACHE_LIMIT)
def _layer_location(name: str, file: str, index: int, column: int, callers: tuple[Caller, ...]) -> NameLoc:
    chain = [Position(file, index, column), *(Position(*caller) for caller in callers)]
    *inner, outermost = [FileLineColLoc(StringAttr(at.file), IntAttr(at.line), IntAttr(at.column)) for at in chain]
    location: LocationAttr = outermost
    for call in reversed(inner):
        location = CallSiteLoc(call, location)
    return NameLoc(StringAttr(name), location)


def positions(leaf: Attribute) -> tuple[Position, ...]:
    """Return the position of a leaf, then the calls that led there; empty for a leaf that is only a name."""
    result: list[Position] = []
    waiting: list[Attribute] = [leaf]
    while waiting:
        match waiting.pop():
            case FileLineColLoc(filename=file, line=line, column=column):
                result.append(Position(file.data, line.data, column.data))
            case NameLoc(location=inner):
                waiting.append(inner)
            case CallSiteLoc(callee=callee, caller=caller):
                waiting += [caller, callee]
            case _:
                continue
    return tuple(result)


@lru_cache(_CACHE_LIMIT)
def _name_location(name: str) -> NameLoc:
    return NameLoc(StringAttr(name), _NONE)


def is_known(location: LocationAttr) -> bool:
    return location.__class__ is not UnknownLoc


def _flatten(location: Attribute, out: list[LocationAttr]) -> None:
    if location.__class__ is NameLoc:
        out.append(cast(NameLoc, location))
        return
    match location:
        case UnknownLoc():
            return
        case FusedLoc():
            for inner in cast(ArrayAttr[Attribute], location.locations):
                _flatten(inner, out)
        case CallSiteLoc():
            _flatten(location.callee, out)
            _flatten(location.caller, out)
        case FileLineColLoc() | NameLoc():
            out.append(location)
        case _:
            raise TypeError(f"not a location: {location}")


# As for `fuse`: hashing the leaves of a location costs more than finding them, and ops share locations.
_leaves: dict[int, tuple[LocationAttr, tuple[LocationAttr, ...]]] = {}


def leaves(location: LocationAttr) -> tuple[LocationAttr, ...]:
    """The leaves of a location in order, each once. An unknown location has none."""
    kind = location.__class__
    if kind is NameLoc or kind is FileLineColLoc:
        return (location,)
    if kind is UnknownLoc:
        return ()
    if (hit := _leaves.get(id(location))) is not None:
        return hit[1]
    flat: list[LocationAttr] = []
    _flatten(location, flat)
    result = tuple(dict.fromkeys(flat))
    if len(flat) <= _CACHED_LEAVES:
        if len(_leaves) >= _CACHE_LIMIT:
            _leaves.clear()
        _leaves[id(location)] = location, result
    return result


def layer_names(location: LocationAttr) -> tuple[str, ...]:
    """The layer names behind a location, in order; a leaf without a name is shown as `file:line:column`."""
    return tuple(dict.fromkeys(leaf_name(leaf) for leaf in leaves(location)))


def leaf_name(leaf: LocationAttr) -> str:
    match leaf:
        case NameLoc():
            return leaf.desc.data
        case FileLineColLoc():
            return f"{leaf.filename.data}:{leaf.line.data}:{leaf.column.data}"
        case _:
            return str(leaf)


# Fusing the same few locations again and again is the common case, and hashing a location costs more than the rest of
# `fuse`. The cache is keyed by identity; each entry holds its inputs, so that an identity cannot be reused.
_fused: dict[tuple[int, ...], tuple[tuple[LocationAttr, ...], LocationAttr]] = {}


def fuse(locations: Iterable[LocationAttr]) -> LocationAttr:
    """Return one location for several: flat, without unknowns and duplicates, in order.

    None known -> unknown; one -> itself.
    """
    distinct = {id(location): location for location in locations if location.__class__ is not UnknownLoc}
    members = tuple(distinct.values())
    if len(members) <= 1:
        return members[0] if members else UNKNOWN_LOC
    key = tuple(distinct)
    if (hit := _fused.get(key)) is not None:
        return hit[1]
    flat: list[LocationAttr] = []
    for location in members:
        _flatten(location, flat)
    unique = tuple(dict.fromkeys(flat))
    result = unique[0] if len(unique) == 1 else FusedLoc(unique, _NONE)
    if len(flat) <= _CACHED_LEAVES and len(members) <= _CACHED_LEAVES:
        if len(_fused) >= _CACHE_LIMIT:
            _fused.clear()
        _fused[key] = (members, result)
    return result


@dataclass(frozen=True)
class SourceName:
    """The name of a source; equal names are the same source."""

    name: str


@dataclass(frozen=True)
class Span:
    """A place in a source, fields in the order of TVM's constructor.

    Of a text, `source_name` is the text's name; of a layer, the layer's, and `file` is the one where it is node `line`.
    """

    source_name: SourceName | None
    line: int = 0
    end_line: int = 0
    column: int = 0
    end_column: int = 0
    file: str = ""
    callers: tuple[Caller, ...] = ()
    """The calls that led to the position of a layer, the innermost first."""

    def same_as(self, other: object) -> bool:
        """Return whether it is the same object."""
        return self is other

    @property
    def location(self) -> LocationAttr:
        """The MLIR form. MLIR has no ranges: `end_line` and `end_column` are not kept."""
        if self.source_name is None or (self.line and not self.file):
            name = self.source_name.name if self.source_name is not None else self.file
            return FileLineColLoc(StringAttr(name), IntAttr(self.line), IntAttr(self.column))
        if not self.file and not self.column:
            return _name_location(self.source_name.name)
        return layer_location(self.source_name.name, self.file, self.line, self.column, self.callers)

    @staticmethod
    def of(location: LocationAttr) -> Span | SequentialSpan | None:
        """The span of a location: None for unknown, a SequentialSpan for a fused one."""
        match location:
            case UnknownLoc():
                return None
            case FusedLoc():
                return SequentialSpan([location])
            case NameLoc(desc=name):
                if not (chain := positions(location)):
                    return Span(SourceName(name.data))
                (file, line, column), callers = chain[0], tuple(caller[:2] for caller in chain[1:])
                return Span(
                    source_name=SourceName(name.data),
                    line=line,
                    end_line=line,
                    column=column,
                    end_column=column,
                    file=file,
                    callers=callers,
                )
            case FileLineColLoc():
                line, column = location.line.data, location.column.data
                return Span(SourceName(location.filename.data), line, line, column, column)
            case CallSiteLoc():
                return SequentialSpan([location])

    def merge(self, other: Span) -> Span:
        """The smallest span that covers both.

        Raises ValueError when their sources differ.
        """
        if (self.source_name, self.file) != (other.source_name, other.file):
            sources = f"{self.source_name} and {other.source_name}"
            raise ValueError(f"Span.merge: expected spans of one source, got {sources}")
        return Span(
            source_name=self.source_name,
            line=min(self.line, other.line),
            end_line=max(self.end_line, other.end_line),
            column=min(self.column, other.column),
            end_column=max(self.end_column, other.end_column),
            file=self.file,
            callers=self.callers if self.callers == other.callers else (),
        )

    def __str__(self) -> str:
        name = self.source_name.name if self.source_name else self.file
        return f"{name}:{self.line}:{self.column}"


class SequentialSpan(Span):
    """An ordered list of spans, flat, duplicates kept, possibly empty (TVM's RFC 92). It has no position of its own."""

    spans: tuple[Span, ...]

    def __init__(self, spans: Sequence[Span | LocationAttr]):
        super().__init__(None)
        flat: list[Span] = []
        for span in spans:
            if isinstance(span, SequentialSpan):
                flat.extend(span.spans)
            elif isinstance(span, Span):
                flat.append(span)
            else:
                parts: list[LocationAttr] = []
                _flatten(span, parts)
                converted = (Span.of(leaf) for leaf in parts)
                flat.extend(span for span in converted if span is not None and not isinstance(span, SequentialSpan))
        object.__setattr__(self, "spans", tuple(flat))

    @property
    def location(self) -> LocationAttr:
        """The MLIR form, where duplicates collapse."""
        return fuse(span.location for span in self.spans)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SequentialSpan) and self.spans == other.spans

    def __hash__(self) -> int:
        return hash(self.spans)

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"SequentialSpan([ {', '.join(map(str, self.spans))} ])" if self.spans else "SequentialSpan([])"


def value_location(value: SSAValue) -> LocationAttr:
    """Return the location of a value: that of its op, or of the block argument."""
    if isinstance(value, BlockArgument):
        return value.location
    assert isinstance(value, OpResult)
    return value.op.location
