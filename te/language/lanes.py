"""Vectors as expressions, and names of values in them; `expr.Broadcast` is the other vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ...support.dtypes import BOOL, element_of, fail, is_float, lanes_of, with_lanes
from .expr import Binary, Broadcast, Const, Expr, ExprLike, Joint, Var, binary, convert, pair
from .walks import operands_first


class Ramp(Joint):
    """A vector of integers: lane `i` is `base + stride * i`.

    Raises ScheduleError for a base or a stride that is no scalar integer.
    """

    def __init__(self, base: ExprLike, stride: ExprLike, lanes: int, span: object = None):
        del span
        first, step = pair("add", base, stride)
        if is_float(first.dtype) or first.dtype == BOOL or lanes_of(first.dtype) != 1:
            fail(f"tir.Ramp: expected scalar integers as base and stride, got {first.dtype}")
        if lanes < 2:
            fail(f"tir.Ramp: expected at least 2 lanes, got {lanes}")
        super().__init__(with_lanes(first.dtype, lanes), "ramp", (first, step))

    @property
    def base(self) -> Expr:
        return self.parts[0]

    @property
    def stride(self) -> Expr:
        return self.parts[1]

    @property
    def lanes(self) -> int:
        return lanes_of(self.dtype)


class Shuffle(Joint):
    """Lanes of vectors, which count as joined: lane `i` is the one with the number `indices[i]`.

    Raises ScheduleError for vectors of several dtypes, and for a lane that they do not have.
    """

    def __init__(self, vectors: Sequence[ExprLike], indices: Sequence[ExprLike], span: object = None):
        del span
        sources, numbers = [convert(one) for one in vectors], [convert(one) for one in indices]
        elements = {element_of(one.dtype) for one in sources}
        if len(elements) != 1 or not numbers:
            fail(f"tir.Shuffle: expected vectors of one dtype and indices, got {sorted(elements)} and {len(numbers)}")
        total = sum(lanes_of(one.dtype) for one in sources)
        for number in numbers:
            if isinstance(number, Const) and not 0 <= number.value < total:
                fail(f"tir.Shuffle: expected indices from 0 to {total - 1}, got {number.value}")
        super().__init__(with_lanes(elements.pop(), len(numbers)), "shuffle", (*sources, *numbers))

    @property
    def vectors(self) -> tuple[Expr, ...]:
        return self.parts[: -len(self.indices)]

    @property
    def indices(self) -> tuple[Expr, ...]:
        return self.parts[-lanes_of(self.dtype) :]


class Progression(NamedTuple):
    """The lanes of a vector, each of which is as much more than the one before."""

    base: Expr
    stride: int


Progressions: TypeAlias = dict[int, Progression | None]


def progression(value: Expr, known: Progressions | None = None) -> Progression | None:
    """The form `base + stride * lane` of a vector of integers, if it is one by arithmetic of ramps and broadcasts.

    known: the answers by the ids of nodes, which is added to.
    """
    done: Progressions = {} if known is None else known
    for node in operands_first([value], done):
        done[id(node)] = _progression(node, done)
    return done[id(value)]


def _progression(node: Expr, done: Progressions) -> Progression | None:
    match node:
        case Ramp(stride=Const(value=stride)):
            return Progression(node.base, int(stride))
        case Broadcast():
            return Progression(node.value, 0)
        case Binary(op="add" | "sub" | "mul" as op):
            left, right = done[id(node.a)], done[id(node.b)]
            if left is None or right is None:
                return None
            if op != "mul":
                return Progression(
                    binary(op, left.base, right.base), left.stride + right.stride * (-1 if op == "sub" else 1)
                )
            kept, factor = (left, right.base) if right.stride == 0 else (right, left.base)
            if not isinstance(factor, Const) or (left.stride and right.stride):
                return None
            return Progression(binary("mul", kept.base, factor), kept.stride * int(factor.value))
        case _:
            return None


def vector_access(name: str, indices: Sequence[Expr]) -> tuple[list[Expr], int]:
    """The point of an access, of a vector that of its first lane, and the distance of its lanes.

    Raises ScheduleError for lanes in another index than the last, and where they are not equally far apart.
    """
    if not any(lanes_of(index.dtype) > 1 for index in indices):
        return list(indices), 1
    *outer, last = indices
    if any(lanes_of(index.dtype) > 1 for index in outer):
        fail(f"expected lanes in the last index of {name} alone; T.decl_buffer makes a flat view of a buffer")
    if (found := progression(last)) is None:
        fail(f"expected a T.Ramp or T.Broadcast as index of {name}, as there are no gathers, got {last}")
    return [*outer, found.base], found.stride


class Let(Joint):
    """An expression in which a variable stands for a value.

    Raises ScheduleError for a variable of another dtype than the value.
    """

    def __init__(self, var: Var, value: ExprLike, body: ExprLike, span: object = None):
        del span
        named, inside = convert(value, None if isinstance(value, Expr) else var.dtype), convert(body)
        if named.dtype != var.dtype:
            fail(f"tir.Let: expected a value of {var.dtype} for '{var.name}', got {named.dtype}")
        super().__init__(inside.dtype, "let", (var, named, inside))

    @property
    def var(self) -> Expr:
        return self.parts[0]

    @property
    def value(self) -> Expr:
        return self.parts[1]

    @property
    def body(self) -> Expr:
        return self.parts[2]
