"""tir-rewrite-unsafe-select: the operand that a select does not choose cannot fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, IntegerType, ModuleOp, VectorType, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from ...dialects.affine import below, bounds
from ...dialects.sizes.kernel import affine_map, at_least, negative
from ...dialects.tir import CallExternOp, IndexOp, LoadOp, PrimFuncOp, buffer_of, prim_funcs
from ...dialects.tir import lanes as tir_lanes
from ...dialects.tir.index_maps import Ranges, Writer, blocks_of, flat_index, simplify_maps, view
from ...dialects.tir.lanes import scalar_type
from .analysis.effects import DIVISIONS
from .rewriting.constants import constant, zero
from .rewriting.ops import record

Select: TypeAlias = arith.SelectOp | tir_lanes.SelectOp


def run(func: PrimFuncOp) -> None:
    """Rewrite the selects of one kernel, inner ones first, in place."""
    _block(func.block, {})


def _block(block: Block, ranges: Ranges) -> None:
    for op in list(block.ops):
        match op:
            case arith.SelectOp() | tir_lanes.SelectOp() if not isinstance(op.operands[0].type, VectorType):
                for position in (1, 2):
                    _side(op, position, ranges)
            case _:
                for inner, inner_ranges in blocks_of(op, ranges):
                    _block(inner, inner_ranges)


def _side(select: Select, position: int, ranges: Ranges) -> None:
    """Guard what only operand `position` of a select needs."""
    block = select.parent
    assert block is not None
    own = _own(select, position)
    unsafe = [op for op in own if _is_unsafe(op, ranges)]
    if not unsafe:
        return
    # They and what is made of them move behind the condition.
    moved: list[Operation] = []
    for op in own:
        if op in unsafe or any(operand.owner in moved for operand in op.operands):
            moved.append(op)
    if _overtakes_store(moved, select):
        record("UnsafeSelect", select, "a store stands between it and what it selects: left as it is", gone=False)
        return
    for op in moved:
        op.detach()
        block.insert_op_before(op, select)
    chosen: SSAValue | None = None
    for op in unsafe:
        if isinstance(op, LoadOp):
            chosen = chosen if chosen is not None else _as_index(select, moved[0])
            _guard(op, chosen, taken=position == 1)
        else:
            _divide_by_one(op, select, position)
        record("UnsafeSelect", op, "it is guarded by the condition of its select", gone=False)


def _own(select: Select, position: int) -> list[Operation]:
    """The ops of the select's block whose results only that operand of it needs, in order."""
    reached: set[Operation] = set()
    stack = [select.operands[position]]
    while stack:
        owner = stack.pop().owner
        if isinstance(owner, Operation) and owner.parent is select.parent and owner not in reached:
            if isinstance(owner, LoadOp | DIVISIONS) or (owner.has_trait(Pure) and not owner.regions):
                reached.add(owner)
                stack.extend(owner.operands)
    own: set[Operation] = set()
    ops: list[Operation] = []
    op = select.prev_op
    left = len(reached)
    while op is not None and left:
        if op in reached:
            left -= 1
            uses = [use for result in op.results for use in result.uses]
            if all(u.operation in own or (u.operation is select and u.index == position) for u in uses):
                own.add(op)
                ops.append(op)
        op = op.prev_op
    return ops[::-1]


def _is_unsafe(op: Operation, ranges: Ranges) -> bool:
    if isinstance(op, LoadOp):
        seen = view(op, ranges)
        simplified = simplify_maps(seen.map, seen.guard, seen.ranges)
        type_ = buffer_of(op.buffer)
        # Any element of the buffer may be read, if not used.
        low, high = bounds(flat_index(seen.map, type_.strides), simplified.ranges)
        return not (at_least(low, 0) and below(high, type_.size)) and not simplified.never
    return isinstance(op, DIVISIONS) and _may_be_zero(op.operands[1], ranges)


def _may_be_zero(value: SSAValue, ranges: Ranges) -> bool:
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return number.data == 0
        case IndexOp() as op:
            seen = view(op, ranges)
            low, high = bounds(seen.map[0], seen.ranges)
            return not (at_least(low, 1) or negative(high))
        case _:
            return True


def _overtakes_store(moved: Sequence[Operation], select: Select) -> bool:
    """Return whether a buffer is written between a load that moves and the select."""
    read = {op.buffer for op in moved if isinstance(op, LoadOp)}
    op: Operation | None = moved[0]
    while op is not None and op is not select and read:
        for inner in op.walk():
            if isinstance(inner, CallExternOp) or (isinstance(inner, Writer) and inner.buffer in read):
                return True
        op = op.next_op
    return False


def _as_index(select: Select, before: Operation) -> SSAValue:
    """The condition of a select as an index: 0 or 1."""
    wide = arith.ExtUIOp(select.operands[0], i64)
    index = arith.IndexCastOp(wide.result, IndexType())
    assert before.parent is not None
    for op in (wide, index):
        op.location = select.location
        before.parent.insert_op_before(op, before)
    return index.result


def _guard(load: LoadOp, chosen: SSAValue, *, taken: bool) -> None:
    """Let a load happen only where `chosen` is 1, or only where it is 0."""
    count = len(load.indices)
    dim = AffineDimExpr(count)
    guard = (*(load.guard.data.results if load.guard is not None else ()), dim + -1 if taken else dim * -1)
    load.operands = [*load.operands, chosen]
    load.properties["map"] = AffineMapAttr(affine_map(count + 1, load.map.data.results))
    load.properties["guard"] = AffineMapAttr(affine_map(count + 1, guard))
    if load.otherwise is None:
        load.properties["otherwise"] = zero(load.result.type)


def _divide_by_one(division: Operation, select: Select, position: int) -> None:
    """Let a division that is not chosen be one by 1."""
    divisor = division.operands[1]
    scalar = cast("IntegerType | IndexType", scalar_type(divisor.type))
    one = constant(IntegerAttr(1, scalar), divisor.type, select.location)
    operands = (divisor, one.result) if position == 1 else (one.result, divisor)
    safe = arith.SelectOp(select.operands[0], *operands)
    safe.location = select.location
    assert division.parent is not None
    division.parent.insert_ops_before([one, safe], division)
    division.operands[1] = safe.result


@dataclass(frozen=True)
class TirRewriteUnsafeSelectPass(ModulePass):
    """Makes the operand that a select does not choose harmless, as a select computes both of its values.

    Unsafe is a load whose index may be outside of its buffer, by the bounds of the loops and its own guard, and an
    integer division by what may be 0.

    Before: any kernels, without vectors in conditions. After: an unsafe load that only one value of a select needs is
    guarded by its condition, and gives 0 (or what its own guard gives) where that value is not chosen; an unsafe
    division is one by 1 there. They stand behind the condition; where that would move a load past a store to its
    buffer, the select stays as it is, and the ledger says so.
    Locations: as they were; what is inserted has the select's.

    ```mlir
    tir.for %i in 8 {
      %0 = tir.load %n[%i] : !tir.buffer<8xi64> -> i64
      %1 = arith.index_cast %0 : i64 to index
      %2 = tir.load %a[%1] : !tir.buffer<8xf32> -> f32
      %3 = tir.load %c[%i] : !tir.buffer<8xi1> -> i1
      %4 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
      %5 = arith.select %3, %2, %4 : f32
      tir.store %5, %b[%i] : f32, !tir.buffer<8xf32>
    }
    // becomes
    tir.for %i in 8 {
      %0 = tir.load %n[%i] : !tir.buffer<8xi64> -> i64
      %1 = arith.index_cast %0 : i64 to index
      %2 = tir.load %c[%i] : !tir.buffer<8xi1> -> i1
      %3 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
      %4 = arith.extui %2 : i1 to i64
      %5 = arith.index_cast %4 : i64 to index
      %6 = tir.load %a[%1] if [%5 - 1] >= 0 else 0.0 : f32 : !tir.buffer<8xf32> -> f32
      %7 = arith.select %2, %6, %3 : f32
      tir.store %7, %b[%i] : f32, !tir.buffer<8xf32>
    }
    ```
    """

    name = "tir-rewrite-unsafe-select"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
