"""The body of a loop nest: a compute's ops at a point, its loads, and what a reduction combines.

Dim i of every affine expression is loop variable i of the lowering, which lies in range i.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.dialects.arith import MulfOp, SelectOp
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, LocationAttr, TensorType, UnitAttr
from xdsl.dialects.math import FmaOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects import te, tir
from ...dialects.affine import Range, below, bounds, linear, simplify, substitute
from ...dialects.sizes import Size
from ...dialects.sizes.kernel import affine_map, at_least, lifted
from ...dialects.sizes.types import extents_of
from ...provenance.builder import LocatedBuilder
from ...provenance.span import fuse, is_known
from ...te.schedule.itervar import IterVar
from ...te.schedule.relations import Interval
from ...te.schedule.stage_state import StageState
from . import reducers
from .storage import Stored


def room(index: AffineExpr, extent: Size) -> AffineExpr:
    """Return the distance of `index` from the last of `extent`; negative when it is past it."""
    return index * -1 + lifted(extent - 1)


def _zero(type_: Attribute) -> FloatAttr[AnyFloat] | IntegerAttr[Any]:
    return FloatAttr(0.0, type_) if isinstance(type_, AnyFloat) else IntegerAttr(0, cast(Any, type_))


def start_location(compute: te.ComputeOp) -> LocationAttr:
    """Return where it is said what a reduction starts from: its own location where its reducer says it."""
    location = fuse([op.location for value in compute.inits if not isinstance(op := value.owner, Block)])
    return location if is_known(location) else compute.location


def combine_location(compute: te.ComputeOp) -> LocationAttr:
    """Return where a reduction's terms are combined: what yields them is located there."""
    end = compute.block.last_op
    return end.location if end is not None and is_known(end.location) else compute.location


class BodyLowering:
    """Emits the scalar ops of computes into the block of `builder`."""

    def __init__(self, builder: LocatedBuilder):
        self.builder = builder
        self.storage: dict[SSAValue, Stored] = {}
        """The storage of each tensor's elements."""
        self.vars: list[SSAValue] = []
        self.ranges: list[Range] = []
        self.blocks = False
        """True when stages become blocks, whose lowering fuses products with sums."""
        self.past_the_end = False
        """True when the current computation may lie past the end of its tensor, where others are read as zero."""

    def free(self, extent: Size) -> AffineExpr:
        """A dim that runs over `extent` values."""
        self.ranges.append((0, extent - 1))
        return AffineDimExpr(len(self.ranges) - 1)

    def unknown(self) -> AffineExpr:
        """A dim of which nothing is known."""
        self.ranges.append(tir.UNBOUNDED)
        return AffineDimExpr(len(self.ranges) - 1)

    @staticmethod
    def points(
        stage: StageState, region: Sequence[Interval], values: dict[IterVar, AffineExpr]
    ) -> dict[SSAValue, AffineExpr]:
        """The compute's axis arguments in terms of loops."""
        points: dict[SSAValue, AffineExpr] = {}
        for argument, axis, interval in zip(stage.compute.axes, stage.axes, region, strict=True):
            points[argument] = values[axis] + interval.start
        for argument, axis in zip(stage.compute.reduce_axes, stage.reduce_axes, strict=True):
            points[argument] = values[axis]
        return points

    def access(self, exprs: Sequence[AffineExpr]) -> tuple[AffineMap, list[SSAValue]]:
        """A map over just the loop variables that `exprs` use."""
        ranges = tuple(self.ranges)
        simple = [linear(expr, ranges).expr for expr in exprs]
        used = sorted(set[int]().union(*(expr.used_dims() for expr in simple)))
        position = {dim: i for i, dim in enumerate(used)}
        dims = [AffineDimExpr(position.get(dim, 0)) for dim in range(len(self.vars))]
        return affine_map(len(used), tuple(substitute(e, dims) for e in simple)), [self.vars[d] for d in used]

    def target(
        self, compute: te.ComputeOp, points: dict[SSAValue, AffineExpr], storage: Stored
    ) -> tuple[AffineMap, list[SSAValue]]:
        return self.access(storage.place([points[axis] for axis in compute.axes]))

    def elements(self, compute: te.ComputeOp, points: dict[SSAValue, AffineExpr]) -> list[SSAValue]:
        """The ops of a compute's body at `points`; returns the yielded values."""
        return self.values(compute, points, compute.yields)

    def values(
        self,
        compute: te.ComputeOp,
        points: dict[SSAValue, AffineExpr],
        wanted: Sequence[SSAValue],
        needed: set[SSAValue] | None = None,
    ) -> list[SSAValue]:
        """Values of a compute's body at `points`. needed: those that are emitted; None for all, or just these's."""
        depth = len(self.vars)
        if needed is None and compute.inits:
            needed = te.behind(wanted, compute.block)
        values = self._body(compute, points, needed)
        del self.vars[depth:], self.ranges[depth:]
        return [values[value] for value in wanted]

    def starts(self, compute: te.ComputeOp, points: dict[SSAValue, AffineExpr]) -> list[SSAValue]:
        """Return the values that a reduction starts from."""
        if compute.inits:
            return self.values(compute, points, compute.inits)
        if compute.identity is not None:
            return [reducers.constant(self.builder, number) for number in compute.identity]
        assert compute.reducer is not None
        return [reducers.identity(self.builder, compute.reducer.data, compute.result.type.element_type)]

    def combined(
        self, compute: te.ComputeOp, points: dict[SSAValue, AffineExpr], olds: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The accumulators after one more term; a product that is summed is a fused multiply-add, but in blocks."""
        assert compute.reducer is not None
        terms = self.elements(compute, points)
        if compute.combiner is not None:
            news = self._custom(compute, compute.combiner.block, [*olds, *terms])
            return self._predicated(terms, olds, news) if te.PREDICATED in compute.attributes else news
        (old,), (term,) = olds, terms
        product = term.owner
        is_sum = compute.reducer.data == "sum" and not self.blocks
        if is_sum and isinstance(product, MulfOp) and not term.has_one_use() and not term.uses:
            a, b = product.operands
            location = fuse([product.location, self.builder.location])
            product.detach()
            product.erase()
            op = FmaOp(a, b, old)
            op.location = location
            return [self.builder.add(op).result]
        return [reducers.combine(self.builder, compute.reducer.data, compute.result.type.element_type, old, term)]

    def _predicated(
        self, terms: Sequence[SSAValue], olds: Sequence[SSAValue], news: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Return the old values where a reduction's condition does not hold: the terms select by it."""
        select = terms[0].owner
        assert isinstance(select, SelectOp)
        pairs = zip(news, olds, strict=True)
        return [self.builder.add(SelectOp(select.cond, new, old)).result for new, old in pairs]

    def _custom(self, compute: te.ComputeOp, combiner: Block, operands: Sequence[SSAValue]) -> list[SSAValue]:
        """The combiner's ops on accumulators and terms."""
        values = dict[SSAValue, SSAValue](zip(combiner.args, operands, strict=True))
        for op in combiner.ops:
            if not isinstance(op, te.YieldOp):
                with self.builder.located(op.location if is_known(op.location) else compute.location):
                    is_size = isinstance(op, te.IndexOp)
                    made = tir.IndexOp.make(op.map.data, []) if is_size else op.clone(values)
                    copy = self.builder.add(made)
                values.update(zip(op.results, copy.results, strict=True))
        return [values[value] for value in compute.combined]

    def _body(
        self, compute: te.ComputeOp, points: dict[SSAValue, AffineExpr], wanted: set[SSAValue] | None
    ) -> dict[SSAValue, SSAValue]:
        """The values of the body's, all or just those wanted, at `points`."""
        values: dict[SSAValue, SSAValue] = {}
        dim_of = dict(points)

        def dims_of(indices: Iterable[SSAValue]) -> list[AffineExpr]:
            dims: list[AffineExpr] = []
            for index in indices:
                if index not in dim_of:
                    # A computed index: from here on a variable of its own, bounded by nothing.
                    dim_of[index] = AffineDimExpr(len(self.vars))
                    self.vars.append(values[index])
                    self.ranges.append(tir.UNBOUNDED)
                dims.append(dim_of[index])
            return dims

        for op in compute.block.ops:
            if wanted is not None and op.results and op.results[0] not in wanted:
                continue
            with self.builder.located(op.location if is_known(op.location) else compute.location):
                match op:
                    case te.ReadOp():
                        dims = dims_of(op.indices)
                        point = [substitute(expr, dims) for expr in op.map.data.results]
                        values[op.result] = self.load(op, point)
                    case te.IndexOp():
                        dims = dims_of(op.indices)
                        map, operands = self.access([substitute(e, dims) for e in op.map.data.results])
                        values[op.result] = self.builder.add(tir.IndexOp.make(map, operands, IndexType())).result
                    case te.YieldOp():
                        break
                    case _:
                        copy = self.builder.add(op.clone(values))
                        values.update(zip(op.results, copy.results, strict=True))
        return values

    def load(self, read: te.ReadOp, point: list[AffineExpr]) -> SSAValue:
        """The element that is read at a point, or what the read has where there is none."""
        storage = self.storage[read.tensor]
        exprs = storage.place(point)
        guard: list[AffineExpr] = []
        otherwise, is_past = read.otherwise, read.otherwise is None and self.past_the_end
        if is_past:
            otherwise = _zero(read.result.type)
        if otherwise is not None:
            shape = extents_of(cast(TensorType[Attribute], read.tensor.type))
            for dim, (expr, extent) in enumerate(zip(point, shape, strict=True)):
                if dim in storage.rounded:
                    continue
                low, high = bounds(expr, self.ranges)
                if not at_least(low, 0):
                    guard.append(simplify(expr, self.ranges))
                if not below(high, extent):
                    guard.append(room(expr, extent))
        if not guard:
            return self.builder.add(tir.LoadOp.make(storage.buffer, *self.access(exprs))).result
        map, operands = self.access([*exprs, *guard])
        rank = len(exprs)
        load = tir.LoadOp.make(
            storage.buffer,
            affine_map(map.num_dims, map.results[:rank]),
            operands,
            guard=affine_map(map.num_dims, map.results[rank:]),
            otherwise=otherwise,
        )
        if is_past:
            load.attributes[tir.PAST_THE_END] = UnitAttr()
        return self.builder.add(load).result
