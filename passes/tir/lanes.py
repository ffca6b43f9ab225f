"""Whether the passes of a loop may run as lanes of vectors, and which of its accesses touch how far apart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import gcd
from typing import NamedTuple

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects.affine import Linear, Range, bounds, linear
from ...dialects.tir import AllocOp, CallExternOp, ForOp, IfOp, IndexOp, LoadOp, StoreOp, buffer_of
from ...dialects.tir_lanes import CastOp, CompareOp, SelectOp
from .common import Access, Ranges, View, flat_index, settle, view

WIDTHS = (2, 4, 8, 16, 32, 64)
_SCALAR_ONLY = {"arith.addui_extended", "arith.mului_extended", "arith.mulsi_extended", "math.fpowi"}


class _Touch(NamedTuple):
    """One access of a buffer: element `stride * lane + rest`."""

    op: LoadOp | StoreOp
    stride: int
    rest: Linear
    values: tuple[SSAValue, ...]
    ranges: tuple[Range, ...]


class Obstacle(Exception):
    """Why a loop cannot become vectors."""


def is_scalar(type: Attribute) -> bool:
    return not isinstance(type, VectorType)


class Lanes:
    """What differs by lane in a loop.

    Raises Obstacle when running every op of the body for all lanes at once, in order, could give another result than
    one lane after the other, or when some op has no vector form.
    """

    def __init__(self, loop: ForOp, ranges: Ranges):
        self.var = loop.var
        self.width = loop.trip_count
        self.varying: set[SSAValue] = {loop.var}
        self.strides: dict[Operation, int] = {}
        """By how much the element or number of each load, store and index differs from lane to lane."""
        self.views: dict[Operation, View] = {}
        """The maps of each access, in the first lane."""
        self._inside: set[SSAValue] = set()
        self._touches: dict[SSAValue, list[_Touch]] = {}
        if self.width not in WIDTHS:
            raise Obstacle(f"{self.width} is not a number of lanes among {', '.join(map(str, WIDTHS))}")
        self._scan(loop.block, ranges)
        for touches in self._touches.values():
            for touch, other in product(touches, touches):
                if isinstance(touch.op, StoreOp) and self._collide(touch, other):
                    raise Obstacle(f"lanes meet in the elements of a {touch.op.name} and a {other.op.name}")

    def _scan(self, block: Block, ranges: Ranges) -> None:
        for op in block.ops:
            if any(isinstance(value.type, VectorType) for value in (*op.operands, *op.results)):
                raise Obstacle("it holds vectors already")
            self._inside.update(op.results)
            match op:
                case LoadOp() | StoreOp() | IndexOp():
                    self._access(op, ranges)
                case IfOp():
                    self._if(op, ranges)
                case ForOp():
                    if op.kind.data == "parallel":
                        raise Obstacle("it holds a parallel loop")
                    ranges[op.var] = (0, max(0, op.trip_count - 1))
                    self._inside.add(op.var)
                    self._scan(op.block, ranges)
                case _:
                    self._compute(op)

    def _compute(self, op: Operation) -> None:
        differs = any(operand in self.varying for operand in op.operands)
        if isinstance(op, AllocOp) or op.regions:
            raise Obstacle(f"each lane has a {op.name} of its own")
        if isinstance(op, CallExternOp):
            if differs or not op.results:
                raise Obstacle(f'"{op.callee.data}" is called for each lane')
        elif not (op.dialect_name() in ("arith", "math") or isinstance(op, CompareOp | SelectOp | CastOp)):
            raise Obstacle(f"{op.name} has no vector form")
        if differs and op.name in _SCALAR_ONLY:
            raise Obstacle(f"{op.name} has no vector form")
        if differs:
            self.varying.update(op.results)

    def _guard(self, guard: tuple[AffineExpr, ...], position: int, ranges: tuple[Range, ...]) -> None:
        for expr in guard:
            form = linear(expr, ranges)
            if form.coefficient(position) != 0 and bounds(expr, ranges)[0] < 0:
                raise Obstacle("a guard differs by lane")

    def _view(self, op: Access, ranges: Ranges) -> tuple[View, int, tuple[Range, ...]]:
        """The maps of `op`, which of their dims is the lane (one past the last when none is), and the ranges within."""
        seen = view(op, ranges)
        if any(value in self.varying and value is not self.var for value in seen.values):
            raise Obstacle("an index differs by lane and depends on data")
        self.views[op] = seen
        position = len(seen.values)
        if self.var in seen.values:
            position = seen.values.index(self.var)
            self._guard(seen.guard, position, seen.ranges)
            first = (*seen.ranges[:position], (0, 0), *seen.ranges[position + 1 :])
            self.views[op] = seen._replace(ranges=first)
        if not seen.guard:
            return seen, position, seen.ranges
        settled = settle((), seen.guard, seen.ranges)
        if settled.never:
            raise Obstacle(f"it holds a {op.name} whose guard never holds")
        return seen, position, settled.ranges

    def _if(self, op: IfOp, ranges: Ranges) -> None:
        seen, _, inside = self._view(op, ranges)
        self._scan(op.block, {**ranges, **dict(zip(seen.values, inside, strict=True))})
        if op.orelse is not None:
            self._scan(op.orelse.block, ranges)

    def _access(self, op: LoadOp | StoreOp | IndexOp, ranges: Ranges) -> None:
        seen, position, inside = self._view(op, ranges)
        strides = (1,) if isinstance(op, IndexOp) else buffer_of(op.buffer).strides
        form = linear(flat_index(seen.map, strides), inside)
        stride = form.coefficient(position)
        if stride is None:
            raise Obstacle("an index divides the lane")
        self.strides[op] = stride
        if stride and not isinstance(op, StoreOp):
            self.varying.update(op.results)
        if isinstance(op, StoreOp) and not stride and op.value in self.varying:
            raise Obstacle("every lane stores to one element")
        if not isinstance(op, IndexOp):
            rest = form.plus(Linear(((AffineDimExpr(position), -stride),), 0)) if stride else form
            self._touches.setdefault(op.buffer, []).append(_Touch(op, stride, rest, seen.values, inside))

    def _terms(self, touch: _Touch, sign: int) -> Iterator[tuple[object, int, Range]]:
        """The terms of a touched element. Those that change inside the loop have keys of their own per touch."""
        for atom, factor in touch.rest.terms:
            used = [touch.values[i] for i in sorted(atom.used_dims())]
            key: object
            if any(value in self._inside for value in used):
                key = object()
            elif isinstance(atom, AffineDimExpr):
                key = used[0]
            else:
                key = (atom, touch.values)
            yield key, sign * factor, bounds(atom, touch.ranges)

    def _collide(self, store: _Touch, other: _Touch) -> bool:
        """Whether two lanes may touch one element."""
        if not self._inside.intersection(store.values) and store[1:4] == other[1:4] and store.stride:
            return False
        factors: dict[object, tuple[int, Range]] = {}
        for key, factor, extent in (*self._terms(store, 1), *self._terms(other, -1)):
            before = factors.get(key, (0, extent))[0]
            factors[key] = (before + factor, extent)
        apart = store.rest.constant - other.rest.constant
        low = high = apart
        step = 0
        for factor, (least, most) in factors.values():
            low += min(factor * least, factor * most)
            high += max(factor * least, factor * most)
            step = gcd(step, factor)

        def possible(distance: int) -> bool:
            if not low <= distance <= high:
                return False
            return (distance - apart) % step == 0 if step else distance == apart

        last = self.width - 1
        if store.stride == other.stride == 0:
            return isinstance(other.op, LoadOp) and possible(0)
        if store.stride == other.stride:
            return any(possible(sign * store.stride * lanes) for lanes in range(1, last + 1) for sign in (1, -1))
        reach = [store.stride * last, 0, -other.stride * last]
        return low + sum(min(0, r) for r in reach) <= 0 <= high + sum(max(0, r) for r in reach)
