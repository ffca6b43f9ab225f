"""tir-instrument-bound-checkers: accesses that may leave their buffer are tested as they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp, IndexCastOp
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

from ...dialects.affine import below, bounds, flatten, linear
from ...dialects.sizes import Size
from ...dialects.sizes.kernel import affine_map, at_least, lifted
from ...dialects.tir import CallExternOp, IfOp, IndexOp, LoadOp, PrimFuncOp, StoreOp, buffer_of, prim_funcs
from ...dialects.tir.index_maps import LEADING, Ranges, blocks_of, simplify_maps, view
from ...dialects.tir.lanes import lanes
from ...provenance.span import layer_names
from ...provenance.walk import walk
from ...runtime.program.bounds import CALLBACK
from .analysis.integer_ranges import integer_ranges
from .rewriting.constants import zero

LAST_LANE = -1
"""The dimension that stands for the flat index of a vector's last lane."""
SITES = "bound_sites"
"""The attribute of a prim_func that says what its sites are: `[["buffer", "layer", ..], ..]`."""


class Site(NamedTuple):
    """An access that is tested."""

    buffer: str
    layers: tuple[str, ...]


def sites_of(func: PrimFuncOp) -> tuple[Site, ...]:
    """The sites of an instrumented kernel, by number."""
    table = func.attributes.get(SITES)
    if not isinstance(table, ArrayAttr):
        return ()
    rows = cast("ArrayAttr[ArrayAttr[StringAttr]]", table)
    return tuple(Site(name.data, tuple(layer.data for layer in layers)) for name, *layers in rows)


def run(func: PrimFuncOp) -> None:
    """Instrument one kernel, in place."""
    checks = _Checks(_names(func))
    checks.block(func.block, integer_ranges(func))
    func.attributes[SITES] = ArrayAttr(
        [ArrayAttr([StringAttr(text) for text in (site.buffer, *site.layers)]) for site in checks.sites]
    )


def _names(func: PrimFuncOp) -> dict[SSAValue, str]:
    """Return the names of buffers for messages."""
    names: dict[SSAValue, str] = {}
    for number, value in enumerate([*func.block.args, *(result for op in walk(func) for result in op.results)]):
        names[value] = value.name_hint or (f"argument {number}" if isinstance(value, BlockArgument) else "a buffer")
    return names


class _Test(NamedTuple):
    """An index that may leave [0, extent)."""

    dimension: int
    expr: AffineExpr
    extent: Size
    low: bool
    high: bool

    @property
    def outside(self) -> list[AffineExpr]:
        """Expressions of which one is not negative where the index is outside."""
        return [self.expr * -1 - 1] * self.low + [self.expr + lifted(-self.extent)] * self.high

    @property
    def inside(self) -> list[AffineExpr]:
        """Expressions that are not negative where it is inside."""
        return [self.expr] * self.low + [self.expr * -1 + lifted(self.extent - 1)] * self.high


@dataclass
class _Checks:
    names: dict[SSAValue, str]
    sites: list[Site] = field(default_factory=lambda: list[Site]())

    def block(self, block: Block, ranges: Ranges) -> None:
        for op in list(block.ops):
            match op:
                case LoadOp() | StoreOp():
                    if tests := _tests(op, ranges):
                        self._instrument(op, tests)
                case _:
                    for inner, inner_ranges in blocks_of(op, ranges):
                        self.block(inner, inner_ranges)

    def _instrument(self, op: LoadOp | StoreOp, tests: Sequence[_Test]) -> None:
        site = len(self.sites)
        self.sites.append(Site(self.names[op.buffer], layer_names(op.location)))
        indices = op.operands[LEADING[type(op)] :]
        guard = op.guard.data.results if isinstance(op, LoadOp) and op.guard is not None else ()
        for test in tests:
            for outside in test.outside:
                # The access happens only where its own guard holds.
                report = _if([*guard, outside], indices, op)
                _add(report.block, _report(site, test, indices), op)
                _before(op, report)
        inside = [expr for test in tests for expr in test.inside]
        if isinstance(op, LoadOp):
            op.properties["guard"] = AffineMapAttr(affine_map(len(indices), (*guard, *inside)))
            if op.otherwise is None:
                op.properties["otherwise"] = zero(op.result.type)
        else:
            branch = _if(inside, indices, op)
            _before(op, branch)
            op.detach()
            branch.block.add_op(op)


def _tests(op: LoadOp | StoreOp, ranges: Ranges) -> list[_Test]:
    """Return the tests for the parts of an access that are not certain, in terms of its own index operands."""
    seen = view(op, ranges)
    simplified = simplify_maps(seen.map, seen.guard, seen.ranges)
    if simplified.never:
        return []
    type_ = buffer_of(op.buffer)
    exprs = list(zip(op.map.data.results, seen.map, type_.get_shape(), strict=True))
    tests: list[_Test] = []
    for dimension, (expr, resolved, extent) in enumerate(exprs):
        low, high = bounds(resolved, simplified.ranges)
        under, over = not at_least(low, 0), not below(high, extent)
        if under or over:
            tests.append(_Test(dimension, expr, extent, under, over))
    (count,) = lanes(op.result.type if isinstance(op, LoadOp) else op.value.type) or (1,)
    if span := op.step * (count - 1):
        low, high = bounds(flatten(seen.map, type_.strides) + span, simplified.ranges)
        # A first lane inside leaves one end for the last.
        if not at_least(low, 0) if span < 0 else not below(high, type_.size):
            last = flatten(op.map.data.results, type_.strides) + span
            tests.append(_Test(LAST_LANE, last, type_.size, span < 0, span > 0))
    return tests


def _if(exprs: Sequence[AffineExpr], indices: Sequence[SSAValue], asker: Operation) -> IfOp:
    unbounded = ((-(1 << 62), 1 << 62),) * len(indices)
    simple = tuple(linear(expr, unbounded).expr for expr in exprs)
    op = IfOp.make(affine_map(len(indices), simple), indices)
    op.location = asker.location
    return op


def _report(site: int, test: _Test, indices: Sequence[SSAValue]) -> list[Operation]:
    """The call that tells where and by which index."""
    number, dimension = (ConstantOp(IntegerAttr(value, i64)) for value in (site, test.dimension))
    number.result.name_hint, dimension.result.name_hint = "site", "dimension"
    index = IndexOp.make(affine_map(len(indices), (test.expr,)), indices)
    wide = IndexCastOp(index.result, i64)
    call = CallExternOp(CALLBACK, [number.result, dimension.result, wide.result], [])
    return [number, dimension, index, wide, call]


def _add(block: Block, ops: Sequence[Operation], asker: Operation) -> None:
    for op in ops:
        op.location = asker.location
        block.add_op(op)


def _before(op: Operation, new: Operation) -> None:
    assert op.parent is not None
    op.parent.insert_op_before(new, op)


@dataclass(frozen=True)
class TirInstrumentBoundCheckersPass(ModulePass):
    """Guards each load and store whose indices are not known to be inside of its buffer, and reports misses.

    Known are the ranges of loop variables, and of what is computed from them, from constants and by clipping.

    Before: any kernels; best before vectors and flat buffers, while indices are those of the source. After: such an
    access happens only where its indices are inside; else a load gives 0, and in both cases the C function
    `whence_bound_error` is called with the number of the access, the dimension and the index (-1 and a flat index for
    the last lane of a vector). The attribute `bound_sites` of the kernel says per number which buffer it is, and which
    layers.
    Locations: what is inserted has those of the access.

    ```mlir
    tir.prim_func @f(%a: !tir.buffer<4xi32>, %b: !tir.buffer<8xf32>, %c: !tir.buffer<4xf32>) outputs 1 {
      tir.for %i in 4 {
        %0 = tir.load %a[%i] : !tir.buffer<4xi32> -> i32
        %1 = arith.index_cast %0 : i32 to index
        %2 = tir.load %b[%1] if [%1] >= 0 else 7.0 : f32 : !tir.buffer<8xf32> -> f32
        tir.store %2, %c[%i] : f32, !tir.buffer<4xf32>
      }
    }
    // becomes
    tir.prim_func @f(%a: !tir.buffer<4xi32>, %b: !tir.buffer<8xf32>, %c: !tir.buffer<4xf32>) outputs 1
        attributes {bound_sites = [["b"]]} {
      tir.for %i in 4 {
        %0 = tir.load %a[%i] : !tir.buffer<4xi32> -> i32
        %1 = arith.index_cast %0 : i32 to index
        tir.if [%1, %1 - 8] >= 0 {
          %site = arith.constant 0 : i64
          %dimension = arith.constant 0 : i64
          %2 = tir.index [%1] : index
          %3 = arith.index_cast %2 : index to i64
          tir.call_extern "whence_bound_error"(%site, %dimension, %3) : (i64, i64, i64) -> ()
        }
        %4 = tir.load %b[%1] if [%1, 7 - %1] >= 0 else 7.0 : f32 : !tir.buffer<8xf32> -> f32
        tir.store %4, %c[%i] : f32, !tir.buffer<4xf32>
      }
    }
    ```
    """

    name = "tir-instrument-bound-checkers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
