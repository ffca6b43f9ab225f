"""The blocks of a kernel by what they read and write."""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects.tir import BlockOp, ForOp, PrimFuncOp
from ...provenance.walk import walk
from .accesses import buffers_of
from .state import blocks_in, function_of, loops_of


def children(op: Operation) -> list[BlockOp]:
    """The blocks directly in a block or loop."""
    return [op] if isinstance(op, BlockOp) and not blocks_in(op) else blocks_in(op)


def scope_of(op: Operation) -> BlockOp | PrimFuncOp:
    """The block around an op, or else its kernel."""
    parent = op.parent_op()
    while not isinstance(parent, BlockOp | PrimFuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent


def siblings(block: BlockOp) -> list[BlockOp]:
    """All blocks of a block's scope, in order."""
    return blocks_in(scope_of(block))


def producers(block: BlockOp) -> list[BlockOp]:
    """The blocks before a block that write what it accesses."""
    wanted = {*buffers_of(block, writes=False), *buffers_of(block, writes=True)}
    around = siblings(block)
    return [other for other in around[: around.index(block)] if wanted & {*buffers_of(other, writes=True)}]


def consumers(block: BlockOp) -> list[BlockOp]:
    """The blocks behind a block that access what it writes."""
    written = set(buffers_of(block, writes=True))
    around = siblings(block)
    behind = around[around.index(block) + 1 :]
    return [other for other in behind if written & {*buffers_of(other, writes=False), *buffers_of(other, writes=True)}]


def outputs(scope: BlockOp | PrimFuncOp) -> list[BlockOp]:
    """The blocks in a scope, of any depth and without blocks of their own, that write outputs of the kernel."""
    func = function_of(scope)
    results = func.block.args[len(func.block.args) - func.outputs.value.data :]
    blocks = [op for op in walk(scope) if isinstance(op, BlockOp) and op is not scope and not blocks_in(op)]
    return [block for block in blocks if {*buffers_of(block, writes=True)} & {*results}]


def loops_of_readers(block: BlockOp) -> list[ForOp]:
    """The loops that are around all blocks that read what a block writes, outermost first."""
    around = [loops_of(reader) for reader in consumers(block)]
    return [loop for loop in around[0] if all(loop in each for each in around)] if around else []
