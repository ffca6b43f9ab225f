"""The iterations of a loop as lanes of vectors: whether they may run so, which run what, how far apart they touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import NamedTuple, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ....dialects.affine import Linear, Range, below, bounds, linear
from ....dialects.sizes import Size, same
from ....dialects.sizes.kernel import at_least
from ....dialects.tir import AllocOp, CallExternOp, ForOp, IfOp, IndexOp, LoadOp, StoreOp, buffer_of
from ....dialects.tir.dots import Dot, DotBf16Op, JoinBytesOp, WidenPairsOp
from ....dialects.tir.index_maps import Access, Ranges, View, flat_index, simplify_maps, view
from ....dialects.tir.lanes import CastOp, CompareOp, SelectOp
from .effects import DIVISIONS

_LANEWISE = (CompareOp, SelectOp, CastOp, Dot, DotBf16Op, WidenPairsOp, JoinBytesOp)
_SCALAR_ONLY = {"arith.addui_extended", "arith.mului_extended", "arith.mulsi_extended", "math.fpowi"}


class _Touch(NamedTuple):
    """An access of a buffer: element `stride * lane + rest`."""

    op: LoadOp | StoreOp
    stride: int
    rest: Linear
    values: tuple[SSAValue, ...]
    ranges: tuple[Range, ...]


class Condition(NamedTuple):
    """A condition that holds in some lanes only: in lane l every `first + l * step` is at least 0."""

    values: tuple[SSAValue, ...]
    first: tuple[AffineExpr, ...]
    """Over `values`."""
    steps: tuple[int, ...]


class Masked(NamedTuple):
    """A load or store that only some lanes do: where in the first lane, and the guard of its own."""

    values: tuple[SSAValue, ...]
    first: tuple[AffineExpr, ...]
    guard: Condition | None


class Branch(NamedTuple):
    """An `if` that only some lanes take: what differs by lane, and what stays a branch of all."""

    condition: Condition
    common: tuple[AffineExpr, ...]
    """Over the condition's values."""


class Obstacle(Exception):
    """Why a loop cannot become vectors."""


@dataclass(frozen=True)
class _Scope:
    """The scope of an op."""

    ranges: Ranges
    """The ranges of values in the lanes that run it."""
    loose: Ranges
    """The ranges of values in all lanes."""
    masked: bool
    """True when only some lanes run it."""

    def loop(self, op: ForOp) -> None:
        self.ranges[op.var] = self.loose[op.var] = op.bounds


def is_width(lanes: int, register: int) -> bool:
    """Return whether a vector may have so many lanes: a power of two, at most one for each byte of a register."""
    return 1 < lanes <= register and not lanes & (lanes - 1)


def is_scalar(type: Attribute) -> bool:
    return not isinstance(type, VectorType)


class Lanes:
    """The values that differ by lane in a loop of `width` lanes, of which as many run as it has passes.

    Raises Obstacle when running every op of the body for all lanes at once, in order, could give another result than
    one lane after the other, or when some op has no vector form.
    """

    def __init__(self, loop: ForOp, ranges: Ranges, width: int):
        self.var = loop.var
        self.width = width
        self.varying: set[SSAValue] = {loop.var}
        self.strides: dict[Operation, int] = {}
        """By how much the element or number of each load, store and index differs from lane to lane."""
        self.views: dict[Operation, View] = {}
        """The maps of each access that all lanes do, in the first lane."""
        self.masked: dict[Operation, Masked] = {}
        """The loads and stores that only some lanes do."""
        self.branches: dict[IfOp, Branch] = {}
        """The branches that only some lanes take."""
        self._inside: set[SSAValue] = set()
        self._touches: dict[SSAValue, list[_Touch]] = {}
        iterations = loop.trip_count
        loose = {**ranges, loop.var: (0, width - 1)}
        masked = not at_least(iterations, width)
        self._scan(loop.block, _Scope({**ranges, loop.var: (0, iterations - 1)}, loose, masked))
        for touches in self._touches.values():
            for touch, other in product(touches, touches):
                if isinstance(touch.op, StoreOp) and self._collide(touch, other):
                    raise Obstacle(f"lanes meet in the elements of a {touch.op.name} and a {other.op.name}")

    def _scan(self, block: Block, scope: _Scope) -> None:
        for op in block.ops:
            if any(isinstance(value.type, VectorType) for value in (*op.operands, *op.results)):
                raise Obstacle("it holds vectors already")
            self._inside.update(op.results)
            match op:
                case LoadOp():
                    self._load(op, scope)
                case StoreOp():
                    self._store(op, scope)
                case IndexOp():
                    self._plain(op, scope)
                case IfOp():
                    self._if(op, scope)
                case ForOp():
                    if op.kind.data == "parallel":
                        raise Obstacle("it holds a parallel loop")
                    scope.loop(op)
                    self._inside.add(op.var)
                    self._scan(op.block, scope)
                case _:
                    self._compute(op, scope)

    def _compute(self, op: Operation, scope: _Scope) -> None:
        differs = any(operand in self.varying for operand in op.operands)
        if isinstance(op, AllocOp) or op.regions:
            raise Obstacle(f"each lane has a {op.name} of its own")
        if isinstance(op, CallExternOp):
            if differs or not op.results or scope.masked:
                raise Obstacle(f'"{op.callee.data}" is called for each lane')
        elif op.dialect_name() not in ("arith", "math") and not isinstance(op, _LANEWISE):
            raise Obstacle(f"{op.name} has no vector form")
        if differs and op.name in _SCALAR_ONLY:
            raise Obstacle(f"{op.name} has no vector form")
        if scope.masked and _may_trap(op):
            raise Obstacle(f"{op.name} may fail in lanes that do not run it")
        if differs:
            self.varying.update(op.results)

    # Conditions

    def _view(self, op: Access, ranges: Ranges) -> tuple[View, int]:
        """The maps of `op`, and which of their dims is the lane (one past the last when none is)."""
        seen = view(op, ranges)
        if any(value in self.varying and value is not self.var for value in seen.values):
            raise Obstacle("an index differs by lane and depends on data")
        position = seen.values.index(self.var) if self.var in seen.values else len(seen.values)
        return seen, position

    def _held(self, op: Access, seen: View, guard: tuple[AffineExpr, ...], position: int) -> tuple[Range, ...]:
        """The ranges where `guard` holds; the lane stays one."""
        simplified = simplify_maps((), guard, seen.ranges)
        if simplified.never:
            raise Obstacle(f"it holds a {op.name} whose guard never holds")
        held = list(simplified.ranges)
        if position < len(held) and same(*held[position]):
            held[position] = seen.ranges[position]
        return tuple(held)

    def _if(self, op: IfOp, scope: _Scope) -> None:
        seen, position = self._view(op, scope.loose)
        differs = [_differs(expr, position, seen.ranges) for expr in seen.guard]
        inside, _ = self._view(op, scope.ranges)
        held = dict(zip(seen.values, self._held(op, inside, seen.guard, position), strict=True))
        tight = {**scope.ranges, **held}
        if not any(differs):
            self.views[op] = _in_first_lane(seen, position)
            common = dict(zip(seen.values, self._held(op, seen, seen.guard, position), strict=True))
            self._scan(op.block, _Scope(tight, {**scope.loose, **common}, scope.masked))
            if op.orelse is not None:
                self._scan(op.orelse.block, _Scope({**scope.ranges}, {**scope.loose}, scope.masked))
            return
        whole = op.orelse is not None
        rest = () if whole else tuple(e for e, varies in zip(seen.guard, differs, strict=True) if not varies)
        some = tuple(e for e, varies in zip(seen.guard, differs, strict=True) if whole or varies)
        self.branches[op] = Branch(_condition(seen, some, position), rest)
        common = dict(zip(seen.values, self._held(op, seen, rest, position), strict=True))
        self._scan(op.block, _Scope(tight, {**scope.loose, **common}, True))
        if op.orelse is not None:
            self._scan(op.orelse.block, _Scope({**scope.ranges}, {**scope.loose}, True))

    # Accesses

    def _plain(self, op: LoadOp | StoreOp | IndexOp, scope: _Scope) -> None:
        """An access that all lanes do."""
        seen, position = self._view(op, scope.loose)
        inside = self._held(op, seen, seen.guard, position)
        stride, rest = self._place(op, seen, position, inside)
        self.views[op] = _in_first_lane(seen, position)
        self._note(op, stride, rest, seen.values, inside)

    def _place(
        self, op: LoadOp | StoreOp | IndexOp, seen: View, position: int, inside: tuple[Range, ...]
    ) -> tuple[int, Linear]:
        """Return the distance between the elements that lanes touch, and where the first does."""
        strides = (1,) if isinstance(op, IndexOp) else buffer_of(op.buffer).strides
        form = linear(flat_index(seen.map, strides), inside)
        stride = form.coefficient(position)
        if stride is None:
            raise Obstacle("an index divides the lane")
        if not isinstance(stride, int):
            raise Obstacle(f"lanes lie {stride} elements apart")
        return stride, _first(form, position, stride)

    def _note(
        self,
        op: LoadOp | StoreOp | IndexOp,
        stride: int,
        rest: Linear,
        values: tuple[SSAValue, ...],
        ranges: tuple[Range, ...],
    ) -> None:
        self.strides[op] = stride
        if isinstance(op, StoreOp):
            if not stride and op.value in self.varying:
                raise Obstacle("every lane stores to one element")
        elif stride or op in self.masked:
            self.varying.update(op.results)
        if not isinstance(op, IndexOp):
            self._touches.setdefault(op.buffer, []).append(_Touch(op, stride, rest, values, ranges))

    def _load(self, op: LoadOp, scope: _Scope) -> None:
        seen, position = self._view(op, scope.loose)
        differs = any(_differs(expr, position, seen.ranges) for expr in seen.guard)
        if not differs and (not scope.masked or (not seen.guard and _is_inside(op, seen))):
            self._plain(op, scope)
        else:
            self._masked(op, scope)

    def _store(self, op: StoreOp, scope: _Scope) -> None:
        if scope.masked:
            self._masked(op, scope)
        else:
            self._plain(op, scope)

    def _masked(self, op: LoadOp | StoreOp, scope: _Scope) -> None:
        """An access that only some lanes do."""
        seen, position = self._view(op, scope.ranges)
        inside = self._held(op, seen, seen.guard, position)
        stride, rest = self._place(op, seen, position, inside)
        if isinstance(op, StoreOp) and not stride:
            raise Obstacle("every lane stores to one element")
        first: list[AffineExpr] = []
        for expr in seen.map:
            form = linear(expr, inside)
            if not isinstance(step := form.coefficient(position), int):
                raise Obstacle("an index divides the lane" if step is None else f"lanes lie {step} elements apart")
            first.append(_first(form, position, step).expr)
        guard = None
        if seen.guard:
            guard = _condition(self._view(op, scope.loose)[0], seen.guard, position)
        self.masked[op] = Masked(seen.values, tuple(first), guard)
        self._note(op, stride, rest, seen.values, inside)

    # Dependences

    def _terms(self, touch: _Touch, sign: int) -> Iterator[tuple[object, Size, Range]]:
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
        """Return whether two lanes may touch one element."""
        if not self._inside.intersection(store.values) and _equal(store, other) and store.stride:
            return False
        factors: dict[object, tuple[Size, Range]] = {}
        for key, factor, extent in (*self._terms(store, 1), *self._terms(other, -1)):
            before = factors.get(key, (0, extent))[0]
            factors[key] = (before + factor, extent)
        apart = store.rest.constant - other.rest.constant
        factors = {key: (f, ends) for key, (f, ends) in factors.items() if not same(f, 0)}
        numbers = [apart, *(number for f, ends in factors.values() for number in (f, *ends))]
        if not all(isinstance(number, int) for number in numbers):
            return True
        apart = cast(int, apart)
        low = high = apart
        step = 0
        for factor, (least, most) in cast("list[tuple[int, tuple[int, int]]]", list(factors.values())):
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


def _equal(first: _Touch, second: _Touch) -> bool:
    """Return whether two touch the same element in every lane."""
    apart = first.rest.plus(second.rest, -1)
    return (
        first.stride == second.stride and first.values == second.values and not apart.terms and same(apart.constant, 0)
    )


def _first(form: Linear, position: int, step: int) -> Linear:
    """A form in the first lane."""
    return form.plus(Linear(((AffineDimExpr(position), -step),), 0)) if step else form


def _differs(expr: AffineExpr, position: int, ranges: tuple[Range, ...]) -> bool:
    """Return whether a guard expression may hold in some lanes only."""
    step = linear(expr, ranges).coefficient(position)
    return (step is None or not same(step, 0)) and not at_least(bounds(expr, ranges)[0], 0)


def _condition(seen: View, guard: tuple[AffineExpr, ...], position: int) -> Condition:
    """Return the lanes in which `guard` holds. Raises Obstacle if it divides the lane."""
    first: list[AffineExpr] = []
    steps: list[int] = []
    for expr in guard:
        form = linear(expr, seen.ranges)
        if not isinstance(step := form.coefficient(position), int):
            raise Obstacle("a guard divides the lane" if step is None else f"a guard moves by {step} from lane to lane")
        first.append(_first(form, position, step).expr)
        steps.append(step)
    return Condition(seen.values, tuple(first), tuple(steps))


def conditions(loop: ForOp, ranges: Ranges) -> dict[int, Condition]:
    """The branches of a loop's body that differ by lane, by their place: when they are taken.

    Those that divide the lane, or depend on what the loop computes, are left out.
    """
    guards: dict[int, Condition] = {}
    inside = {result for op in loop.block.ops for result in op.results}
    for index, op in enumerate(loop.block.ops):
        if not isinstance(op, IfOp):
            continue
        seen = view(op, {**ranges, loop.var: (0, loop.trip_count - 1)})
        if loop.var not in seen.values or inside.intersection(seen.values):
            continue
        position = seen.values.index(loop.var)
        if any(_differs(expr, position, seen.ranges) for expr in seen.guard):
            try:
                guards[index] = _condition(seen, seen.guard, position)
            except Obstacle:
                continue
    return guards


def _in_first_lane(seen: View, position: int) -> View:
    if position == len(seen.values):
        return seen
    return seen._replace(ranges=(*seen.ranges[:position], (0, 0), *seen.ranges[position + 1 :]))


def _is_inside(op: LoadOp, seen: View) -> bool:
    """Return whether an element is there in all lanes, also those that do not run the load."""
    for expr, extent in zip(seen.map, buffer_of(op.buffer).get_shape(), strict=True):
        low, high = bounds(expr, seen.ranges)
        if not at_least(low, 0) or not below(high, extent):
            return False
    return True


def _may_trap(op: Operation) -> bool:
    """Return whether an op on numbers that nobody chose may stop the program."""
    if not isinstance(op, DIVISIONS):
        return False
    match op.operands[1].owner:
        case ConstantOp(value=IntegerAttr(value=number)):
            return number.data in (0, -1)
        case _:
            return True
