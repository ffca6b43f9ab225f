"""Terms of sums that need not be added, as data say: those of products nobody reads, and products with zeros.

A flag says whether any element of a tile is wanted. It is raised lane by lane, so that a test takes a few instructions
for the hundreds of a tile's products.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.arith import MulfOp, SelectOp
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects import te, tir
from ...dialects.affine import ZERO, substitute
from ...dialects.sizes.kernel import affine_map
from ...te.schedule.itervar import IterVar
from ...te.schedule.relations import axis_values
from .reducers import constant
from .stores import Nest
from .tensorized import TileLowering

SKIP_MASKED = "pragma_skip_masked"
"""The hint of a loop that a sum is computed in: no terms are added where the stage around chooses no element of it.

A stage chooses by a select of which the sum is one value. The results are the same bits."""
SKIP_ZEROS = "pragma_skip_zeros"
"""The hint of a reduction's loop: passes are left out in which all numbers of one factor are 0.

A term that is left out is 0, unless the other factor is infinite or NaN."""
_TOTAL = "pragma_vector_reduction"

Condition = Callable[[], SSAValue]


def chosen(host: te.ComputeOp, product: te.ComputeOp) -> tuple[SSAValue, bool] | None:
    """The condition by which a stage chooses its elements, and the value for which they are those of a product."""
    select = host.yields[0].owner if len(host.yields) == 1 else None
    if not isinstance(select, SelectOp):
        return None
    reads = {read.result for read in host.reads if read.tensor.owner is product}
    condition, first, second = (not reads.isdisjoint(te.behind([value], host.block)) for value in select.operands)
    return (select.cond, first) if not condition and first is not second else None


def factor(product: te.ComputeOp, axis: SSAValue) -> te.ReadOp | None:
    """The factor of a sum's products that is the same for all of its columns, if it is read along an axis."""
    if product.reducer is None or product.reducer.data != "sum" or product.combiner is not None:
        return None
    (term,) = product.yields
    for read in product.reads:
        is_factor = isinstance(term.owner, MulfOp) and read.result in term.owner.operands
        if is_factor and axis in read.indices and product.axes[-1] not in read.indices:
            return read
    return None


class SkipLowering(TileLowering):
    """Emits tests of tiles, and branches for those that are wanted."""

    def flags(self, lanes: int) -> SSAValue:
        """A flag for each lane, none of which is raised."""
        flags = self._flags(lanes)
        with self._loop(lanes, "vectorized") as lane:
            self._set(flags, lane, self._number(0))
        return flags

    def raise_flag(self, flags: SSAValue, lane: AffineExpr, condition: SSAValue, raised: bool = True) -> None:
        """Raise the flag of a lane where a condition has some value."""
        old, one = self._get(flags, lane), self._number(1)
        values = (one, old) if raised else (old, one)
        self._set(flags, lane, self.builder.add(SelectOp(condition, *values)).result)

    def any_of(self, flags: SSAValue) -> SSAValue:
        """One flag, which is raised where any of those of the lanes is."""
        (lanes,) = tir.buffer_of(flags).get_shape()
        any_ = self._flags(1)
        self._set(any_, ZERO, self._number(0))
        with self._loop(cast(int, lanes), "serial") as lane:
            self._set(any_, ZERO, self.builder.add(arith.OrIOp(self._get(any_, ZERO), self._get(flags, lane))).result)
        return any_

    def branch(self, flag: SSAValue, raised: bool = True) -> tir.IfOp:
        """A branch that is taken where a flag is raised, or where it is not."""
        predicate = "ne" if raised else "eq"
        is_taken = self.builder.add(arith.CmpiOp(self._get(flag, ZERO), self._number(0), predicate)).result
        number = self.builder.add(arith.ExtUIOp(is_taken, i64)).result
        index = self.builder.add(arith.IndexCastOp(number, IndexType())).result
        return self.builder.add(tir.IfOp.make(affine_map(1, (AffineDimExpr(0) - 1,)), [index]))

    def condition(self, compute: te.ComputeOp, points: dict[SSAValue, AffineExpr], value: SSAValue) -> SSAValue:
        """A value of a compute's body at a point; past the end of tensors that of zeros."""
        self.past_the_end = True
        (result,) = self.values(compute, points, [value], te.behind([value], compute.block))
        self.past_the_end = False
        return result

    def skip_zeros(self, nest: Nest, axis: IterVar, bound: dict[IterVar, AffineExpr]) -> None:
        """Go on inside a branch for the passes of a reduction's loop in which a factor has numbers other than 0.

        The first number of a pass decides if it is not 0, as all that is not masked is.
        """
        stage, compute = nest.stage, nest.stage.compute
        if axis not in stage.leaf or not axis.reduce:
            stage.fail("pragma", f"expected an axis of a reduction for skip_zeros, got {axis.name}")
        inside = stage.leaf[stage.leaf.index(axis) + 1 :]
        terms = next((leaf for leaf in inside if leaf.reduce), None)
        read = factor(compute, compute.reduce_axes[-1])
        lanes = nest.extents[stage.leaf[-1]]
        count = nest.extents[terms] if terms is not None else 0
        if read is None or terms is None or not isinstance(lanes, int) or not isinstance(count, int) or count % lanes:
            return
        depth = len(self.ranges)
        free = {leaf: self.free(nest.extents[leaf]) for leaf in inside}
        used = set[int]().union(*(expr.used_dims() for expr in self._point(nest, read, bound | free)))
        del self.ranges[depth:]
        rows = [leaf for dim, leaf in enumerate(inside, depth) if leaf is not terms and dim in used]
        first = bound | dict.fromkeys(inside, ZERO)
        with self.builder.located(compute.location):
            flag = self._flags(1)
            self._set(flag, ZERO, self._number(0))
            self.raise_flag(flag, ZERO, self._is_number(nest, read, first))
            block = self.builder.block
            self.builder.block = self.branch(flag, raised=False).block
            flags = self.flags(lanes)
            self._test(nest, read, first, rows, terms, flags)
            self._set(flag, ZERO, self._get(self.any_of(flags), ZERO))
            self.builder.block = block
            self.builder.block = self.branch(flag).block

    def _test(
        self,
        nest: Nest,
        read: te.ReadOp,
        bound: dict[IterVar, AffineExpr],
        rows: list[IterVar],
        terms: IterVar,
        flags: SSAValue,
    ) -> None:
        """Raise the flags of lanes of terms in which a factor has other numbers than 0 in any of some rows."""
        if rows:
            with self._loop(cast(int, nest.extents[rows[0]]), "unrolled") as row:
                self._test(nest, read, {**bound, rows[0]: row}, rows[1:], terms, flags)
            return
        lanes = cast(int, tir.buffer_of(flags).get_shape()[0])
        with (
            self._loop(cast(int, nest.extents[terms]) // lanes, "unrolled") as vector,
            self._loop(lanes, "vectorized") as lane,
        ):
            here = {**bound, terms: vector * lanes + lane}
            self.raise_flag(flags, lane, self._is_number(nest, read, here))

    def _point(self, nest: Nest, read: te.ReadOp, leaves: Mapping[IterVar, AffineExpr]) -> list[AffineExpr]:
        points = self.points(nest.stage, nest.region, axis_values(nest.stage, nest.extents, leaves))
        return [substitute(expr, [points[index] for index in read.indices]) for expr in read.map.data.results]

    def _is_number(self, nest: Nest, read: te.ReadOp, leaves: Mapping[IterVar, AffineExpr]) -> SSAValue:
        """The condition that a factor is not 0 where loops are at `leaves`."""
        self.past_the_end = True
        value = self.load(read, self._point(nest, read, leaves))
        self.past_the_end = False
        zero = constant(self.builder, FloatAttr(0.0, cast(AnyFloat, value.type)))
        return self.builder.add(arith.CmpfOp(value, zero, "une")).result

    @contextmanager
    def _loop(self, extent: int, kind: str) -> Generator[AffineExpr]:
        """A loop of the lowering's own; gives its variable. A serial one reduces lanes."""
        block = self.builder.block
        loop = tir.ForOp.make(extent, kind)
        if kind == "serial":
            loop.attributes[_TOTAL] = UnitAttr()
        self.builder.block = self.builder.add(loop).block
        self.vars.append(loop.var)
        yield self.free(extent)
        self.vars.pop()
        self.ranges.pop()
        self.builder.block = block

    def _flags(self, count: int) -> SSAValue:
        return self.builder.add(tir.AllocOp(tir.BufferType.of((count,), i32, "local"))).result

    def _number(self, number: int) -> SSAValue:
        return constant(self.builder, IntegerAttr(number, cast(Any, i32)))

    def _get(self, flags: SSAValue, lane: AffineExpr) -> SSAValue:
        return self.builder.add(tir.LoadOp.make(flags, *self.access([lane]))).result

    def _set(self, flags: SSAValue, lane: AffineExpr, value: SSAValue) -> None:
        self.builder.add(tir.StoreOp.make(value, flags, *self.access([lane])))
