"""tir-hoist-if-then-else: a branch that a loop does not decide moves out of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects.sizes.kernel import affine_map
from ...dialects.tir import CallExternOp, ForOp, IfOp, PrimFuncOp, prim_funcs
from ...dialects.tir.index_maps import View, Writer, view
from ...provenance.span import fuse
from .rewriting.ops import inline_before, record

LIMIT = 256
"""Ops beside an `if` that are copied into its other branch at most, per loop."""


def run(func: PrimFuncOp, limit: int = LIMIT) -> None:
    """Hoist the branches of one kernel, inner loops first, in place."""
    _block(func.block, limit)


def _block(block: Block, limit: int) -> None:
    for op in list(block.ops):
        match op:
            case ForOp():
                _block(op.block, limit)
                _loop(op, limit)
            case IfOp():
                _block(op.block, limit)
                if op.orelse is not None:
                    _block(op.orelse.block, limit)
            case _:
                for region in op.regions:
                    _block(region.block, limit)


def _loop(loop: ForOp, limit: int) -> None:
    """Move each invariant `if` of `loop` around it: the loop stands in both branches, with what the guard leaves."""
    for branch in loop.block.ops:
        if not isinstance(branch, IfOp) or (guard := _invariant(branch, loop)) is None:
            continue
        same = [op for op in loop.block.ops if isinstance(op, IfOp) and _invariant(op, loop) == guard]
        other = _without(loop, same)
        beside = sum(1 for _ in loop.walk()) - 1 - sum(1 for op in same for _ in op.walk())
        if other is not None and beside > limit:
            continue
        _wrap(loop, same, guard, other)
        # The rest of the loop may hold further ones.
        _loop(loop, limit - beside if other is not None else limit)
        if other is not None:
            _loop(other, limit - beside)
        return


def _invariant(op: IfOp, loop: ForOp) -> View | None:
    """The guard of `op` over values from outside of `loop`; None if it needs others."""
    seen = view(op, {})
    return seen if not any(_inside(value, loop) for value in seen.values) else None


def _inside(value: SSAValue, loop: ForOp) -> bool:
    owner = value.owner
    block: Block | None = owner if isinstance(owner, Block) else owner.parent
    while block is not None:
        if block is loop.block:
            return True
        block = block.parent_block()
    return False


def _has_effect(block: Block) -> bool:
    return any(isinstance(op, Writer | CallExternOp) for op in block.walk())


def _without(loop: ForOp, branches: Sequence[IfOp]) -> ForOp | None:
    """A copy of `loop` for when the guard of `branches` does not hold; None if it would do nothing."""
    numbers = {i for i, op in enumerate(loop.block.ops) if op in branches}
    copy = loop.clone()
    for op in [op for i, op in enumerate(copy.block.ops) if i in numbers]:
        assert isinstance(op, IfOp)
        _take(op, op.orelse.block if op.orelse is not None else None)
    if _has_effect(copy.block):
        return copy
    copy.erase()
    return None


def _take(branch: IfOp, block: Block | None) -> None:
    """Replace an `if` by the ops of one of its blocks."""
    if block is not None:
        inline_before(block, branch)
    branch.detach()
    branch.erase()


def _wrap(loop: ForOp, branches: Sequence[IfOp], guard: View, other: ForOp | None) -> None:
    first = branches[0]
    outer = IfOp.create(
        operands=guard.values,
        properties={**first.properties, "guard": AffineMapAttr(affine_map(len(guard.values), guard.guard))},
        attributes=first.attributes,
        regions=[Region(Block()) for _ in range(2 if other is not None else 1)],
        location=fuse([branch.location for branch in branches]),
    )
    assert loop.parent is not None
    loop.parent.insert_op_before(outer, loop)
    for branch in branches:
        record("Hoist", branch, "its guard does not depend on the loop", _around(outer, branch))
        _take(branch, branch.block)
    loop.detach()
    outer.block.add_op(loop)
    if other is not None and outer.orelse is not None:
        outer.orelse.block.add_op(other)


def _around(outer: IfOp, branch: IfOp) -> list[Operation]:
    """Return the ops that replace `branch` once its ops are in the loop inside `outer`."""
    return [outer, *branch.block.ops]


@dataclass(frozen=True)
class TirHoistIfThenElsePass(ModulePass):
    """Moves each `tir.if` of a loop's body whose guard does not depend on the loop around the loop.

    Before: any kernels. After: such an `if` stands around the loop, and around further loops that do not decide it.
    Ops beside it in the body stay in the loop; the other branch gets a copy of the loop with them, unless that would
    have no effect. Branches of one guard are hoisted as one. An `if` that would have more than `limit` ops copied
    stays in the loop.
    Locations: the `if` is located where those were that it stands for, copies as what they copy.

    ```mlir
    tir.for %i in 4 {
      tir.for %j in 8 {
        %0 = tir.load %a[%j] : !tir.buffer<8xf32> -> f32
        tir.if [%i - 2] >= 0 {
          tir.store %0, %b[%i, %j] : f32, !tir.buffer<4x8xf32>
        }
      }
    }
    // becomes
    tir.for %i in 4 {
      tir.if [%i - 2] >= 0 {
        tir.for %j in 8 {
          %0 = tir.load %a[%j] : !tir.buffer<8xf32> -> f32
          tir.store %0, %b[%i, %j] : f32, !tir.buffer<4x8xf32>
        }
      }
    }
    ```
    """

    name = "tir-hoist-if-then-else"
    limit: int = LIMIT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func, self.limit)
