"""Moving and erasing ops, with a record in the ledger."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation

from ....dialects.tir import ForOp
from ....provenance.ledger import current_ledger
from ....provenance.walk import walk
from .constants import index_constant


def record(pattern: str, op: Operation, reason: str, after: Sequence[Operation] = (), *, gone: bool = True) -> None:
    """Tell the open ledger that `op` went (or, not `gone`, changed) and what stands for it now."""
    if (ledger := current_ledger()) is None:
        return
    inside = [op.location, *(inner.location for inner in walk(op) if inner is not op)] if gone else [op.location]
    ledger.record(
        pattern,
        removed=walk(op) if gone else (),
        created=after,
        changed=() if gone else [op],
        before=inside,
        after=None if gone else [op.location],
        reason=reason,
    )


def drop(op: Operation, pattern: str, reason: str) -> None:
    """Erase `op` and all in it, with a record."""
    record(pattern, op, reason)
    op.detach()
    op.erase()


def inline_before(block: Block, op: Operation) -> list[Operation]:
    """Move the ops of `block`, a block of `op`, before `op`; returns them."""
    moved = list(block.ops)
    parent = op.parent
    assert parent is not None
    for inner in moved:
        inner.detach()
        parent.insert_op_before(inner, op)
    return moved


def replace_var(loop: ForOp, value: int) -> None:
    """Let what still uses the variable of `loop` outside of index maps use the number `value`."""
    if loop.var.first_use is None:
        return
    number = index_constant(value, loop.location)
    first = loop.block.first_op
    assert first is not None
    loop.block.insert_op_before(number, first)
    loop.var.replace_all_uses_with(number.result)
