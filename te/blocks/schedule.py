"""Schedules of kernels that hold blocks, by TVM's names of the primitives.

A primitive checks that it keeps all values, rewrites the kernel at once, and is recorded. One that fails changes and
records nothing.

    s = BlockSchedule(module)
    i, j, k = s.get_loops(s.get_sblock("C"))
    i_0, i_1 = s.split(i, [None, 4])
    s.parallel(i_0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.ir import Operation

from ...dialects.tir import BlockOp, PrimFuncOp
from ...support.doors import doors
from ...support.errors import ScheduleError
from . import caches, inline, loops, parts, placement, reductions
from .base import BlockLike, Factor
from .record import attribute_of
from .state import BlockRV, LoopRV, refuse
from .structures import Structures


@doors(ScheduleError, inherited=True)
class BlockSchedule(Structures):
    """A schedule of kernels; `module` is copied."""

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
        numbers = loops.numbers_of("split", factors)
        attrs = {"preserve_unit_iters": preserve_unit_iters}
        inputs = [loop, *factors]
        return self._apply(
            "split", inputs, attrs, lambda: loops.split(self.state, op, numbers, units=preserve_unit_iters), op
        )

    def fuse(self, *loops_: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """`for i for j` -> `for i_j_fused`. Raises ScheduleError for loops not directly in one another."""
        ops = [self.state.loop("fuse", loop) for loop in loops_]
        attrs, at = {"preserve_unit_iters": preserve_unit_iters}, ops[0] if ops else None
        return self._apply("fuse", loops_, attrs, lambda: [loops.fuse(self.state, ops, units=preserve_unit_iters)], at)[
            0
        ]

    def merge(self, *loops_: LoopRV) -> LoopRV:
        """`for i: Y; for j: Z` -> `for i_m: Y; Z`, of loops at one depth of nests side by side.

        Raises ScheduleError for other extents, and where Z needs what Y makes in later iterations.
        """
        ops = [self.state.loop("merge", loop) for loop in loops_]
        return self._apply("merge", loops_, {}, lambda: [parts.merge(self.state, ops)], ops[0] if ops else None)[0]

    def loop_partition(self, loop: LoopRV, factors: Sequence[Factor], preserve_unit_iters: bool = True) -> list[LoopRV]:
        """`for i in 8` -> `for i0 in 3; for i1 in 5`, one behind the other; blocks of later parts have new names.

        factors: extents, one of which may be None, for what is left; without one, what they leave is a last part.
        Raises ScheduleError for factors of no sum below the extent.
        """
        op = self.state.loop("loop_partition", loop)
        numbers = loops.numbers_of("loop_partition", factors)
        attrs = {"preserve_unit_iters": preserve_unit_iters}
        inputs = [loop, *factors]
        return self._apply("loop_partition", inputs, attrs, lambda: parts.loop_partition(self.state, op, numbers), op)

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

        def run() -> list[Operation]:
            refuse("bind", f"expected a loop for a CPU, got the thread {thread_axis}", op)

        self._apply("bind", [loop], {"thread_axis": thread_axis}, run, op)

    def add_unit_loop(self, block_or_loop: BlockLike | LoopRV) -> LoopRV:
        """Put a loop of one iteration around a block or loop."""
        handle, op = self._target("add_unit_loop", block_or_loop)
        if isinstance(op, PrimFuncOp):
            refuse("add_unit_loop", "expected a block or a loop in the kernel, got its root", op)
        return self._apply("add_unit_loop", [handle], {}, lambda: [loops.add_unit_loop(self.state, op)], op)[0]

    def annotate(self, block_or_loop: BlockLike | LoopRV, ann_key: str, ann_val: Any) -> None:
        """Give a block or loop a note: a number, a text, or a list of them."""
        handle, op = self._target("annotate", block_or_loop)
        if not isinstance(cast("object", ann_key), str):
            raise ScheduleError(f"annotate: expected a text as ann_key, got {ann_key!r}")
        value = attribute_of(ann_val, "annotate")

        def run() -> list[Operation]:
            loops.annotate(op, ann_key, value)
            return []

        self._apply("annotate", [handle, ann_val], {"ann_key": ann_key}, run, op)

    def unannotate(self, block_or_loop: BlockLike | LoopRV, ann_key: str) -> None:
        """Take a note away. Raises ScheduleError if there is none."""
        handle, op = self._target("unannotate", block_or_loop)

        def run() -> list[Operation]:
            loops.unannotate(op, ann_key)
            return []

        self._apply("unannotate", [handle], {"ann_key": ann_key}, run, op)

    def _place(self, primitive: str, block: BlockLike, loop: LoopRV, unit: bool, index: int) -> None:
        """Carry out compute_at or reverse_compute_at."""
        handle = self._name(block)
        op, attrs = self.state.block(primitive, handle), {"preserve_unit_loops": unit, "index": index}
        if getattr(loop, "place", ""):
            self._place_beside_loops(primitive, op, [handle, loop], attrs)
            return
        target = self.state.loop(primitive, loop)
        place = placement.compute_at if primitive == "compute_at" else placement.reverse_compute_at

        def run() -> list[Operation]:
            place(self.state, op, target, unit=unit, index=index)
            return []

        self._apply(primitive, [handle, loop], attrs, run, op)

    def _place_beside_loops(self, primitive: str, op: BlockOp, inputs: list[Any], attrs: Mapping[str, object]) -> None:
        """Leave a block where it is, or inline it, as `sample_compute_location` chose."""
        inlined = inputs[1].place == "inline"
        carry_out = inline.compute_inline if primitive == "compute_at" else inline.reverse_compute_inline

        def run() -> list[Operation]:
            if inlined:
                carry_out(self.state, op)
            return []

        self._apply(primitive, inputs, attrs, run, op)

    def compute_at(self, block: BlockLike, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1) -> None:
        """Compute a block in a loop of its readers, as much of it as one pass reads.

        index: the number of the loop's statement to stand before, -1 for the last possible, next to the first reader,
        -2 for the first. The loop has all readers. Raises ScheduleError where what the block reads changes in between.
        """
        self._place("compute_at", block, loop, preserve_unit_loops, index)

    def reverse_compute_at(
        self, block: BlockLike, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Compute a block in a loop of the one that it reads, as much of it as one pass makes complete.

        index: the number of the loop's statement to stand before, -1 for the end, -2 for next to the producer.
        Raises ScheduleError where elements are not complete after a pass.
        """
        self._place("reverse_compute_at", block, loop, preserve_unit_loops, index)

    def _inline(self, primitive: str, block: BlockLike) -> None:
        """Carry out compute_inline or reverse_compute_inline."""
        carry_out = inline.compute_inline if primitive == "compute_inline" else inline.reverse_compute_inline

        def run(op: BlockOp) -> list[Operation]:
            carry_out(self.state, op)
            return []

        self._on_block(primitive, block, {}, run)

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
        if isinstance(consumer_blocks, str | BlockRV):
            raise ScheduleError(f"cache_read: expected a list of blocks as consumer_blocks, got {consumer_blocks!r}")
        handles = [self._name(each) for each in consumer_blocks or ()]
        consumers = [self.state.block("cache_read", each) for each in handles]
        index = caches.numbered(op, read_buffer_index, writes=False)
        attrs = {"read_buffer_index": index, "storage_scope": storage_scope}

        def run() -> list[Operation]:
            return [caches.cache_read(self.state, op, index, storage_scope, consumers)]

        return self._apply("cache_read", [handle, *handles], attrs, run, op)[0]

    def cache_write(
        self,
        block: BlockLike,
        write_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockLike] = (),
    ) -> BlockRV:
        """Let a block write a buffer of its own, and return the block that copies it to the one before.

        Raises ScheduleError for an unknown buffer or scope, where other blocks write the buffer, and for consumers of
        the copy, as all read the one before.
        """
        if consumer_blocks:
            raise ScheduleError("cache_write: expected all consumers to read the copy's result, got consumer_blocks")
        handle = self._name(block)
        index = caches.numbered(self.state.block("cache_write", handle), write_buffer_index, writes=True)
        attrs = {"write_buffer_index": index, "storage_scope": storage_scope}
        return self._on_block(
            "cache_write", handle, attrs, lambda op: [caches.cache_write(self.state, op, index, storage_scope)]
        )[0]

    def decompose_reduction(self, block: BlockLike, loop: LoopRV) -> BlockRV:
        """Put the start of a reduction in front of a loop, and return its block; `block` adds the terms then.

        Raises ScheduleError for a loop inside of one of the reduction.
        """
        target = self.state.loop("decompose_reduction", loop)
        return self._on_block(
            "decompose_reduction",
            block,
            {},
            lambda op: [reductions.decompose_reduction(self.state, op, target)],
            [loop],
        )[0]
