"""Starts of reductions before the loops of the reduction."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from ....dialects.affine import Linear, Range, linear, linear_bounds, substitute
from ....dialects.sizes import same
from ....dialects.sizes.kernel import affine_map, at_least
from ....dialects.tir import UNBOUNDED, AllocOp, BlockOp, ForOp, IfOp
from ....dialects.tir.block import InitOp
from ....dialects.tir.index_maps import operands_of
from ..analysis.dependence import distributed


class Point:
    """The point that loops run a block at, over loop variables, and what each loop does for it."""

    def __init__(self, block: BlockOp) -> None:
        self.block = block
        operands = operands_of(block.indices)
        self.values = operands.values
        dims = operands.dims or [AffineDimExpr(number) for number in range(len(self.values))]
        self.exprs = [substitute(expr, dims) for expr in block.map.data.results]
        self.guards = [[substitute(expr, dims) for expr in guard.results] for guard in block.guards]
        self.ranges = tuple(_range_of(value) for value in self.values)

    def of(self, *kinds: str) -> list[AffineExpr]:
        """Return the values of the variables of some kinds."""
        return [expr for kind, expr in zip(self.block.kinds, self.exprs, strict=True) if kind.data in kinds]

    def is_used(self, value: SSAValue, exprs: Sequence[AffineExpr]) -> bool:
        """Return whether expressions are over a value."""
        return value in self.values and any(self.values.index(value) in expr.used_dims() for expr in exprs)

    def is_first_at_zero(self, value: SSAValue) -> bool:
        """Return whether reduce variables are 0 only where a value is."""
        number = self.values.index(value)
        for expr in self.of("reduce"):
            form = linear(expr, self.ranges)
            factor = form.coefficient(number)
            if factor is not None and at_least(factor, 1):
                others = form.plus(Linear(((AffineDimExpr(number), factor),), 0), -1)
                if at_least(linear_bounds(others, self.ranges)[0], 0):
                    return True
        return False

    def at_start(self, repeated: Mapping[SSAValue, SSAValue], gone: Container[SSAValue]) -> None:
        """Replace loop variables by those of repeated loops, and by 0 where their loops are gone."""
        kept = [value for value in self.values if value not in gone]
        dims = [AffineConstantExpr(0) if v in gone else AffineDimExpr(kept.index(v)) for v in self.values]
        self.ranges = tuple(_range_of(value) for value in kept)
        self.exprs, *self.guards = (
            [linear(substitute(expr, dims), self.ranges).expr for expr in exprs] for exprs in (self.exprs, *self.guards)
        )
        self.values = tuple(repeated.get(value, value) for value in kept)


def _range_of(value: SSAValue) -> Range:
    parent = value.block.parent_op() if isinstance(value, BlockArgument) else None
    if isinstance(parent, ForOp):
        return parent.bounds
    # A variable of a block around is not negative; others are data.
    return (0, UNBOUNDED[1]) if isinstance(parent, BlockOp) else UNBOUNDED


def move_start(init: InitOp, block: BlockOp, rewriter: PatternRewriter) -> bool:
    """Move the init part of a block before the outermost loop of its reduction where that is the same.

    It becomes a block without init part. Loops of the reduction are not repeated around it, others inside of the
    outermost one are. Returns False, and changes nothing, where there are other statements in those loops, or an
    iteration touches what the init part of a later one does.
    """
    point = Point(block)
    inner: list[ForOp] = []
    repeated: list[ForOp] = []
    chosen: tuple[list[ForOp], list[ForOp]] | None = None
    for loop in _nest(block):
        reduces = point.is_used(loop.var, point.of("reduce"))
        if point.is_used(loop.var, point.of("spatial", "opaque")):
            if reduces:
                break
            repeated.insert(0, loop)
        elif not same(loop.trip_count, 1) and not (reduces and point.is_first_at_zero(loop.var)):
            break
        inner.insert(0, loop)
        if reduces and _stands_before(loop, init, block) and (not repeated or distributed(inner, [init])):
            chosen = [*inner], [*repeated]
    if chosen is None:
        return False
    _move(init, block, point, *chosen, rewriter)
    return True


def _nest(block: BlockOp) -> Iterator[ForOp]:
    """The loops around a block that run nothing else, innermost first."""
    op: Operation = block
    while isinstance(loop := op.parent_op(), ForOp):
        if not all(each is op or isinstance(each, AllocOp) or is_side_effect_free(each) for each in loop.block.ops):
            return
        yield loop
        op = loop


def _stands_before(loop: ForOp, init: InitOp, block: BlockOp) -> bool:
    """Return whether all that an init part uses, but for variables of its block, is there before a loop."""
    used = [operand for op in init.walk() for operand in op.operands]
    return all(
        operand in block.block.args or not loop.is_ancestor(operand.owner) or init.is_ancestor(operand.owner)
        for operand in used
    )


def _move(
    init: InitOp,
    block: BlockOp,
    point: Point,
    inner: Sequence[ForOp],
    repeated: Sequence[ForOp],
    rewriter: PatternRewriter,
) -> None:
    copies = [ForOp.make(loop.trip_count, loop.kind.data, loop.var.name_hint) for loop in repeated]
    for copy, loop in zip(copies, repeated, strict=True):
        copy.attributes |= loop.attributes
        copy.location = loop.location
    by: dict[SSAValue, SSAValue] = {loop.var: copy.var for loop, copy in zip(repeated, copies, strict=True)}
    point.at_start(by, {loop.var for loop in inner} - {*by})
    used = {operand for op in init.walk() for operand in op.operands}
    chosen = [number for number, argument in enumerate(block.block.args) if argument in used]
    count = len(point.values)
    start = BlockOp.make(
        block.label.data,
        [(block.kinds.data[number].data, block.domain[number]) for number in chosen],
        affine_map(count, tuple(point.exprs[number] for number in chosen)),
        point.values,
        where=[affine_map(count, tuple(guard)) for guard in point.guards],
        hints=[block.block.args[number].name_hint for number in chosen],
    )
    for number, argument in zip(chosen, start.block.args, strict=True):
        block.block.args[number].replace_uses_with_if(argument, lambda use: init.is_ancestor(use.operation))
    ops = list(init.block.ops)
    for op in ops:
        op.detach()
    start.block.add_ops(ops)
    # What loops around have left of the reduction.
    left = [expr * -1 for expr in point.of("reduce") if expr != AffineConstantExpr(0)]
    nest: Operation = start
    for copy in reversed(copies):
        copy.block.add_op(nest)
        nest = copy
    if left:
        outer = [value for value in point.values if value not in by.values()]
        dims = [AffineDimExpr(outer.index(v)) if v in outer else AffineConstantExpr(0) for v in point.values]
        branch = IfOp.make(affine_map(len(outer), tuple(substitute(expr, dims) for expr in left)), outer)
        branch.block.add_op(nest)
        nest = branch
    rewriter.insert(nest, InsertPoint.before(inner[0]))
    rewriter.erase(init)
