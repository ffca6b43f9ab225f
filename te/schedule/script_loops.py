"""The loops of a hybrid script, and the primitives on its tir body."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.ir import Block, BlockArgument
from xdsl.ir.affine import AffineDimExpr

from ...dialects import te, tir
from ...dialects.sizes import proves
from ...dialects.sizes.kernel import affine_map, lifted
from ...dialects.tir.index_maps import Ranges, view
from ...passes.tir.rewriting.index_set_splitting import express
from .itervar import IterVar


class ScriptLoops:
    """The loop of each axis. What is done to them is done to the body of `op` at once."""

    def __init__(self, op: te.HybridOp, axes: Sequence[IterVar]):
        loops = (inner for inner in op.body.walk() if isinstance(inner, tir.ForOp))
        self._loops = dict(zip(axes, loops, strict=True))

    def depth(self, axis: IterVar) -> int:
        """The number of loops around it."""
        return len(_ranges(self._loops[axis])) - 1

    def perfect(self, axes: Sequence[IterVar]) -> bool:
        """Return whether each is all that the one before has inside."""
        loops = [self._loops[axis] for axis in axes]
        return all(_only(outer) is inner for outer, inner in pairwise(loops))

    def shared_store(self, axis: IterVar) -> str | None:
        """A buffer from outside of the loop of which all its iterations store the same element; None: there is none.

        An index that is read from a buffer counts as one of its own.
        """
        loop = self._loops[axis]
        for op in loop.walk():
            if not isinstance(op, tir.StoreOp) or loop.is_ancestor(op.buffer.owner):
                continue
            values = view(op, {}).values
            if loop.var not in values and all(isinstance(value, BlockArgument) for value in values):
                return op.buffer.name_hint or "a buffer"
        return None

    def shared_memory(self, axis: IterVar) -> bool:
        """Return whether the loop allocates memory that is not its iteration's own."""
        allocs = (op for op in self._loops[axis].walk() if isinstance(op, tir.AllocOp))
        return any(tir.buffer_of(op.result).scope.data in ("global", "shared") for op in allocs)

    def sharing(self, axis: IterVar, parallel: bool) -> str | None:
        """Return the text of an error when iterations of a loop share something that they may not; else None."""
        if (name := self.shared_store(axis)) is not None:
            text = f"expected a loop whose iterations store elements of their own, got {axis.name}, all of which store"
            return f"{text} the same of '{name}'"
        if parallel and self.shared_memory(axis):
            return f"expected a loop with local tensors only, got {axis.name}"
        return None

    def is_parallel(self, axis: IterVar) -> bool:
        """Return whether a loop around it runs in parallel."""
        op = self._loops[axis].parent_op()
        while op is not None and not (isinstance(op, tir.ForOp) and op.kind.data == "parallel"):
            op = op.parent_op()
        return op is not None

    def mark(self, axis: IterVar, kind: str) -> None:
        """Let the loop run as `kind`, with the attributes that its axis has."""
        loop = self._loops[axis]
        loop.properties["kind"] = tir.ForOp.make(0, kind).kind
        loop.attributes.update(axis.hints)

    def split(self, axis: IterVar, outer: IterVar, inner: IterVar) -> None:
        """`for i {..}` -> `for o { for n { if o * extent(n) + n < extent(i) {..} } }`.

        The guard, if any, stands in the innermost of the loops that are nested perfectly.
        """
        loop = self._loops.pop(axis)
        outers, inners = self._make(outer, loop), self._make(inner, loop)
        assert loop.parent is not None
        loop.parent.insert_op_before(outers, loop)
        outers.block.add_op(inners)
        _move(loop.block, inners.block)
        last = _innermost(inners)
        iteration = AffineDimExpr(0) * lifted(inner.extent) + AffineDimExpr(1)
        values = [outers.var, inners.var]
        express(last, loop.var, iteration, values, _ranges(last))
        if not proves(outer.extent * inner.extent, "<=", axis.extent):
            guard = tir.IfOp.make(affine_map(2, (iteration * -1 + lifted(axis.extent - 1),)), values, likely=True)
            guard.location = loop.location
            _move(last.block, guard.block)
            last.block.add_op(guard)
        _drop(loop)

    def fuse(self, outer: IterVar, inner: IterVar, fused: IterVar) -> None:
        """`for i { for j {..} }` -> `for f {..}`, of loops that are nested perfectly."""
        first, second = self._loops.pop(outer), self._loops.pop(inner)
        loop = self._make(fused, first)
        assert first.parent is not None
        first.parent.insert_op_before(loop, first)
        _move(second.block, loop.block)
        last = _innermost(loop)
        # Without iterations any width will do.
        width = lifted(max(1, inner.extent) if isinstance(inner.extent, int) else inner.extent)
        express(last, first.var, AffineDimExpr(0) // width, [loop.var], _ranges(last))
        express(last, second.var, AffineDimExpr(0) % width, [loop.var], _ranges(last))
        _drop(first)

    def reorder(self, before: Sequence[IterVar], after: Sequence[IterVar]) -> None:
        """Nest the loops `before`, which are nested perfectly, in the order of `after`."""
        old, new = ([self._loops[axis] for axis in axes] for axes in (before, after))
        temporary = Block()
        _move(old[-1].block, temporary)
        mark = tir.ForOp.make(0)
        assert old[0].parent is not None
        old[0].parent.insert_op_before(mark, old[0])
        for loop in reversed(old):
            loop.detach()
        assert mark.parent is not None
        mark.parent.insert_op_before(new[0], mark)
        _drop(mark)
        for outer, inner in pairwise(new):
            outer.block.add_op(inner)
        _move(temporary, new[-1].block)

    def _make(self, axis: IterVar, like: tir.ForOp) -> tir.ForOp:
        loop = tir.ForOp.make(axis.extent, axis.kind, axis.name)
        loop.attributes.update(axis.hints)
        loop.location, loop.var.location = like.location, like.var.location
        self._loops[axis] = loop
        return loop


def _only(loop: tir.ForOp) -> tir.ForOp | None:
    """The loop that is all there is in another."""
    first = loop.block.first_op
    return first if isinstance(first, tir.ForOp) and first is loop.block.last_op else None


def _innermost(loop: tir.ForOp) -> tir.ForOp:
    while (inner := _only(loop)) is not None:
        loop = inner
    return loop


def _move(source: Block, target: Block) -> None:
    for op in list(source.ops):
        op.detach()
        target.add_op(op)


def _drop(loop: tir.ForOp) -> None:
    loop.detach()
    loop.erase()


def _ranges(loop: tir.ForOp) -> Ranges:
    """The values of a loop and of those around it."""
    ranges: Ranges = {}
    op = loop
    while op is not None:
        if isinstance(op, tir.ForOp):
            ranges[op.var] = op.bounds
        op = op.parent_op()
    return ranges
