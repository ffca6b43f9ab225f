"""Schedules of kernels that hold blocks, by TVM's names of the primitives.

A primitive checks that it keeps all values, rewrites the kernel at once, and is recorded. One that fails changes and
records nothing.

    s = BlockSchedule(module)
    i, j, k = s.get_loops(s.get_sblock("C"))
    i_0, i_1 = s.split(i, [None, 4])
    s.parallel(i_0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.schedule import SequenceOp
from ...dialects.tir import BlockOp, ForOp, prim_funcs
from ...support.context import PassContext
from ...support.doors import doors
from ...support.errors import ScheduleError
from . import caches, inline, lookups, loops, placement, reductions
from .record import BlockRecord, attribute_of, replay
from .state import BlockRV, ExprRV, LoopRV, State, loops_of, name_of, refuse

T = TypeVar("T")
BlockLike: TypeAlias = BlockRV | str
Factor: TypeAlias = int | ExprRV | None


def number(value: Factor) -> int | None:
    """The number that a factor is; None for an open one."""
    return None if value is None else int(value)


class Scheduling:
    """The kernels of a schedule, their handles and the record."""

    def __init__(self, module: ModuleOp):
        kernels = list(prim_funcs(module))
        if not kernels:
            raise ScheduleError("Schedule: expected a kernel at least, got a module without any")
        self._origin = module
        self.state = State(module.clone())
        self.record = BlockRecord(kernels[0].sym_name.data, kernels[0].location)
        if PassContext.current().option("te.keep_primitive_lines"):
            self.record.lines = {}

    @property
    def module(self) -> ModuleOp:
        """The kernels as they are now; not a copy."""
        return self.state.module

    @property
    def sequence(self) -> SequenceOp:
        """The primitives that were applied, in order."""
        return self.record.sequence

    def _apply(
        self,
        name: str,
        inputs: Sequence[object],
        attrs: Mapping[str, object],
        run: Callable[[], Sequence[Operation]],
        at: Operation | None = None,
    ) -> list[Any]:
        """Carry out a primitive, or none of it, and record it; returns handles of what it gives."""
        location = at.location if at is not None else self.sequence.location
        with self.state.attempt():
            found = list(run())
        return self._note(name, inputs, attrs, found, location)

    def _note(
        self, name: str, inputs: Sequence[object], attrs: Mapping[str, object], found: Sequence[Operation], at: Any
    ) -> list[Any]:
        handles = [self.state.handle(op) for op in found]
        hints = [op.label.data if isinstance(op, BlockOp) else name_of(op) for op in found]
        self.record.add(name, inputs, attrs, handles, hints, at)
        return handles

    def _name(self, block: BlockLike) -> BlockRV:
        """Return the handle of a block that was given by its name."""
        if not isinstance(block, str):
            return block
        return self.get_sblock(block)

    def get_sblock(self, name: str, func_name: str | None = None) -> BlockRV:
        """Return the block of a name. Raises ScheduleError for none, or several."""
        block = self.state.named("get_sblock", name, func_name)
        attrs = {"name": name, "func_name": func_name or lookups.function_name(block)}
        return self._note("get_sblock", [], attrs, [block], block.location)[0]

    get_block = get_sblock
    """The name in TVM 0.14."""

    def get_loops(self, block: BlockLike) -> list[LoopRV]:
        """Return the loops around a block in its scope, outermost first."""
        handle = self._name(block)
        op = self.state.block("get_loops", handle)
        return self._note("get_loops", [handle], {}, loops_of(op), op.location)

    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """Return the blocks directly in a block or loop, in order."""
        op = self._target("get_child_blocks", block_or_loop)
        return self._note("get_child_blocks", [block_or_loop], {}, lookups.children(op), op.location)

    def get_producers(self, block: BlockLike) -> list[BlockRV]:
        """Return the blocks before a block that write what it reads."""
        handle = self._name(block)
        op = self.state.block("get_producers", handle)
        return self._note("get_producers", [handle], {}, lookups.producers(op), op.location)

    def get_consumers(self, block: BlockLike) -> list[BlockRV]:
        """Return the blocks behind a block that read what it writes."""
        handle = self._name(block)
        op = self.state.block("get_consumers", handle)
        return self._note("get_consumers", [handle], {}, lookups.consumers(op), op.location)

    def _target(self, primitive: str, handle: object) -> BlockOp | ForOp:
        """The block or loop of a handle."""
        if isinstance(handle, LoopRV):
            return self.state.loop(primitive, handle)
        return self.state.block(primitive, handle)


@doors(ScheduleError)
class BlockSchedule(Scheduling):
    """A schedule of kernels; `module` is copied."""

    def snapshot(self, count: int | None = None) -> BlockSchedule:
        """Return the schedule after its first `count` primitives, 0 for none of them; a copy without it."""
        made = type(self).__new__(type(self))
        Scheduling.__init__(made, self._origin)
        replay(made, self.sequence, count)
        return made

    @property
    def primitives(self) -> list[Operation]:
        """The recorded primitives, in order, without look-ups."""
        return [op for op in self.record.instructions if not op.KIND.pure]

    def split(
        self,
        loop: LoopRV,
        factors: Sequence[Factor],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """`for i` -> `for i_0 for i_1`: with a condition where the factors' product exceeds the extent.

        factors: extents from the outermost; one of them may be None, for as many as it takes. Raises ScheduleError for
        other factors, and for a marked loop.
        """
        if disable_predication:
            raise ScheduleError("split: expected a condition on what exceeds the extent, got disable_predication")
        op = self.state.loop("split", loop)
        numbers = [number(factor) for factor in factors]
        attrs = {"preserve_unit_iters": preserve_unit_iters}
        inputs = [loop, *factors]
        return self._apply("split", inputs, attrs, lambda: loops.split(self.state, op, numbers), op)

    def fuse(self, *loops_: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """`for i for j` -> `for i_j_fused`. Raises ScheduleError for loops not directly in one another."""
        ops = [self.state.loop("fuse", loop) for loop in loops_]
        attrs = {"preserve_unit_iters": preserve_unit_iters}
        return self._apply("fuse", loops_, attrs, lambda: [loops.fuse(self.state, ops)], ops[0] if ops else None)[0]

    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Put loops of one nest in another order, in the places that they have together.

        Raises ScheduleError where that turns the order of accesses of one element; terms of a sum, product or extreme
        may come in any order.
        """
        ops = [self.state.loop("reorder", loop) for loop in ordered_loops]

        def run() -> list[Operation]:
            loops.reorder(ops)
            return []

        self._apply("reorder", ordered_loops, {}, run, ops[0] if ops else None)

    def _mark(self, primitive: str, loop: LoopRV, kind: str) -> None:
        op = self.state.loop(primitive, loop)

        def run() -> list[Operation]:
            loops.mark(primitive, op, kind)
            return []

        self._apply(primitive, [loop], {}, run, op)

    def parallel(self, loop: LoopRV) -> None:
        """Share the iterations of a loop among threads. Raises ScheduleError where two may name one element."""
        self._mark("parallel", loop, "parallel")

    def vectorize(self, loop: LoopRV) -> None:
        """Make vectors of a loop. Raises ScheduleError where two iterations may name one element."""
        self._mark("vectorize", loop, "vectorized")

    def unroll(self, loop: LoopRV) -> None:
        """Unroll a loop in full."""
        self._mark("unroll", loop, "unrolled")

    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Raise ScheduleError, as a CPU has no blocks of threads."""
        op = self.state.loop("bind", loop)
        refuse("bind", f"expected a loop for a CPU, got the thread {thread_axis}", op, remedy="parallel(loop)")

    def add_unit_loop(self, block_or_loop: BlockLike | LoopRV) -> LoopRV:
        """Put a loop of one iteration around a block or loop."""
        handle = self._name(block_or_loop) if isinstance(block_or_loop, str) else block_or_loop
        op = self._target("add_unit_loop", handle)
        return self._apply("add_unit_loop", [handle], {}, lambda: [loops.add_unit_loop(self.state, op)], op)[0]

    def annotate(self, block_or_loop: BlockLike | LoopRV, ann_key: str, ann_val: Any) -> None:
        """Give a block or loop a note: a number, a text, or a list of them."""
        handle = self._name(block_or_loop) if isinstance(block_or_loop, str) else block_or_loop
        op = self._target("annotate", handle)
        value = attribute_of(int(ann_val) if isinstance(ann_val, ExprRV) else ann_val)

        def run() -> list[Operation]:
            loops.annotate(op, ann_key, value)
            return []

        self._apply("annotate", [handle, ann_val], {"ann_key": ann_key}, run, op)

    def unannotate(self, block_or_loop: BlockLike | LoopRV, ann_key: str) -> None:
        """Take a note away. Raises ScheduleError if there is none."""
        handle = self._name(block_or_loop) if isinstance(block_or_loop, str) else block_or_loop
        op = self._target("unannotate", handle)

        def run() -> list[Operation]:
            loops.unannotate(op, ann_key)
            return []

        self._apply("unannotate", [handle], {"ann_key": ann_key}, run, op)

    def _place(self, primitive: str, block: BlockLike, loop: LoopRV, unit: bool, index: int) -> None:
        """Carry out compute_at or reverse_compute_at."""
        if index != -1:
            raise ScheduleError(f"{primitive}: expected index -1, the place next to the other block, got {index}")
        handle = self._name(block)
        op, target = self.state.block(primitive, handle), self.state.loop(primitive, loop)
        place = placement.compute_at if primitive == "compute_at" else placement.reverse_compute_at

        def run() -> list[Operation]:
            place(self.state, op, target, unit=unit)
            return []

        self._apply(primitive, [handle, loop], {"preserve_unit_loops": unit, "index": index}, run, op)

    def compute_at(self, block: BlockLike, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1) -> None:
        """Compute a block in a loop of its readers, as much of it as one pass reads.

        The loop has all readers. Raises ScheduleError where what the block reads changes in between.
        """
        self._place("compute_at", block, loop, preserve_unit_loops, index)

    def reverse_compute_at(
        self, block: BlockLike, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Compute a block in a loop of the one that it reads, as much of it as one pass makes complete.

        Raises ScheduleError where elements are not complete after a pass.
        """
        self._place("reverse_compute_at", block, loop, preserve_unit_loops, index)

    def _inline(self, primitive: str, block: BlockLike) -> None:
        handle = self._name(block)
        op = self.state.block(primitive, handle)
        at = op.location

        def run() -> list[Operation]:
            (inline.compute_inline if primitive == "compute_inline" else inline.reverse_compute_inline)(self.state, op)
            return []

        with self.state.attempt():
            run()
        self._note(primitive, [handle], {}, [], at)

    def compute_inline(self, block: BlockLike) -> None:
        """Compute a block where it is read; its buffer goes. Raises ScheduleError for a reduction or an output."""
        self._inline("compute_inline", block)

    def reverse_compute_inline(self, block: BlockLike) -> None:
        """Compute a block where what it reads is stored; that buffer goes. Raises ScheduleError for a reduction's."""
        self._inline("reverse_compute_inline", block)

    def cache_read(
        self,
        block: BlockLike,
        read_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockLike] = (),
    ) -> BlockRV:
        """Copy a buffer that a block reads, for all its readers or some, and return the block that copies.

        The scope is a name: the copy is in memory that all threads share. Raises ScheduleError for an unknown buffer or
        scope, and where the buffer is not complete before.
        """
        handle = self._name(block)
        op = self.state.block("cache_read", handle)
        handles = [self._name(each) for each in consumer_blocks or ()]
        consumers = [self.state.block("cache_read", each) for each in handles]
        attrs = {"read_buffer_index": read_buffer_index, "storage_scope": storage_scope}

        def run() -> list[Operation]:
            return [caches.cache_read(self.state, op, read_buffer_index, storage_scope, consumers)]

        return self._apply("cache_read", [handle, *handles], attrs, run, op)[0]

    def cache_write(self, block: BlockLike, write_buffer_index: int | str, storage_scope: str) -> BlockRV:
        """Let a block write a buffer of its own, and return the block that copies it to the one before.

        Raises ScheduleError for an unknown buffer or scope, and where other blocks write the buffer.
        """
        handle = self._name(block)
        op = self.state.block("cache_write", handle)
        attrs = {"write_buffer_index": write_buffer_index, "storage_scope": storage_scope}

        def run() -> list[Operation]:
            return [caches.cache_write(self.state, op, write_buffer_index, storage_scope)]

        return self._apply("cache_write", [handle], attrs, run, op)[0]

    def decompose_reduction(self, block: BlockLike, loop: LoopRV) -> BlockRV:
        """Put the start of a reduction in front of a loop, and return its block; `block` adds the terms then.

        Raises ScheduleError for a loop inside of one of the reduction.
        """
        handle = self._name(block)
        op, target = self.state.block("decompose_reduction", handle), self.state.loop("decompose_reduction", loop)

        def run() -> list[Operation]:
            return [reductions.decompose_reduction(self.state, op, target)]

        return self._apply("decompose_reduction", [handle, loop], {}, run, op)[0]
