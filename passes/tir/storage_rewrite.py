"""tir-storage-rewrite: buffers that are not in use at the same time share memory."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.tir import AllocOp, BufferType, ForOp, LoadOp, PrimFuncOp, StoreOp, WhileOp, prim_funcs
from ...provenance.span import fuse
from ...provenance.walk import walk
from .analysis.dependence import elementwise
from .flatten_buffer import flatten
from .rewriting.ops import record


def run(func: PrimFuncOp) -> None:
    """Let the buffers of one kernel share memory, in place."""
    allocs = [op for op in walk(func) if isinstance(op, AllocOp)]
    # How large a buffer of open sizes is, and so what fits in it, only a call says.
    allocs = [op for op in allocs if not op.attributes and op.result.first_use is not None and op.result.type.is_static]
    if len(allocs) < 2:
        return
    order, last = _number(func)
    homes: dict[Block, list[_Buffer]] = {}
    for op in allocs:
        homes.setdefault(_home(op), []).append(_buffer(op, order, last))
    for buffers in homes.values():
        for slot in _assigned(buffers):
            if len(slot.buffers) > 1:
                _share(func, slot, order)


@dataclass(eq=False)
class _Buffer:
    """A buffer and the ops of its block, numbered, between which it is in use, both included."""

    alloc: AllocOp
    users: list[Operation]
    """The loads and stores."""
    first: Operation
    last: Operation
    """The first and the last op of the alloc's block that use it, or hold ops that do."""
    begin: int
    end: int

    @property
    def type(self) -> BufferType:
        return self.alloc.result.type


@dataclass
class _Slot:
    """Memory, and the buffers that are there one after the other."""

    buffers: list[_Buffer] = field(default_factory=lambda: list[_Buffer]())

    size: int = 0
    """Elements of the largest."""

    def add(self, buffer: _Buffer) -> None:
        self.buffers.append(buffer)
        self.size = max(self.size, cast(int, buffer.type.size))


def _number(func: PrimFuncOp) -> tuple[dict[Operation, int], dict[Operation, int]]:
    """The place of each op in the text, and that of the last op inside of it."""
    order = {op: number for number, op in enumerate(walk(func))}
    last = dict(order)
    for op in reversed(order):
        if (parent := op.parent_op()) is not None and parent in last:
            last[parent] = max(last[parent], last[op])
    return order, last


def _home(alloc: AllocOp) -> Block:
    """The outermost block that the buffer may move to: each iteration of a parallel loop keeps memory of its own."""
    block = alloc.parent
    assert block is not None
    while not isinstance(op := block.parent_op(), PrimFuncOp) and op is not None:
        if isinstance(op, ForOp) and op.kind.data == "parallel":
            break
        assert op.parent is not None
        block = op.parent
    return block


def _ancestor(op: Operation, block: Block) -> Operation:
    """The op of `block` that is or holds `op`."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _buffer(alloc: AllocOp, order: dict[Operation, int], last: dict[Operation, int]) -> _Buffer:
    block = alloc.parent
    assert block is not None
    users = sorted((use.operation for use in alloc.result.uses), key=lambda op: order[op])
    begin, end = _ancestor(users[0], block), _ancestor(users[-1], block)
    return _Buffer(alloc, users, begin, end, order[begin], last[end])


def _assigned(buffers: Sequence[_Buffer]) -> list[_Slot]:
    """The memory of buffers of one block. Each gets what fits best of what is free: the smallest slot that is large
    enough, else the largest."""
    slots: list[_Slot] = []
    free: dict[Hashable, list[tuple[int, int]]] = {}
    """Size and number of the slots that are free, in order, by what their elements are."""
    busy: list[tuple[int, int]] = []
    """End and number of the slots in use, as a heap."""
    ending: dict[Operation, list[int]] = {}
    """The slots in use, by the op that uses them last."""
    for buffer in sorted(buffers, key=lambda b: b.begin):
        while busy and busy[0][0] < buffer.begin:
            end, number = heappop(busy)
            if end == slots[number].buffers[-1].end:
                insort(free.setdefault(_elements(slots[number].buffers[0]), []), (slots[number].size, number))
        size, mine = cast(int, buffer.type.size), free.setdefault(_elements(buffer), [])
        fitting = [
            mine[position] for position in {bisect_left(mine, (size, 0)), len(mine) - 1} if 0 <= position < len(mine)
        ]
        for number in ending.get(buffer.first, ()):
            if _may_take_over(slots[number], buffer):
                fitting.append((slots[number].size, number))
        if fitting:
            chosen = min((slot for slot in fitting if slot[0] >= size), default=max(fitting))
            if chosen in mine:
                mine.remove(chosen)
            number = chosen[1]
        else:
            number = len(slots)
            slots.append(_Slot())
        slots[number].add(buffer)
        heappush(busy, (buffer.end, number))
        ending.setdefault(buffer.last, []).append(number)
    return slots


def _elements(buffer: _Buffer) -> Hashable:
    """Return the properties that buffers must share to share memory."""
    return buffer.type.element_type, buffer.type.scope


def _may_take_over(slot: _Slot, buffer: _Buffer) -> bool:
    """Return whether the one buffer that uses `slot` leaves its elements to `buffer`, one by one."""
    users = [other for other in slot.buffers[-2:] if other.end >= buffer.begin]
    return len(users) == 1 and _elements(users[0]) == _elements(buffer) and _in_place(users[0], buffer)


def _in_place(old: _Buffer, new: _Buffer) -> bool:
    """Return whether `new` may take over the elements of `old` one by one, in the loop nest that uses both."""
    nest = old.last
    if new.first is not nest or nest.parent is not old.alloc.parent:
        return False
    if any(isinstance(op, WhileOp) for op in walk(nest)):
        return False
    reads = [op for op in old.users if nest.is_ancestor(op)]
    accesses: list[LoadOp | StoreOp] = []
    for op in (*reads, *(op for op in new.users if nest.is_ancestor(op))):
        if not isinstance(op, LoadOp | StoreOp) or op.parent is not reads[0].parent:
            return False
        accesses.append(op)
    if any(isinstance(op, StoreOp) for op in accesses[: len(reads)]) or (block := reads[0].parent) is None:
        return False
    where = {op: position for position, op in enumerate(block.ops)}
    places = [where[op] for op in accesses]
    ordered = max(places[: len(reads)]) < min(places[len(reads) :])
    return ordered and elementwise(accesses, nest)


def _share(func: PrimFuncOp, slot: _Slot, order: dict[Operation, int]) -> None:
    """Make one alloc for all buffers of a slot, in the innermost block around all of them; flat if shapes differ."""
    allocs = [buffer.alloc for buffer in sorted(slot.buffers, key=lambda b: order[b.alloc])]
    if len({alloc.result.type.shape for alloc in allocs}) > 1:
        flat = [value.owner for value in flatten(func, [], allocs)]
        allocs = [op for op in flat if isinstance(op, AllocOp)]
    block = _common([alloc.parent for alloc in allocs if alloc.parent is not None])
    largest = max(allocs, key=lambda alloc: alloc.result.type.size)
    shared = AllocOp.create(result_types=[largest.result.type], location=fuse([alloc.location for alloc in allocs]))
    shared.results[0].name_hint = allocs[0].result.name_hint
    block.insert_op_before(shared, _ancestor(allocs[0], block))
    result: SSAValue = shared.results[0]
    for alloc in allocs:
        alloc.result.replace_all_uses_with(result)
        reason = "shares memory with buffers that are not in use at the same time"
        record("ShareStorage", alloc, reason, [shared])
        alloc.detach()
        alloc.erase()


def _common(blocks: list[Block]) -> Block:
    """The innermost block that is or holds all of `blocks`."""
    common = _chain(blocks[0])
    for block in blocks[1:]:
        around = set(map(id, _chain(block)))
        common = [candidate for candidate in common if id(candidate) in around]
    return common[0]


def _chain(block: Block) -> list[Block]:
    blocks = [block]
    while (above := blocks[-1].parent_block()) is not None:
        blocks.append(above)
    return blocks


@dataclass(frozen=True)
class TirStorageRewritePass(ModulePass):
    """Lets buffers of one scope and element type share memory when they are not in use at the same time.

    Before: any kernels. After: buffers of different shapes that share are flat, and there are as few buffers as a best
    fit in the order of first use needs, each as large as the largest of those it stands for. A buffer also takes over
    that of an elementwise loop nest's input which is not used later. Each starts where a buffer starts, so that vectors
    stay as aligned as they were. Local ones stay inside their parallel loop; ones with attributes of their own share
    nothing.
    Locations: the alloc that stays is located at all it stands for.

    ```mlir
    tir.prim_func @f(%a: !tir.buffer<8xf32>, %out: !tir.buffer<8xf32>) outputs 1 {
      %t = tir.alloc : !tir.buffer<8xf32>
      %u = tir.alloc : !tir.buffer<16xf32>
      tir.for %i in 8 {
        %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
        tir.store %0, %t[%i] : f32, !tir.buffer<8xf32>
      }
      tir.for %i in 8 {
        %0 = tir.load %t[%i] : !tir.buffer<8xf32> -> f32
        %1 = math.exp %0 : f32
        tir.store %1, %u[%i] : f32, !tir.buffer<16xf32>
      }
      tir.for %i in 8 {
        %0 = tir.load %u[7 - %i] : !tir.buffer<16xf32> -> f32
        tir.store %0, %out[%i] : f32, !tir.buffer<8xf32>
      }
    }
    // becomes
    tir.prim_func @f(%a: !tir.buffer<8xf32>, %out: !tir.buffer<8xf32>) outputs 1 {
      %t = tir.alloc : !tir.buffer<16xf32>
      tir.for %i in 8 {
        %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
        tir.store %0, %t[%i] : f32, !tir.buffer<16xf32>
      }
      tir.for %i in 8 {
        %0 = tir.load %t[%i] : !tir.buffer<16xf32> -> f32
        %1 = math.exp %0 : f32
        tir.store %1, %t[%i] : f32, !tir.buffer<16xf32>
      }
      tir.for %i in 8 {
        %0 = tir.load %t[7 - %i] : !tir.buffer<16xf32> -> f32
        tir.store %0, %out[%i] : f32, !tir.buffer<8xf32>
      }
    }
    ```
    """

    name = "tir-storage-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
