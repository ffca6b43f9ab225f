"""tir-vectorize: a loop of kind `vectorized` becomes straight vector code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, LocationAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ...dialects.affine import below, hull, substitute
from ...dialects.sizes import ceil_div, proves, same
from ...dialects.sizes.kernel import at_least
from ...dialects.tir import UNBOUNDED, ForOp, IfOp, LoadOp, PrimFuncOp, StoreOp, buffer_of, element_bytes, prim_funcs
from ...dialects.tir.index_maps import Ranges, blocks_of, simplify_maps, view
from ...provenance.span import fuse
from ...provenance.walk import walk
from ...support.machine import WIDEST, Machine
from .analysis.lanes import Condition, Lanes, Obstacle, conditions, is_width
from .rewriting.index_set_splitting import strip_mine, subrange
from .rewriting.lane_reduction import HINT, reduce_lanes
from .rewriting.ops import inline_before, record
from .rewriting.vectorized_body import Copies, VectorizedBody
from .rewriting.whole_rows import lengthen_rows

_SERIAL = StringAttr("serial")
_UNROLLED = 256
"""Ops of all lanes together that may be run without a loop where they do not become vectors."""


def run(func: PrimFuncOp, machine: Machine = WIDEST) -> bool:
    """Turn the vectorized loops of one kernel into vectors of a machine, in place.

    Says whether loops of one iteration are left.
    """
    _block(func.block, {}, {}, machine)
    lengthen_rows(func)
    return any(isinstance(op, ForOp) and same(op.trip_count, 1) for op in walk(func))


def serialize(func: PrimFuncOp) -> None:
    """Let the vectorized loops of one kernel run one lane after the other, in place."""
    for op in func.walk():
        if isinstance(op, ForOp) and op.kind.data == "vectorized":
            op.properties["kind"] = _SERIAL
            record("Serialize", op, "vectors are off", gone=False)


def _block(block: Block, ranges: Ranges, copies: Copies, machine: Machine) -> None:
    for op in list(block.ops):
        for inner, inner_ranges in blocks_of(op, ranges):
            _block(inner, inner_ranges, copies, machine)
        if not isinstance(op, ForOp):
            continue
        if op.kind.data == "vectorized":
            _loop(op, ranges, copies, machine)
        elif HINT in op.attributes:
            _reduction(op, ranges, copies, machine.vector_bytes)


def _reduction(loop: ForOp, ranges: Ranges, copies: Copies, register: int) -> None:
    try:
        reduce_lanes(loop, ranges, copies, register)
    except Obstacle as obstacle:
        record("Serialize", loop, str(obstacle), gone=False)


def _leave(loop: ForOp, reason: str) -> None:
    """Run the lanes of a loop one after the other; without jumps where each looks something up and little else."""
    inside = list(walk(loop))
    looks_up = any(isinstance(op, arith.IndexCastOp) for op in inside)
    short = loop.is_known and cast(int, loop.trip_count) * len(inside) <= _UNROLLED
    plain = not any(isinstance(op, ForOp | IfOp) for op in inside if op is not loop)
    loop.properties["kind"] = StringAttr("unrolled") if looks_up and short and plain else _SERIAL
    record("Serialize", loop, reason, gone=False)


def _shrink(loop: ForOp, ranges: Ranges) -> None:
    """Leave out the iterations at the end of a loop in which the one branch that it consists of is never taken."""
    branch = loop.block.first_op
    if not isinstance(branch, IfOp) or branch.next_op is not None or branch.orelse is not None:
        return
    seen = view(branch, ranges)
    if loop.var not in seen.values:
        return
    simplified = simplify_maps((), seen.guard, seen.ranges)
    used = simplified.ranges[seen.values.index(loop.var)][1] + 1
    if not simplified.never and isinstance(used, int) and below(used, loop.trip_count):
        record("Shrink", loop, f"nothing happens in iterations {used} to {loop.trip_count - 1}", gone=False)
        loop.properties["extent"] = IntegerAttr(used, i64)
        ranges[loop.var] = (0, used - 1)


def _loop(loop: ForOp, ranges: Ranges, copies: Copies, machine: Machine) -> None:
    register = machine.vector_bytes
    _shrink(loop, ranges)
    parts = [loop]
    try:
        if not loop.is_known or not is_width(cast(int, loop.trip_count), register):
            parts = _strip_mined(loop, ranges, machine)
        plans = [(part, Lanes(part, ranges, _width(part, register))) for part in _innermost(parts, ranges)]
    except Obstacle as obstacle:
        for part in parts:
            if part is not loop:
                part.erase()
        if not _both_ways(loop, ranges, copies, register):
            _leave(loop, str(obstacle))
        return
    if parts != [loop]:
        assert loop.parent is not None
        loop.parent.insert_ops_before(parts, loop)
        record("Split", loop, f"{loop.trip_count} iterations in steps of at most {plans[0][1].width} lanes", parts)
        loop.detach()
        loop.erase()
    for part, lanes in plans:
        _open(part, lanes, copies)


def _open(loop: ForOp, lanes: Lanes, copies: Copies) -> None:
    """Replace a loop by its body, all lanes at once."""
    VectorizedBody(loop, lanes, copies).run()
    moved = inline_before(loop.block, loop)
    iterations = loop.trip_count
    used = "" if at_least(iterations, lanes.width) else f", {iterations} of them in use"
    record("Vectorize", loop, f"{lanes.width} lanes{used}", moved)
    loop.detach()
    loop.erase()


def _width(loop: ForOp, register: int) -> int:
    """The lanes of a loop: as many as it has iterations, or may have, or the next power of two."""
    most = hull((0, loop.trip_count))[1]
    return min(register, 1 << (most - 1).bit_length())


def _strip_mined(loop: ForOp, ranges: Ranges, machine: Machine) -> list[ForOp]:
    """A loop of any extent as a loop around one of as many lanes as a register holds, and one of fewer passes.

    A machine without masks of lanes has none for bytes: fewer passes are then as many vectors as their number has bits.
    """
    extent, register = loop.trip_count, machine.vector_bytes
    many = not below(extent, 2)
    stores = (op for op in loop.walk() if isinstance(op, StoreOp))
    sizes = [element_bytes(buffer_of(op.buffer).element_type) for op in stores]
    if not many or not sizes:
        raise Obstacle("it stores nothing" if many else f"its extent is {extent}")
    if (width := register // max(sizes)) < 2:
        raise Obstacle("a register holds no two of its elements")
    covered = extent // width * width
    loops: list[ForOp] = []
    if not same(covered, 0):
        full = subrange(loop, 0, covered, ranges)
        if not below(covered, width + 1):
            loops.append(strip_mine(full, width, ranges))
            full.erase()
        else:
            loops.append(full)
    if proves(extent, "<=", covered):
        return loops
    if isinstance(extent, int) and not machine.mask_registers and _has_bytes(loop):
        begin = cast(int, covered)
        while width := width // 2:
            if extent & width:
                loops.append(subrange(loop, begin, begin + width, ranges))
                begin += width
        return loops
    rest = subrange(loop, covered, extent, ranges)
    loops.append(rest if rest.is_known else _if_any(rest, width))
    return loops


def _has_bytes(loop: ForOp) -> bool:
    """Return whether it loads or stores elements of fewer than 4 bytes."""
    accesses = (op for op in loop.walk() if isinstance(op, LoadOp | StoreOp))
    return any(element_bytes(buffer_of(op.buffer).element_type) < 4 for op in accesses)


def _if_any(rest: ForOp, width: int) -> ForOp:
    """A loop of one pass, or of none, around one of fewer passes than a vector has lanes, or of none."""
    outer = ForOp.make(ceil_div(rest.trip_count, width))
    outer.location, outer.var.location = rest.location, rest.var.location
    outer.block.add_op(rest)
    return outer


def _innermost(parts: Sequence[ForOp], ranges: Ranges) -> Iterator[ForOp]:
    """The loops of lanes among the parts; a rest of one iteration is none. The ranges of their variables are noted."""
    for part in parts:
        for op in part.walk():
            if isinstance(op, ForOp):
                ranges[op.var] = op.bounds
        inner = part.block.first_op if part.kind.data != "vectorized" else part
        assert isinstance(inner, ForOp)
        if not below(inner.trip_count, 2):
            yield inner
        else:
            inner.properties["kind"] = _SERIAL


def _both_ways(loop: ForOp, ranges: Ranges, copies: Copies, register: int) -> bool:
    """Where the body has no vector form because a branch differs by lane: vectors if all lanes take it, else a loop.

    False, and nothing is done, where no branch does, or more is in the way.
    """
    if not loop.is_known or not is_width(cast(int, loop.trip_count), register):
        return False
    if not (guarded := conditions(loop, ranges)):
        return False
    if (guard := _in_all_lanes(loop, list(guarded.values()), ranges)) is None:
        return False
    full = loop.clone()
    for op in full.walk():
        if isinstance(op, ForOp):
            ranges[op.var] = op.bounds
    ops = list(full.block.ops)
    for position in guarded:
        branch = ops[position]
        assert isinstance(branch, IfOp)
        inline_before(branch.block, branch)
        branch.detach()
        branch.erase()
    try:
        lanes = Lanes(full, ranges, cast(int, full.trip_count))
    except Obstacle:
        full.erase()
        return False
    _choose(loop, full, *guard, fuse([list(loop.block.ops)[position].location for position in guarded]))
    _open(full, lanes, copies)
    _leave(loop, "only some lanes take its branches")
    return True


def _in_all_lanes(
    loop: ForOp, conditions: Sequence[Condition], ranges: Ranges
) -> tuple[AffineMap, list[SSAValue]] | None:
    """A guard that holds where every condition does in all lanes, and what it is over; None if that is never."""
    values = list(dict.fromkeys(value for condition in conditions for value in condition.values))
    exprs: list[AffineExpr] = []
    for condition in conditions:
        dims = [AffineDimExpr(values.index(value)) for value in condition.values]
        for first, step in zip(condition.first, condition.steps, strict=True):
            exprs.append(substitute(first, dims) + min(0, step * (cast(int, loop.trip_count) - 1)))
    simplified = simplify_maps((), tuple(exprs), tuple(ranges.get(value, UNBOUNDED) for value in values))
    if simplified.never or simplified.guard is None:
        return None
    return simplified.guard.data, [values[i] for i in simplified.kept]


def _choose(loop: ForOp, full: ForOp, guard: AffineMap, values: Sequence[SSAValue], location: LocationAttr) -> None:
    """Put `full` where the guard holds, and `loop` where not; `location` is that of the branches it stands for."""
    branch = IfOp.make(guard, values, likely=True, orelse=True)
    branch.location = location
    assert loop.parent is not None
    assert branch.orelse is not None
    loop.parent.insert_op_before(branch, loop)
    loop.detach()
    branch.block.add_op(full)
    branch.orelse.block.add_op(loop)
    record("BothWays", loop, "vectors where all lanes take its branches", [branch], gone=False)


@dataclass(frozen=True)
class TirVectorizePass(ModulePass):
    """Makes vectors of the loops of kind `vectorized`.

    vector_bits: of the machine's vectors.

    Before: any kernels. After: no loop is `vectorized`. A loop whose lanes do not depend on each other is replaced by
    its body, where what differs by lane is a vector; a load, store or index moves by `stride` from lane to lane. A loop
    has 2, 4, 8, .. lanes, at most one for each byte of a vector; one of another extent goes on in steps of as many
    lanes as a vector holds, and lanes that are too many in the last step do nothing. (A machine that has no masks for
    elements of fewer than 4 bytes takes several vectors for that step, each of half as many lanes as one before.)

    A loop with the attribute `pragma_vector_reduction` that ends in `out = combine(out, term)`, of one element, becomes
    vectors of its terms, which are combined lane by lane, and one `vector.reduction` of the last into the element; of
    floats the order is another then. Where it has no such form it stays.

    Where a guard or branch differs by lane, its loads and stores are masked (`tir.mask`); rows of local buffers that
    end inside such a vector become as long as it is. What cannot be masked - a call, a division by what may be 0, a
    store of one element - has vectors where all lanes take the branch, and a serial loop where not. A loop whose index
    divides the lane or depends on data of the lane, whose lanes meet in one element, or that calls a function per lane
    is `serial`, or `unrolled` where few lanes look something up at an index that is data (the ledger says why). Of
    nested ones the innermost wins.

    Locations: ops keep theirs; a value that is copied to all lanes has the locations of the ops that asked for it, a
    mask that of the branch or access it is for; a `vector.reduction` has the location of what it combines by.

    ```mlir
    tir.for %i in 4 {
      tir.for vectorized %j in 16 {
        %0 = tir.load %a[%i, %j] : !tir.buffer<4x16xf32> -> f32
        %1 = tir.load %b[%i] : !tir.buffer<4xf32> -> f32
        %2 = arith.addf %0, %1 : f32
        tir.store %2, %a[%i, %j] : f32, !tir.buffer<4x16xf32>
      }
    }
    // becomes
    tir.for %i in 4 {
      %0 = tir.load %a[%i, 0] : !tir.buffer<4x16xf32> -> vector<16xf32>
      %1 = tir.load %b[%i] : !tir.buffer<4xf32> -> f32
      %2 = vector.broadcast %1 : f32 to vector<16xf32>
      %3 = arith.addf %0, %2 : vector<16xf32>
      tir.store %3, %a[%i, 0] : vector<16xf32>, !tir.buffer<4x16xf32>
    }
    ```

    ```mlir
    tir.for %i in 2 {
      tir.for vectorized %j in 8 {
        tir.if likely [12 - %i * 8 - %j] >= 0 {
          %0 = tir.load %a[%i * 8 + %j] : !tir.buffer<13xf32> -> f32
          %1 = arith.negf %0 : f32
          tir.store %1, %b[%i * 8 + %j] : f32, !tir.buffer<13xf32>
        }
      }
    }
    // becomes
    tir.for %i in 2 {
      %0 = tir.mask [%i * -8 + 12] steps [-1] >= 0 : vector<8xi1>
      %1 = tir.masked_load %0, %a[%i * 8] else dense<0.0> : vector<8xf32> : !tir.buffer<13xf32> -> vector<8xf32>
      %2 = arith.negf %1 : vector<8xf32>
      tir.masked_store %2, %0, %b[%i * 8] : vector<8xf32>, !tir.buffer<13xf32>
    }
    ```
    """

    name = "tir-vectorize"
    vector_bits: int = WIDEST.vector_bits

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func, Machine.x86(self.vector_bits))
