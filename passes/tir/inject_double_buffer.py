"""tir-inject-double-buffer: the data of a loop's next iteration are computed before this iteration uses its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from ...dialects.affine import linear
from ...dialects.sizes.kernel import affine_map, known
from ...dialects.tir import AllocOp, BufferType, CallExternOp, ForOp, LoadOp, PrimFuncOp, prim_funcs
from ...dialects.tir.index_maps import LEADING, Access, Reader, Writer, view
from ...support.errors import PipelineError
from .rewriting.index_set_splitting import strip_mine, subrange
from .rewriting.ops import record
from .unroll import write_out

MARK = "double_buffer"
"""The attribute of an alloc that asks for it."""
OPTION = "tir.InjectDoubleBuffer.split_loop"


def run(func: PrimFuncOp, split_loop: int = 1) -> bool:
    """Double the marked buffers of one kernel, in place, and say whether there were any; errors as of the pass."""
    if split_loop != 1 and (split_loop < 1 or split_loop % 2):
        raise PipelineError(f"{OPTION}: expected 1 or a multiple of 2, got {split_loop}")
    found_any = False
    while (alloc := next(_marked(func), None)) is not None:
        found_any = True
        home, following = alloc.parent, alloc.next_op
        loop = alloc.parent_op()
        if not isinstance(loop, ForOp) and (loop := _loop_of(alloc)) is not None and loop.block.first_op is not None:
            alloc.detach()
            loop.block.insert_op_before(alloc, loop.block.first_op)
        plan = _plan(alloc, loop) if isinstance(loop, ForOp) else "no loop computes and uses it anew in each iteration"
        del alloc.attributes[MARK]
        if isinstance(plan, _Plan):
            _inject(plan, func, split_loop)
        elif alloc.parent is not home and home is not None and following is not None:
            alloc.detach()
            home.insert_op_before(alloc, following)
            record("DoubleBuffer", alloc, f"left single: {plan}", gone=False)
        else:
            record("DoubleBuffer", alloc, f"left single: {plan}", gone=False)
    return found_any


def _loop_of(alloc: AllocOp) -> ForOp | None:
    """The innermost loop around all uses of a buffer from outside of it, if its iterations do not share elements."""
    uses = [use.operation for use in alloc.result.uses]
    loop = uses[0].parent_op() if uses else None
    while loop is not None and not (isinstance(loop, ForOp) and all(loop.is_ancestor(op) for op in uses)):
        loop = loop.parent_op()
    if not isinstance(loop, ForOp):
        return None
    # Values that an iteration keeps for the next one, as in a rolling buffer, have positions that move with the loop.
    moves = any(isinstance(op, Access) and loop.var in view(op, {}).values for op in uses)
    return None if moves else loop


def _marked(func: PrimFuncOp) -> Iterator[AllocOp]:
    return (op for op in func.walk() if isinstance(op, AllocOp) and MARK in op.attributes)


class _Plan(NamedTuple):
    """The ops of a loop's body that compute the buffer, and those that use it; some are in both."""

    alloc: AllocOp
    loop: ForOp
    produce: set[int]
    consume: set[int]
    """Places in the body."""


def _stored(op: Operation) -> set[SSAValue]:
    return {inner.buffer for inner in op.walk() if isinstance(inner, Writer)}


def _loaded(op: Operation) -> set[SSAValue]:
    return {inner.buffer for inner in op.walk() if isinstance(inner, Reader)}


def _plan(alloc: AllocOp, loop: ForOp) -> _Plan | str:
    """Return the plan by which the body splits, or the reason why it does not."""
    if loop.kind.data != "serial" or not (loop.is_known and loop.is_run(2)):
        return "its loop is not serial, or has one iteration"
    ops = list(loop.block.ops)
    buffer = alloc.result
    if not all(isinstance(use.operation, Reader | Writer) for use in buffer.uses):
        return "a function is called with it"
    writers = [i for i, op in enumerate(ops) if buffer in _stored(op)]
    readers = [i for i, op in enumerate(ops) if buffer in _loaded(op) and i not in writers]
    if not writers or not readers or writers[-1] > readers[0]:
        return "it is not computed first, and then used"
    produce = _closure(writers, ops)
    rest = [i for i, op in enumerate(ops) if i not in produce and op is not alloc]
    written = set[SSAValue]().union(*(_stored(ops[i]) for i in rest))
    for i in produce:
        if any(isinstance(op, CallExternOp) for op in ops[i].walk()):
            return "computing it calls a function"
        if isinstance(ops[i], AllocOp) or i in writers:
            continue
        if not isinstance(ops[i], Reader) and not ops[i].has_trait(Pure):
            return f"computing it needs a {ops[i].name}"
    for i in produce:
        if _loaded(ops[i]) & written:
            return "computing it reads what the iteration before writes"
    private = {value for i in produce if isinstance(ops[i], AllocOp) for value in ops[i].results}
    others = set[SSAValue]().union(*(_stored(ops[i]) for i in produce)) - private - {buffer}
    if others or any(private & (_loaded(ops[i]) | _stored(ops[i])) for i in rest):
        return "computing it writes other buffers, too"
    return _Plan(alloc, loop, produce, _closure(rest, ops))


def _closure(places: Sequence[int], ops: Sequence[Operation]) -> set[int]:
    """The ops at these places, and those of the body whose results they need."""
    where = {op: i for i, op in enumerate(ops)}
    closure = set(places)
    stack = list(places)
    while stack:
        for inner in ops[stack.pop()].walk():
            for operand in inner.operands:
                position = where.get(operand.owner) if isinstance(operand.owner, Operation) else None
                if position is not None and position not in closure and not _is_marked(ops[position]):
                    closure.add(position)
                    stack.append(position)
    return closure


def _is_marked(op: Operation) -> bool:
    return isinstance(op, AllocOp) and MARK in op.attributes


def _inject(plan: _Plan, func: PrimFuncOp, split: int) -> None:
    loop, old = plan.loop, plan.alloc.result
    type_ = old.type
    double = AllocOp(BufferType.of([2, *type_.get_shape()], type_.element_type, type_.scope.data))
    double.attributes, double.location = dict(plan.alloc.attributes), plan.alloc.location
    double.result.name_hint = old.name_hint
    assert loop.parent is not None
    if double.result.type.scope.data == "global" and func.block.first_op is not None:
        func.block.insert_op_before(double, func.block.first_op)
    else:
        loop.parent.insert_op_before(double, loop)
    position = next(i for i, op in enumerate(loop.block.ops) if op is plan.alloc)
    last = known(loop.trip_count) - 1
    first = _part(loop, (0, 1), position, double.result, plan.produce)
    ahead = _part(loop, (1, last + 1), position, double.result, plan.produce)
    current = _part(loop, (0, last), position, double.result, plan.consume)
    end = _part(loop, (last, last + 1), position, double.result, plan.consume)
    _prepend(ahead, current)
    steps, alternating = _steps(current, split)
    pieces = [first, *steps, end]
    loop.parent.insert_ops_before(pieces, loop)
    record("DoubleBuffer", loop, "computed one iteration ahead, in turns into two copies", [double, *pieces])
    loop.detach()
    loop.erase()
    for step in alternating:
        write_out(step, {})


def _steps(loop: ForOp, split: int) -> tuple[list[ForOp], list[ForOp]]:
    """The loops that stand for `loop`, and those of them, or in them, that are to be written out."""
    if split == 1:
        return [loop], []
    full_trips = loop.trip_count // split * split
    steps: list[ForOp] = []
    alternating: list[ForOp] = []
    if full_trips:
        part = subrange(loop, 0, full_trips, {})
        outer = strip_mine(part, split, {})
        part.erase()
        steps.append(outer)
        alternating += [op for op in outer.block.ops if isinstance(op, ForOp)]
    if full_trips < loop.trip_count:
        rest = subrange(loop, full_trips, loop.trip_count, {})
        steps.append(rest)
        alternating.append(rest)
    loop.erase()
    return steps, alternating


def _part(loop: ForOp, iterations: tuple[int, int], position: int, double: SSAValue, kept: set[int]) -> ForOp:
    """Some iterations of `loop`, only the `kept` ops, where the buffer allocated at `position` is a copy in turn."""
    begin, end = iterations
    part = subrange(loop, begin, end, {})
    ops = list(part.block.ops)
    # The variable's value, if it had to be computed, comes first.
    extra = len(ops) - len(list(loop.block.ops))
    alloc = ops[position + extra]
    for use in list(alloc.results[0].uses):
        if isinstance(access := use.operation, Reader | Writer):
            _turn(access, part, begin, double)
    for i in reversed(range(len(ops))):
        if i - extra not in kept and i >= extra:
            ops[i].detach()
            ops[i].erase()
    return part


def _turn(op: Reader | Writer, part: ForOp, begin: int, double: SSAValue) -> None:
    """Let an access go to the copy whose turn it is."""
    leading = LEADING[type(op)]
    before, indices = op.operands[: leading - 1], list(op.operands[leading:])
    if part.var not in indices:
        indices.append(part.var)
    ranges = ((0, part.trip_count - 1),) * len(indices)
    turn = linear((AffineDimExpr(indices.index(part.var)) + begin) % 2, ranges).expr
    for name, exprs in (("map", (turn, *op.map.data.results)), ("guard", _guard(op))):
        if exprs is not None:
            op.properties[name] = type(op.map)(affine_map(len(indices), exprs))
    op.operands = [*before, double, *indices]


def _guard(op: Reader | Writer) -> tuple[AffineExpr, ...] | None:
    return op.guard.data.results if isinstance(op, LoadOp) and op.guard is not None else None


def _prepend(ahead: ForOp, current: ForOp) -> None:
    """Move the ops of `ahead` to the start of `current`, a loop of as many passes."""
    ahead.var.replace_all_uses_with(current.var)
    _move(ahead.block, current.block)
    ahead.erase()


def _move(source: Block, target: Block) -> None:
    first = target.first_op
    for op in list(source.ops):
        op.detach()
        if first is None:
            target.add_op(op)
        else:
            target.insert_op_before(op, first)


@dataclass(frozen=True)
class TirInjectDoubleBufferPass(ModulePass):
    """Gives a buffer with the attribute `double_buffer` two copies, and fills one while the other is in use.

    Before: kernels whose buffers are not flat yet; a marked alloc that one serial loop uses, the ops that write it
    before those that only read it, reading nothing that these write. After: the first iteration's contents are computed
    before the loop; each iteration computes the next one's, then uses its own; the last iteration's use follows the
    loop. Where this cannot be, the buffer stays single, and the ledger says why. The attribute is gone.
    split_loop: how many iterations of the loop are written out, so that each knows its copy; 1 leaves it to `mod`.
    Raises PipelineError for an odd one above 1.
    Locations: copies keep those of what they copy.

    ```mlir
    tir.for %i in 4 {
      %t = tir.alloc {double_buffer} : !tir.buffer<8xf32, local>
      tir.for %j in 8 {
        %0 = tir.load %a[%i, %j] : !tir.buffer<4x8xf32> -> f32
        tir.store %0, %t[%j] : f32, !tir.buffer<8xf32, local>
      }
      tir.for %k in 8 {
        %1 = tir.load %t[7 - %k] : !tir.buffer<8xf32, local> -> f32
        tir.store %1, %b[%i, %k] : f32, !tir.buffer<4x8xf32>
      }
    }
    // becomes
    %t = tir.alloc : !tir.buffer<2x8xf32, local>
    tir.for %i in 1 {
      tir.for %j in 8 {
        %0 = tir.load %a[0, %j] : !tir.buffer<4x8xf32> -> f32
        tir.store %0, %t[0, %j] : f32, !tir.buffer<2x8xf32, local>
      }
    }
    tir.for %i in 3 {
      tir.for %j in 8 {
        %1 = tir.load %a[%i + 1, %j] : !tir.buffer<4x8xf32> -> f32
        tir.store %1, %t[(%i + 1) mod 2, %j] : f32, !tir.buffer<2x8xf32, local>
      }
      tir.for %k in 8 {
        %2 = tir.load %t[%i mod 2, 7 - %k] : !tir.buffer<2x8xf32, local> -> f32
        tir.store %2, %b[%i, %k] : f32, !tir.buffer<4x8xf32>
      }
    }
    tir.for %i in 1 {
      tir.for %k in 8 {
        %3 = tir.load %t[1, 7 - %k] : !tir.buffer<2x8xf32, local> -> f32
        tir.store %3, %b[3, %k] : f32, !tir.buffer<4x8xf32>
      }
    }
    ```
    """

    name = "tir-inject-double-buffer"
    split_loop: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func, self.split_loop)
