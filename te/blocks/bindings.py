"""Index maps over loop variables and iteration variables: read, resolved and put back in terms of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import Range, bounds, linear, substitute
from ...dialects.sizes.kernel import affine_map, at_least, last_value
from ...dialects.tir import UNBOUNDED, BlockOp, DeclBufferOp, ForOp, IfOp, IndexOp, LoadOp
from ...dialects.tir.index_maps import LEADING
from ...provenance.builder import LocatedBuilder

_LEADING: dict[type[Operation], int] = {**LEADING, BlockOp: 0, DeclBufferOp: 1}


class Place(NamedTuple):
    """Affine expressions over values: dim i is `values[i]`."""

    exprs: tuple[AffineExpr, ...]
    values: tuple[SSAValue, ...]

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The smallest and largest value of each of `values`."""
        return tuple(map(range_of, self.values))

    def simplified(self, *, units: bool = False) -> Place:
        """The same expressions, simplified, over the values that they use. units: those of one value stay, too."""
        ranges = tuple((0, 1) if units and _is_zero(limits) else limits for limits in self.ranges)
        exprs = [linear(expr, ranges).expr for expr in self.exprs]
        used = sorted(set[int]().union(*(expr.used_dims() for expr in exprs)))
        dims: list[AffineExpr] = [AffineConstantExpr(0)] * len(self.values)
        for new, old in enumerate(used):
            dims[old] = AffineDimExpr(new)
        return Place(tuple(substitute(expr, dims) for expr in exprs), tuple(self.values[i] for i in used))


def _is_zero(limits: Range) -> bool:
    return all(isinstance(limit, int) and limit == 0 for limit in limits)


def joined(*places: Place) -> Place:
    """The expressions of several places, over the values of all."""
    values = list(dict.fromkeys(value for place in places for value in place.values))
    exprs: list[AffineExpr] = []
    for place in places:
        dims = [AffineDimExpr(values.index(value)) for value in place.values]
        exprs += [substitute(expr, dims) for expr in place.exprs]
    return Place(tuple(exprs), tuple(values))


def range_of(value: SSAValue) -> Range:
    """The range of a loop variable or iteration variable; anything else is unbounded."""
    owner = value.owner
    if isinstance(owner, Block) and isinstance(value, BlockArgument):
        match owner.parent_op():
            case ForOp() as loop:
                return loop.bounds
            case BlockOp() as block:
                extent = block.domain[value.index]
                return 0, max(0, extent - 1) if isinstance(extent, int) else last_value(extent)
            case _:
                pass
    return UNBOUNDED


def index_operands(op: Operation) -> Sequence[SSAValue]:
    """The values that the index maps of an op are over; none for an op without maps."""
    leading = _LEADING.get(type(op))
    return () if leading is None else op.operands[leading:]


def maps_of(op: Operation) -> list[tuple[AffineExpr, ...]]:
    """The index maps of an op: its point, then its guards."""
    match op:
        case BlockOp():
            return [op.map.data.results, *(guard.results for guard in op.guards)]
        case IfOp():
            return [op.guard.data.results]
        case LoadOp() if op.guard is not None:
            return [op.map.data.results, op.guard.data.results]
        case _:
            point = op.properties["map"]
            assert isinstance(point, AffineMapAttr)
            return [point.data.results]


def set_maps(op: Operation, values: Sequence[SSAValue], maps: Sequence[Sequence[AffineExpr]]) -> None:
    """Give an op other index maps, over `values`."""
    attributes = [AffineMapAttr(affine_map(len(values), tuple(map))) for map in maps]
    match op:
        case BlockOp():
            op.properties["map"] = attributes[0]
            op.properties.pop("where", None)
            if attributes[1:]:
                op.properties["where"] = ArrayAttr(attributes[1:])
        case IfOp():
            op.properties["guard"] = attributes[0]
        case _:
            op.properties["map"] = attributes[0]
            if attributes[1:]:
                op.properties["guard"] = attributes[1]
    op.operands = [*op.operands[: _LEADING[type(op)]], *values]


def replaced(place: Place, by: Mapping[Any, Place], *, units: bool = False) -> Place:
    """Expressions where each value of `by` is its one expression there. units: values of one value stay."""
    positions: dict[SSAValue, int] = {}
    dims: list[AffineExpr] = []
    for value in place.values:
        if (other := by.get(value)) is None:
            dims.append(AffineDimExpr(positions.setdefault(value, len(positions))))
        else:
            inner = [AffineDimExpr(positions.setdefault(each, len(positions))) for each in other.values]
            dims.append(substitute(other.exprs[0], inner))
    return Place(tuple(substitute(expr, dims) for expr in place.exprs), tuple(positions)).simplified(units=units)


def rewrite_maps(op: Operation, by: Mapping[Any, Place]) -> None:
    """Replace values in the index maps of an op."""
    maps = maps_of(op)
    flat = tuple(expr for map in maps for expr in map)
    place = replaced(Place(flat, tuple(index_operands(op))), by, units=True)
    exprs = iter(place.exprs)
    set_maps(op, place.values, [[next(exprs) for _ in map] for map in maps])
    if isinstance(op, BlockOp):
        drop_true_guards(op)


def drop_true_guards(block: BlockOp) -> None:
    """Leave out the guard expressions of a block that always hold."""
    if len(block.guards) != 1:
        return
    place = Place(block.guards[0].results, tuple(block.indices))
    left = [expr for expr in place.exprs if not _never_negative(expr, place.ranges)]
    set_maps(block, tuple(block.indices), [block.map.data.results, *([left] if left else [])])
    compact(block)


def compact(op: Operation) -> None:
    """Drop index operands that no map uses, and simplify; values of one value stay."""
    maps = maps_of(op)
    place = Place(tuple(expr for map in maps for expr in map), tuple(index_operands(op))).simplified(units=True)
    exprs = iter(place.exprs)
    set_maps(op, place.values, [[next(exprs) for _ in map] for map in maps])


def _never_negative(expr: AffineExpr, ranges: Sequence[Range]) -> bool:
    return at_least(bounds(expr, ranges)[0], 0)


def replace_value(value: SSAValue, by: Place, builder: LocatedBuilder) -> None:
    """Replace all uses of an index value: in maps by the expression, elsewhere by a number that `builder` adds."""
    operations = list(dict.fromkeys(use.operation for use in value.uses))
    number: SSAValue | None = None
    for op in operations:
        if value in index_operands(op):
            rewrite_maps(op, {value: by})
        if value in op.operands:
            if number is None:
                number = builder.add(IndexOp.make(affine_map(len(by.values), by.exprs[:1]), by.values)).result
            op.operands = [number if operand is value else operand for operand in op.operands]


def resolved(place: Place, within: BlockOp | None = None) -> Place:
    """Expressions in terms of loop variables: iteration variables are what their blocks bind them to.

    within: a block whose own variables stay.
    """
    while True:
        by: dict[SSAValue, Place] = {}
        for value in place.values:
            owner = value.owner
            if isinstance(owner, Block) and isinstance(value, BlockArgument):
                if isinstance(block := owner.parent_op(), BlockOp) and block is not within:
                    by[value] = Place((block.map.data.results[value.index],), tuple(block.indices))
            elif isinstance(owner, IndexOp):
                by[value] = Place(owner.map.data.results, tuple(owner.indices))
            elif isinstance(owner, ConstantOp) and isinstance(owner.value, IntegerAttr):
                by[value] = Place((AffineConstantExpr(owner.value.value.data),), ())
        if not by:
            return place.simplified()
        place = replaced(place, by)


def place_of(op: Operation) -> Place:
    """The point that an access names, in terms of loops; without its guard."""
    return resolved(Place(maps_of(op)[0], tuple(index_operands(op))))


def enclosing(op: Operation, kinds: type[Operation] | tuple[type[Operation], ...]) -> Iterable[Operation]:
    """The ops around `op` that are of these kinds, the innermost first."""
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, kinds):
            yield parent
        parent = parent.parent_op()
