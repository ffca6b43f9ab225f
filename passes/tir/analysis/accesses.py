"""The accesses of a loop nest, over the variables of its loops: where each is, when it happens, what it touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias, cast

from xdsl.dialects.arith import MaxSIOp, MinSIOp
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ....dialects.affine import Range, below, flatten, linear, linear_bounds, substitute
from ....dialects.sizes import Size, same
from ....dialects.sizes.kernel import lifted
from ....dialects.tir import (
    UNBOUNDED,
    BlockOp,
    CallExternOp,
    ForOp,
    IfOp,
    LoadOp,
    PrimFuncOp,
    StoreOp,
    TileStoreOp,
    WhileOp,
    buffer_of,
)
from ....dialects.tir.block import InitOp
from ....dialects.tir.index_maps import operands_of, view
from ....dialects.tir.lanes import lanes, scalar_type
from ....dialects.tir.masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from ....dialects.tir.statements import DeclBufferOp
from ....dialects.tir.tiles import TileLoadOp
from .meetings import Access, Clause, Variable

Element: TypeAlias = LoadOp | StoreOp | MaskedLoadOp | MaskedStoreOp | TileLoadOp | TileStoreOp


@dataclass(frozen=True)
class Touch:
    """The elements of a buffer that an op reads or writes."""

    op: Operation
    buffer: SSAValue
    """The buffer itself, not a view."""
    access: Access | None
    """None where a called function decides."""
    writes: bool
    certain: bool
    """False where data decides if it happens."""

    @property
    def name(self) -> str:
        return name_of(self.buffer)


class Nest:
    """The accesses inside an op or ops, and what is known of the variables that they use.

    within: a block around them, whose variables have any value; what is around it is left out.
    """

    def __init__(self, *roots: Operation, within: BlockOp | None = None) -> None:
        self.within = within
        self.ranges: dict[Variable, Range] = {}
        self.data: set[Variable] = set()
        self.touches = [touch for root in roots for op in root.walk() for touch in self._touches(op)]

    def _touches(self, op: Operation) -> Iterator[Touch]:
        match op:
            case LoadOp() | StoreOp() | MaskedLoadOp() | MaskedStoreOp() | TileLoadOp() | TileStoreOp():
                if (touch := self.touch(op)) is not None:
                    yield touch
            case CallExternOp():
                for value in op.arguments:
                    if value.type.name == "tir.buffer":
                        yield Touch(op, root_of(value), None, True, True)
            case _:
                pass

    def touch(self, op: Element) -> Touch | None:
        """Return what an access touches, and when; None if that is never."""
        place = _Place(self)
        writes = isinstance(op, StoreOp | MaskedStoreOp | TileStoreOp)
        if (map := place.point(op)) is None:
            return None
        map = place.lanes_of(op, map)
        if isinstance(op, MaskedLoadOp | MaskedStoreOp):
            place.masked(op)
        map, buffer = place.behind_views(op.buffer, map)
        access = Access(tuple(place.dims), map, tuple(place.clauses), writes)
        return Touch(op, buffer, access, writes, place.certain)

    def point(self, op: LoadOp | StoreOp) -> Access | None:
        """Return the indices of an access, of a vector those of its first lane, and when it happens; None if never."""
        place = _Place(self)
        map = place.point(op)
        return None if map is None else Access(tuple(place.dims), map, tuple(place.clauses), isinstance(op, StoreOp))

    def range_of(self, variable: Variable) -> Range:
        return self.ranges.get(variable, UNBOUNDED)


class _Place:
    """The variables of one access, and what must hold for it to happen."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.dims: dict[Variable, AffineExpr] = {}
        self.clauses: list[Clause] = []
        self.certain = True
        self._exprs: dict[SSAValue, AffineExpr] = {}

    def dim(self, variable: Variable) -> AffineExpr:
        return self.dims.setdefault(variable, AffineDimExpr(len(self.dims)))

    def substituted(self, values: Sequence[SSAValue], exprs: Sequence[AffineExpr]) -> tuple[AffineExpr, ...]:
        """Return expressions over `values` as ones over the variables of loops."""
        dims = [self.expr(value) for value in values]
        return tuple(substitute(expr, dims) for expr in exprs)

    def expr(self, value: SSAValue) -> AffineExpr:
        """Return the value of an index."""
        if (known := self._exprs.get(value)) is None:
            known = self._exprs[value] = self._expr(value)
        return known

    def _expr(self, value: SSAValue) -> AffineExpr:
        owner = value.owner
        if isinstance(owner, MinSIOp | MaxSIOp):
            return self._extreme(owner)
        parent = owner.parent_op() if isinstance(value, BlockArgument) else None
        if isinstance(parent, ForOp):
            self.nest.ranges[value] = parent.bounds
        elif isinstance(parent, BlockOp) and self._is_around(parent):
            self.nest.ranges[value] = 0, parent.domain[cast(BlockArgument, value).index] - 1
        elif isinstance(parent, BlockOp) and isinstance(value, BlockArgument):
            return self._mapped(parent.indices, (parent.map.data.results[value.index],))[0]
        else:
            self.nest.data.add(value)
        return self.dim(value)

    def _is_around(self, block: BlockOp) -> bool:
        return self.nest.within is not None and block.is_ancestor(self.nest.within)

    def _mapped(self, indices: Sequence[SSAValue], exprs: Sequence[AffineExpr]) -> tuple[AffineExpr, ...]:
        operands = operands_of(indices)
        if operands.dims is not None:
            exprs = [substitute(expr, operands.dims) for expr in exprs]
        return self.substituted(operands.values, exprs)

    def _extreme(self, op: MinSIOp | MaxSIOp) -> AffineExpr:
        """A minimum or maximum is a variable on the right side of both operands, and equal to one of them."""
        left, right = self._mapped((op.lhs, op.rhs), (AffineDimExpr(0), AffineDimExpr(1)))
        own, sign = self.dim(op.result), -1 if isinstance(op, MinSIOp) else 1
        over = [(own - side) * sign for side in (left, right)]
        self.clauses += [((over[0], over[1]),), ((over[0] * -1,), (over[1] * -1,))]
        return own

    def point(self, op: Element) -> tuple[AffineExpr, ...] | None:
        """Add the conditions of an access; return its indices, None if it never happens."""
        if not self._surrounded(op):
            return None
        seen = view(op, {})
        map = self.substituted(seen.values, seen.map)
        self.clauses += [((expr,),) for expr in self.substituted(seen.values, seen.guard)]
        return map

    def _surrounded(self, op: Operation) -> bool:
        """Add the conditions of all that is around an op; return False if it never runs."""
        around = [op]
        while (parent := around[-1].parent_op()) not in (None, self.nest.within) and not isinstance(parent, PrimFuncOp):
            around.append(parent)
        around.reverse()
        for parent, inner in pairwise(around):
            match parent:
                case ForOp():
                    if below(parent.trip_count, 1):
                        return False
                    self.expr(parent.var)
                case IfOp():
                    self._branch(parent, inner)
                case BlockOp():
                    self._alternatives([self._mapped(parent.indices, guard.results) for guard in parent.guards])
                case InitOp():
                    self._first(parent)
                case WhileOp():
                    self.certain = False
                case _:
                    pass
        return True

    def _branch(self, op: IfOp, inner: Operation) -> None:
        seen = view(op, {})
        guard = self.substituted(seen.values, seen.guard)
        if inner.parent is op.block:
            self.clauses += [((expr,),) for expr in guard]
        else:
            self.clauses.append(tuple((expr * -1 - 1,) for expr in guard))

    def _alternatives(self, guards: Sequence[tuple[AffineExpr, ...]]) -> None:
        if len(guards) == 1:
            self.clauses += [((expr,),) for expr in guards[0]]
        elif guards:
            self.clauses.append(tuple(guards))

    def _first(self, init: InitOp) -> None:
        """An init part runs where the reduce variables of its block are 0."""
        block = init.parent_op()
        assert isinstance(block, BlockOp)
        for argument, kind in zip(block.block.args, block.kinds, strict=True):
            if kind.data == "reduce":
                expr = self.expr(argument)
                self.clauses.append(((expr, expr * -1),))

    def lanes_of(self, op: Element, map: tuple[AffineExpr, ...]) -> tuple[AffineExpr, ...]:
        """Return the map of all elements that an access touches, over variables of its lanes, too."""
        type_ = buffer_of(op.buffer)
        steps: list[tuple[str, int, int]] = []
        if isinstance(op, TileLoadOp | TileStoreOp):
            rows, words = op.extents
            bytes_ = type_.nbytes // type_.size if isinstance(type_.size, int) and type_.size else 4
            steps = [("row", rows, op.rows_apart), ("lane", words * 4 // int(bytes_), 1)]
        else:
            value = op.results[0].type if isinstance(op, LoadOp | MaskedLoadOp) else op.value.type
            (count,) = lanes(value) or (1,)
            steps = [("lane", count, op.step)]
            if type_.element_type == i8 and scalar_type(value) == i32:
                steps.append(("byte", 4, 1))
        steps = [step for step in steps if step[1] > 1]
        if not steps:
            return map
        if not map or not self._in_row(map[-1], sum((count - 1) * step for _, count, step in steps), op):
            map = (flatten(map, type_.strides),)
        for what, count, step in steps:
            # Named alike in all accesses, so that those of one place are equal.
            self.nest.ranges[what, count] = 0, count - 1
            map = (*map[:-1], map[-1] + self.dim((what, count)) * step)
        return map

    def _in_row(self, index: AffineExpr, more: int, op: Element) -> bool:
        """Return whether the lanes of an access do not go on in the next row."""
        shape = buffer_of(op.buffer).get_shape()
        if len(shape) < 2:
            return True
        ranges = tuple(self.nest.range_of(variable) for variable in self.dims)
        _, most = linear_bounds(linear(index + more, ranges), ranges)
        return below(most, shape[-1])

    def masked(self, op: MaskedLoadOp | MaskedStoreOp) -> None:
        """Add the conditions of the mask of an access."""
        mask = op.mask.owner
        if not isinstance(mask, MaskOp):
            self.certain = False
            return
        seen = view(mask, {})
        (count,) = lanes(op.mask.type) or (1,)
        lane = self.dims.get(("lane", count), AffineConstantExpr(0))
        exprs = self.substituted(seen.values, seen.map)
        self.clauses += [((expr + lane * step,),) for expr, step in zip(exprs, mask.by_lane, strict=True)]

    def behind_views(self, buffer: SSAValue, map: tuple[AffineExpr, ...]) -> tuple[tuple[AffineExpr, ...], SSAValue]:
        """Return the element of the buffer that is behind views."""
        while isinstance(op := buffer.owner, DeclBufferOp):
            point, source = self._mapped(op.indices, op.map.data.results), buffer_of(op.buffer)
            steps, rank = op.steps, len(op.result.type.shape)
            if steps is None and len(map) == rank:
                front = len(point) - rank
                map = (*point[:front], *(p + i for p, i in zip(point[front:], map, strict=True)))
            else:
                # A flat place in a view: its own strides are those of its shape.
                offset = map[0] if steps is None else _strided(map, steps, op.result.type.strides)
                map = (flatten(point, source.strides) + offset,)
            buffer = op.buffer
        return map, buffer


def _strided(map: tuple[AffineExpr, ...], steps: Sequence[Size], strides: Sequence[Size]) -> AffineExpr:
    if len(map) == len(steps):
        return flatten(map, steps)
    # One flat index, taken apart into the dims of the view.
    rest, dims = map[0], list[AffineExpr]()
    for stride in strides:
        dims.append(rest // lifted(stride))
        rest = rest % lifted(stride)
    return flatten(dims, steps)


def alike(left: Access, right: Access, buffer: SSAValue) -> tuple[Access, Access]:
    """Return two accesses of a buffer with places in flat memory, if one of them has such."""
    if len(left.map) == len(right.map):
        return left, right
    strides = buffer_of(buffer).strides

    def flat(access: Access) -> Access:
        if len(access.map) != len(strides):
            return access
        return Access(access.variables, (flatten(access.map, strides),), access.clauses, access.writes)

    return flat(left), flat(right)


def same_place(left: Element, right: Element) -> bool:
    """Return whether two accesses touch the same element, or vector, of buffers laid out alike, in each iteration."""
    nest, numbers = Nest(), dict[Variable, AffineExpr]()
    touches = [nest.touch(op) for op in (left, right)]
    flat: list[AffineExpr] = []
    for touch in touches:
        if touch is None or touch.access is None:
            return False
        map, strides = touch.access.map, buffer_of(touch.buffer).strides
        dims = [numbers.setdefault(name, AffineDimExpr(len(numbers))) for name in touch.access.variables]
        flat.append(substitute(flatten(map, strides) if len(map) == len(strides) else map[0], dims))
    ranges = tuple(nest.range_of(name) for name in numbers)
    apart = linear(flat[0], ranges).plus(linear(flat[1], ranges), -1)
    return not apart.terms and same(apart.constant, 0)


def name_of(buffer: SSAValue) -> str:
    """Return the name of a buffer for messages."""
    if buffer.name_hint:
        return f"%{buffer.name_hint}"
    return f"argument {buffer.index}" if isinstance(buffer, BlockArgument) else "a buffer"


def root_of(buffer: SSAValue) -> SSAValue:
    """Return the buffer behind views."""
    while isinstance(op := buffer.owner, DeclBufferOp):
        buffer = op.buffer
    return buffer
