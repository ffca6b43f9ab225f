"""Structural equality, hash and first mismatch of expressions and statements of tir, functions, and containers.

Names of variables do not count: those that an object defines, as a loop does, are equal to those that the other defines
in the same place; free ones only to themselves, unless `map_free_vars`. Sharing does not count, nor do locations, nor
that primitives made a function (`tir.is_scheduled`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np

from whence.arith.iter_map import IterMapExpr, IterMark
from whence.dialects.tir import SCHEDULED
from whence.runtime.object_path import ObjectPath
from whence.support.dtypes import Array, is_float
from whence.support.errors import ScheduleError
from whence.te.language import expr as te
from whence.te.language.blocks import Block, BufferRegion, IterVar, MatchBufferRegion
from whence.te.language.expr import convert
from whence.te.language.lanes import Let
from whence.te.language.reductions import Reduce
from whence.te.language.statements import Allocate, Buffer, For, LetStmt, Stmt, StringImm
from whence.tir.function import PrimFunc

Mismatch = tuple[ObjectPath, ObjectPath]
_Pair = tuple[Any, Any, ObjectPath, ObjectPath, bool]
"""Two objects, their paths, and whether they are variables that are defined there."""
_NUMBERS = (te.Expr, int, float)
_VARIABLES = (te.Var, te.Axis, Buffer)
_PARTS = (IterVar, BufferRegion, MatchBufferRegion)
COMPARED = (te.Expr, IterMark, Stmt, *_PARTS, Buffer, PrimFunc, StringImm, np.ndarray, list, tuple, dict)
"""The classes of what has a structure here."""

_BLOCK = ("iter_vars", "alloc_buffers", "match_buffers", "reads", "writes", "init", "body", "annotations")
"""The parts of a block, what it defines first."""
_REGIONS = ("reads", "writes")
"""The parts of a block that are None where they follow from its statements: they are compared where both have them."""


@dataclass(frozen=True)
class _Node:
    """The parts of an object by the names of its attributes; `defines` are variables of it, in what follows."""

    kind: Hashable
    parts: tuple[tuple[str, Any], ...] = ()
    defines: tuple[Any, ...] = ()


def _node(value: Any) -> _Node:
    match value:
        case te.Const():
            kind = "FloatImm" if is_float(value.dtype) else "IntImm"
            return _Node(kind, (("dtype", value.dtype), ("value", value.value)))
        case te.Binary() | te.Compare():
            return _Node((type(value), value.op), (("a", value.a), ("b", value.b)))
        case te.Not():
            return _Node(te.Not, (("a", value.a),))
        case te.Select():
            sides = (("true_value", value.true_value), ("false_value", value.false_value))
            return _Node((te.Select, value.guarded), (("condition", value.condition), *sides))
        case te.Cast() | te.Reinterpret():
            return _Node(type(value), (("dtype", value.dtype), ("value", value.a)))
        case te.Call():
            return _Node(te.Call, (("op", value.name), ("args", (value.a,))))
        case te.CallExtern():
            return _Node(te.CallExtern, (("dtype", value.dtype), ("op", value.callee), ("args", value.arguments)))
        case Let():
            return _Node(Let, (("var", value.var), ("value", value.value), ("body", value.body)), (value.var,))
        case te.Joint():
            return _Node(te.Joint, (("dtype", value.dtype), ("op", value.op), ("args", value.parts)))
        case te.Read():
            return _Node(
                te.Read, (("buffer", value.buffer), ("indices", value.indices), ("otherwise", value.otherwise))
            )
        case Reduce():
            parts = (("source", value.values), ("condition", value.condition), ("value_index", value.index))
            reducer = value.combiner or value.reducer
            return _Node(
                Reduce, (("combiner", reducer), ("axis", value.axes), *parts, ("init", value.init)), value.axes
            )
        case te.SizeNumber():
            return _Node(te.SizeNumber, (("value", str(value.value)), ("dtype", value.dtype)))
        case StringImm():
            return _Node(StringImm, (("value", value.value),))
        case PrimFunc():
            defined = (*value.params, *value.buffer_map.values())
            attrs = {key: note for key, note in value.attrs.items() if key != SCHEDULED}
            maps = (("buffer_map", value.buffer_map), ("body", value.body), ("attrs", attrs))
            return _Node(PrimFunc, (("params", value.params), *maps), defined)
        case For():
            return _Node(For, _attributes(value), (value.loop_var,))
        case LetStmt():
            return _Node(LetStmt, _attributes(value), (value.var,))
        case Allocate():
            return _Node(Allocate, _attributes(value), (value.buffer,))
        case IterVar():
            return _Node(
                IterVar, (("dom", value.dom), ("var", value.var), ("iter_type", value.iter_type)), (value.var,)
            )
        case BufferRegion() | MatchBufferRegion():
            return _Node(type(value), _attributes(value), (value.buffer,) * isinstance(value, MatchBufferRegion))
        case Block():
            return _Node(Block, tuple((name, getattr(value, name)) for name in _BLOCK))
        case Stmt() | IterMark() | IterMapExpr():
            return _Node(type(value), _attributes(value))
        case _:
            raise AssertionError(f"an object with a structure, got {type(value).__name__}")


def _attributes(stmt: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((one.name, getattr(stmt, one.name)) for one in fields(stmt) if one.name != "location")


def _declared(variable: Any) -> tuple[tuple[str, Any], ...]:
    """The declaration of a variable, which is all that counts of those that are defined."""
    match variable:
        case Buffer():
            shape = tuple(convert(cast("Any", extent)) for extent in variable.shape)
            return ("shape", shape), ("dtype", variable.dtype), ("scope", variable.scope())
        case te.Axis():
            return ("min", variable.start), ("extent", variable.extent), ("iter_type", variable.iter_type)
        case _:
            return (("dtype", variable.dtype),)


class _Comparison:
    """The state of a comparison: variables that stand for one another."""

    def __init__(self, map_free_vars: bool):
        self._free = map_free_vars
        self._forth: dict[int, Any] = {}
        self._back: dict[int, Any] = {}
        self._same: set[tuple[int, int]] = set()
        self._kept: list[Any] = []
        """The objects of the ids, which are not used again as long as these live."""

    def run(self, lhs: Any, rhs: Any) -> Mismatch | None:
        """Return the paths of the first difference."""
        root = ObjectPath.root()
        stack: list[_Pair] = [(lhs, rhs, root, root, False)]
        while stack:
            a, b, ours, theirs, defining = stack.pop()
            if (id(a), id(b)) in self._same and not defining:
                continue
            found = self._step(a, b, ours, theirs, defining)
            if found is None:
                return ours, theirs
            self._same.add((id(a), id(b)))
            self._kept += (a, b)
            stack += reversed(found)
        return None

    def _step(self, a: Any, b: Any, ours: ObjectPath, theirs: ObjectPath, defining: bool) -> list[_Pair] | None:
        """Return the pairs to compare next, None if the two differ themselves."""
        if isinstance(a, _VARIABLES) or isinstance(b, _VARIABLES):
            return self._variables(a, b, ours, theirs, defining)
        if isinstance(a, list | tuple) and isinstance(b, list | tuple):
            return _elements(cast("Sequence[Any]", a), cast("Sequence[Any]", b), ours, theirs, defining)
        if isinstance(a, dict) and isinstance(b, dict):
            return self._entries(cast("dict[Any, Any]", a), cast("dict[Any, Any]", b), ours, theirs)
        if isinstance(a, te.Expr) != isinstance(b, te.Expr) and isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
            a, b = convert(a), convert(b)
        if not isinstance(a, COMPARED) or not isinstance(b, COMPARED):
            return [] if a is b or (type(cast("object", a)) is type(cast("object", b)) and bool(a == b)) else None
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return [] if _same_arrays(a, b) else None
        left, right = _node(a), _node(b)
        if left.kind != right.kind:
            return None
        defined = {id(variable) for variable in left.defines}
        pairs: list[_Pair] = []
        for (name, x), (_, y) in zip(left.parts, right.parts, strict=True):
            if name in _REGIONS and left.kind is Block and (x is None or y is None):
                continue
            is_definition = id(x) in defined or name in ("params", "axis", "alloc_buffers")
            pairs.append((x, y, ours.attr(name), theirs.attr(name), is_definition))
        return pairs

    def _variables(self, a: Any, b: Any, ours: ObjectPath, theirs: ObjectPath, defining: bool) -> list[_Pair] | None:
        known = id(a) in self._forth or id(b) in self._back
        if known and not defining:
            return [] if self._forth.get(id(a)) is b and self._back.get(id(b)) is a else None
        if type(a) is not type(b):
            return None
        if not defining and a is not b and not self._free:
            return None
        self._forth[id(a)], self._back[id(b)] = b, a
        self._kept += (a, b)
        declared = zip(_declared(a), _declared(b), strict=True)
        return [(x, y, ours.attr(name), theirs.attr(name), False) for (name, x), (_, y) in declared]

    def _entries(self, a: dict[Any, Any], b: dict[Any, Any], ours: ObjectPath, theirs: ObjectPath) -> list[_Pair]:
        pairs: list[_Pair] = []
        matched: set[int] = set()
        for key, value in a.items():
            other = next((one for one in b if self._same_key(key, one)), _ABSENT)
            if other is _ABSENT:
                pairs.append((value, _ABSENT, ours.map_value(key), theirs.missing_map_entry(), False))
            else:
                matched.add(id(other))
                is_buffer = isinstance(value, Buffer)
                pairs.append((value, b[other], ours.map_value(key), theirs.map_value(other), is_buffer))
        for key, value in b.items():
            if id(key) not in matched:
                pairs.append((_ABSENT, value, ours.missing_map_entry(), theirs.map_value(key), False))
        return pairs

    def _same_key(self, a: Any, b: Any) -> bool:
        if isinstance(a, _VARIABLES) or isinstance(b, _VARIABLES):
            return self._forth.get(id(a), a) is b
        return bool(a == b)


class _Absent:
    """An element or entry that the other side has."""


_ABSENT = _Absent()


def _elements(a: Sequence[Any], b: Sequence[Any], ours: ObjectPath, theirs: ObjectPath, defining: bool) -> list[_Pair]:
    pairs = [
        (x, y, ours.array_index(i), theirs.array_index(i), defining) for i, (x, y) in enumerate(zip(a, b, strict=False))
    ]
    end = len(pairs)
    if len(a) > end:
        pairs.append((a[end], _ABSENT, ours.array_index(end), theirs.missing_array_element(end), False))
    if len(b) > end:
        pairs.append((_ABSENT, b[end], ours.missing_array_element(end), theirs.array_index(end), False))
    return pairs


def _same_arrays(a: Any, b: Any) -> bool:
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and bool(np.array_equal(x, y, equal_nan=x.dtype.kind == "f"))


def first_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> Mismatch | None:
    """Return the paths in both of their first difference in order of attributes; None where there is none.

    A function that is made of ops is compared with what the other is as ops.
    """
    if isinstance(lhs, PrimFunc) and isinstance(rhs, PrimFunc) and lhs.is_of_ops != rhs.is_of_ops:
        lhs, rhs = _of_ops(lhs), _of_ops(rhs)
    return _Comparison(map_free_vars).run(lhs, rhs)


def _of_ops(func: PrimFunc) -> PrimFunc:
    """The function with the statements of its op, if it has one."""
    try:
        return func.of_ops
    except ScheduleError:
        return func


class _Hash:
    """The hashes of the parts of an object, which is walked twice: for the numbers of its variables, and upwards."""

    def __init__(self, root: Any, map_free_vars: bool):
        self._parts: dict[int, list[Any]] = {}
        self._kinds: dict[int, Hashable] = {}
        self._numbers: dict[int, Hashable] = {}
        defined: set[int] = set()
        stack = [root]
        while stack:
            one = stack.pop()
            if id(one) in self._parts:
                continue
            if isinstance(one, _VARIABLES):
                number = len(self._numbers) if map_free_vars or id(one) in defined else (id(one),)
                self._numbers[id(one)] = number
            kind, parts, defines = _hashed(one)
            defined.update(id(variable) for variable in defines)
            self._kinds[id(one)], self._parts[id(one)] = kind, parts
            stack += reversed(parts)

    def of(self, root: Any) -> int:
        """Return the hash of the object."""
        done: dict[int, int] = {}
        stack = [root]
        while stack:
            one = stack[-1]
            parts = self._parts[id(one)]
            if missing := [part for part in parts if id(part) not in done]:
                stack += missing
                continue
            own = (self._kinds[id(one)], self._numbers.get(id(one)))
            done[id(one)] = hash((own, *(done[id(part)] for part in parts)))
            stack.pop()
        return done[id(root)]


def _hashed(value: Any) -> tuple[Hashable, list[Any], tuple[Any, ...]]:
    """The kind of an object, its parts, and the variables that it defines."""
    if isinstance(value, _VARIABLES):
        return type(value), [], ()
    if isinstance(value, list | tuple):
        return "array", list(cast("Sequence[Any]", value)), ()
    if isinstance(value, dict):
        entries = sorted(cast("dict[Any, Any]", value).items(), key=lambda entry: str(entry[0]))
        keys = tuple(key for key, _ in entries if isinstance(key, str | int))
        return ("map", keys), [item for _, item in entries], ()
    if isinstance(value, np.ndarray):
        array = cast("Array", value)
        return (array.dtype.str, array.shape, array.tobytes()), [], ()
    if isinstance(value, COMPARED):
        node = _node(value)
        parts = [part for name, part in node.parts if node.kind is not Block or name not in _REGIONS]
        return node.kind, parts, node.defines
    return cast("Hashable", value), [], ()


def structure_hash(value: Any, map_free_vars: bool = False) -> int:
    """Return a hash that is equal for equal structures, in this process."""
    value = _of_ops(value) if isinstance(value, PrimFunc) else value
    return _Hash(value, map_free_vars).of(value)
