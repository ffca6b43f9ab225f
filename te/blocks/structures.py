"""Primitives of a schedule that change buffers and blocks themselves: layouts, padding, blocks of loops, intrinsics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation

from ...dialects.tir import BlockOp, ForOp, PrimFuncOp, buffer_of
from ...support.errors import ScheduleError
from . import caches, layouts
from .base import BlockLike, Scheduling
from .blockize import blockize
from .padding import decompose_padding, pad_einsum
from .reindex import reindex
from .rfactor import rfactor
from .state import BlockRV, LoopRV, integer, refuse
from .tensorize import tensorize


class Structures(Scheduling):
    """A schedule with primitives on layouts, padding, partial results and blocks of loops."""

    def reindex(self, block: BlockLike, buffer: str | Sequence[str | int]) -> BlockRV:
        """Copy a buffer that a block accesses at one place, with its variables as dims, and return the copying block.

        buffer: `("read", 0)`, `("write", 0)`, or a name. Raises ScheduleError for several places, and where the buffer
        is not complete before, or not the block's own.
        """
        handle = self._name(block)
        side, index = self._side("reindex", self.state.block("reindex", handle), buffer)

        def run(op: BlockOp) -> list[Operation]:
            return [reindex(self.state, op, index, writes=side == "write")]

        return self._on_block("reindex", handle, {"buffer": [side, index]}, run)[0]

    def reindex_cache_read(
        self, block: BlockLike, read_buffer_index: int | str, storage_scope: str, index_map: Any
    ) -> BlockRV:
        """Copy a buffer that a block reads at one place into another layout, and return the block that copies.

        index_map: a function of the block's variables that gives the dims of the copy, or an IndexMap. Raises
        ScheduleError as `reindex` does, for a layout of other variables than the indices of the buffer are of, and for
        two elements at one place.
        """
        return self._reindex_cache(block, "read", read_buffer_index, storage_scope, index_map)

    def reindex_cache_write(
        self, block: BlockLike, write_buffer_index: int | str, storage_scope: str, index_map: Any
    ) -> BlockRV:
        """Let a block write a buffer of another layout, and return the block that copies it to the one before.

        index_map, and errors: as of `reindex_cache_read`.
        """
        return self._reindex_cache(block, "write", write_buffer_index, storage_scope, index_map)

    def _reindex_cache(self, block: BlockLike, side: str, buffer: int | str, scope: str, index_map: Any) -> BlockRV:
        name, handle = f"reindex_cache_{side}", self._name(block)
        op = self.state.block(name, handle)
        index = caches.numbered(op, buffer, writes=side == "write")
        names = [argument.name_hint or f"v{number}" for number, argument in enumerate(op.block.args)]
        layout = layouts.layout_of(name, index_map, names)

        def run(op: BlockOp) -> list[Operation]:
            return [reindex(self.state, op, index, writes=side == "write", layout=layout.data, scope=scope)]

        attrs = {"index_map": layout, f"{side}_buffer_index": index, "storage_scope": scope}
        return self._on_block(name, handle, attrs, run)[0]

    def _side(self, primitive: str, op: BlockOp, buffer: str | Sequence[str | int]) -> tuple[str, object]:
        """`read` or `write`, and the number of a buffer, of what users pass for one."""
        side, index = caches.kind_and_index(primitive, buffer)
        side = side or ("write" if caches.is_written(op, index) else "read")
        return side, caches.numbered(op, index, writes=side == "write")

    def set_scope(self, block: BlockLike, buffer_index: int | str, storage_scope: str) -> None:
        """Give a buffer that a block writes another scope, which is part of its name.

        Raises ScheduleError for an argument of the kernel, and an unknown scope.
        """

        def run(op: BlockOp) -> list[Operation]:
            caches.set_scope(op, buffer_index, storage_scope)
            return []

        self._on_block("set_scope", block, {"buffer_index": buffer_index, "storage_scope": storage_scope}, run)

    def transform_layout(
        self,
        block: BlockLike,
        buffer: str | Sequence[str | int],
        index_map: Any,
        pad_value: Any = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """`C[i, j]` -> `C[i // 4, j, i % 4]`, everywhere in the kernel; loops stay.

        buffer: `("read", 0)`, `("write", 0)`, or a name, of an intermediate. index_map: a function of indices that
        gives a list of them, or an IndexMap. pad_value: a number for places of no element.
        assume_injective_transform: ignored, as it is checked. Raises ScheduleError for two elements at one place, and
        for places of none without `pad_value`.
        """
        del assume_injective_transform
        if pad_value is not None and (isinstance(pad_value, bool) or not isinstance(pad_value, int | float)):
            raise ScheduleError(f"transform_layout: expected a number as pad_value, got {pad_value!r}")
        handle = self._name(block)
        op = self.state.block("transform_layout", handle)
        side, index = self._side("transform_layout", op, buffer)
        value = caches.buffer_at("transform_layout", op, index, writes=side == "write")
        names = [f"i{dim}" for dim in range(len(buffer_of(value).shape))]
        layout = layouts.layout_of("transform_layout", index_map, names)

        def run() -> list[Operation]:
            layouts.transform_layout(self.state, op, value, layout.data, pad_value)
            return []

        attrs = {"buffer": [side, index], "index_map": layout, "pad_value": pad_value}
        self._apply("transform_layout", [handle], attrs, run, op)

    def transform_block_layout(self, block: BlockLike, index_map: Any) -> None:
        """`for i, j: Z[i, j]` -> `for ax0: Z[ax0 // 6, ax0 % 6]`: loops over the variables that a layout gives.

        index_map: a function of the block's variables, or an IndexMap. Raises ScheduleError for one that is not one to
        one and onto, or that mixes variables of data and of a reduction, and where iterations depend on each other.
        """
        handle = self._name(block)
        op = self.state.block("transform_block_layout", handle)
        names = [argument.name_hint or f"v{number}" for number, argument in enumerate(op.block.args)]
        layout = layouts.layout_of("transform_block_layout", index_map, names)

        def run() -> list[Operation]:
            layouts.transform_block_layout(self.state, op, layout.data)
            return []

        self._apply("transform_block_layout", [handle], {"index_map": layout}, run, op)

    def reorder_block_iter_var(self, block: BlockLike, new_order: Sequence[int]) -> None:
        """Give the variables of a block another order; loops and iterations stay as they are.

        new_order: the number of the variable that comes first, and so on. Raises ScheduleError for another set of
        numbers.
        """
        handle = self._name(block)
        op = self.state.block("reorder_block_iter_var", handle)
        order = [int(number) for number in new_order]
        if sorted(order) != list(range(len(op.block.args))):
            count = len(op.block.args)
            refuse("reorder_block_iter_var", f"expected each number below {count} once, got {order}", op)

        def run() -> list[Operation]:
            layouts.reorder_variables(op, order)
            return []

        self._apply("reorder_block_iter_var", [handle, *order], {}, run, op)

    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """`for k: C += X[k]` -> `for k: C_rf[k] += X[k]; for k: C += C_rf[k]`; returns the block of C_rf.

        factor_axis: the dim of C_rf that the loop is. Raises ScheduleError for a loop that is not of the reduction
        alone, and for a reduction that does not start with the neutral value.
        """
        op = self.state.loop("rfactor", loop)
        attrs = {"factor_axis": integer("rfactor", "factor_axis", factor_axis)}
        return self._apply("rfactor", [loop], attrs, lambda: [rfactor(self.state, op, factor_axis)], op)[0]

    def pad_einsum(self, block: BlockLike, padding: Sequence[int]) -> None:
        """`C[i] += A[i, k]` -> `A_pad = A, 0 around; C_pad[i] += A_pad[i, k]; C = C_pad`, of extents rounded up.

        padding: for each variable the number of which its extent becomes a multiple. Raises ScheduleError for another
        count of them, and for a block that is no sum of products at plain indices.
        """
        steps = [integer("pad_einsum", f"padding {number}", step) for number, step in enumerate(padding)]

        def run(op: BlockOp) -> list[Operation]:
            pad_einsum(self.state, op, steps)
            return []

        self._on_block("pad_einsum", block, {"padding": steps}, run)

    def decompose_padding(self, block: BlockLike, loop: LoopRV) -> BlockRV:
        """`Z[v] = X[v - 2] or 0` -> `Z = 0; Z[v + 2] = X[v]`, the first of it in front of a loop; returns its block.

        Raises ScheduleError for a block that is not padding alone.
        """
        target = self.state.loop("decompose_padding", loop)
        return self._on_block(
            "decompose_padding", block, {}, lambda op: [decompose_padding(self.state, op, target)], [loop]
        )[0]

    def blockize(self, target: LoopRV, preserve_unit_iters: bool = True) -> BlockRV:
        """`for i, j: C[i, j]` at j -> `for i: C_o[i]: for j: C[j]`; returns the block of the loop.

        Raises ScheduleError where the loop holds other blocks, and where variables are no whole parts of what is in it.
        """
        op = self.state.loop("blockize", target)
        attrs = {"preserve_unit_iters": preserve_unit_iters}
        return self._apply("blockize", [target], attrs, lambda: [blockize(self.state, op)], op)[0]

    def tensorize(
        self, block_or_loop: BlockLike | LoopRV, tensor_intrin: str, preserve_unit_iters: bool = True
    ) -> None:
        """Let a registered intrinsic compute what a loop, or a block of loops, does.

        Raises ScheduleError for an unknown intrinsic, and for one that computes something else.
        """
        handle, op = self._target("tensorize", block_or_loop)
        if isinstance(op, PrimFuncOp):
            refuse("tensorize", "expected a block or a loop in the kernel, got its root", op)

        def run() -> list[Operation]:
            tensorize(self.state, blockize(self.state, op) if isinstance(op, ForOp) else op, tensor_intrin)
            return []

        attrs = {"tensor_intrin": tensor_intrin, "preserve_unit_iters": preserve_unit_iters}
        self._apply("tensorize", [handle], attrs, run, op)
