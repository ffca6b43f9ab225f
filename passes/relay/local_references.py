"""References that one block makes, reads and writes are values that follow one another."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.relay.grouping import replace_uses
from ...dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from ...dialects.relay.tuples import TupleOp
from ...provenance.ledger import current_ledger


def forward_references(block: Block) -> bool:
    """Have what reads a reference that this block alone knows read the value last written; such references go.

    Returns whether any went. Linear in the number of ops.
    """
    local: dict[SSAValue, SSAValue] = {}
    """Each such reference -> what it holds."""
    for op in block.ops:
        if isinstance(op, RefCreateOp) and all(_is_access(use.operation, use.index, block) for use in op.result.uses):
            local[op.result] = op.value
    if not local:
        return False
    given: dict[SSAValue, SSAValue] = {}
    gone: list[Operation] = []
    for op in list(block.ops):
        if isinstance(op, RefCreateOp) and op.result in local:
            local[op.result] = given.get(op.value, op.value)
        elif isinstance(op, RefReadOp) and op.ref in local:
            given[op.result] = local[op.ref]
        elif isinstance(op, RefWriteOp) and op.ref in local:
            local[op.ref] = given.get(op.value, op.value)
            if op.result.first_use is not None:
                unit = TupleOp([])
                unit.location = op.location
                block.insert_op_before(unit, op)
                given[op.result] = unit.result
        else:
            continue
        gone.append(op)
    replace_uses(given)
    if (ledger := current_ledger()) is not None:
        before = [op.location for op in gone]
        ledger.record("LocalReference", removed=[op.name for op in gone], before=before, reason="its value is known")
    for op in reversed(gone):
        op.detach()
        op.erase()
    return True


def _is_access(user: Operation, index: int, block: Block) -> bool:
    """Whether an op of this block reads or writes what its operand `index` refers to."""
    return user.parent is block and isinstance(user, RefReadOp | RefWriteOp) and index == 0
