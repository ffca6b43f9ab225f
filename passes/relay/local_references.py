"""References that one block makes, and it and branches in it read and write, are values that follow one another."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.relay.binding import IfOp
from ...dialects.relay.data_types import MatchOp
from ...dialects.relay.functions import FnOp
from ...dialects.relay.grouping import replace_uses
from ...dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from ...provenance.dce import erase_with_contents
from ...provenance.ledger import current_ledger
from ...provenance.numbers import moves_of

_DEEPEST = 64
"""The number of branches inside one another that are looked at."""
_Walk: TypeAlias = Generator[Block, None, None]


def forward_references(block: Block) -> bool:
    """Have what reads a reference that this block alone knows read the value last written; such references go.

    The block's branches may read and write it, too, as long as what is read behind them is the same on every way.
    Returns whether any went. Linear in the number of ops.
    """
    creations = [op for op in block.ops if isinstance(op, RefCreateOp)]
    if creations:
        _drop_unread(block)
    local: set[SSAValue] = {
        op.result for op in creations if all(_is_access(use.operation, use.index, block) for use in op.result.uses)
    }
    if not local:
        return False
    follower = _Follower(local)
    follower.run(block)
    known = local - follower.lost
    if not known:
        return False
    replacements: dict[SSAValue, SSAValue] = {}
    gone: list[Operation] = []
    for op, held in follower.accesses:
        reference = op.result if isinstance(op, RefCreateOp) else op.operands[0]
        if reference not in known:
            continue
        gone.append(op)
        if isinstance(op, RefReadOp) and held is not None:
            replacements[op.result] = replacements.get(held, held)
        elif isinstance(op, RefWriteOp) and op.result.first_use is not None:
            unit = TupleOp([])
            unit.location = op.location
            assert op.parent is not None
            op.parent.insert_op_before(unit, op)
            replacements[op.result] = unit.result
    replace_uses(replacements)
    if (ledger := current_ledger()) is not None:
        moves = moves_of(replacements, replacements.values())
        ledger.record("LocalReference", removed=gone, moves=moves, reason="its value is known")
    for op in reversed(gone):
        op.detach()
        op.erase()
    return True


def _drop_unread(block: Block) -> None:
    """Closures, tuples and their fields that nobody reads go, in branches, too: they may hold references."""
    blocks = level = [block]
    for _ in range(_DEEPEST):
        branching = (op for inner in level for op in inner.ops if isinstance(op, IfOp | MatchOp))
        level = [region.block for op in branching for region in op.regions]
        blocks = [*blocks, *level]
        if not level:
            break
    for inner in reversed(blocks):
        for op in reversed(list(inner.ops)):
            if isinstance(op, FnOp | TupleOp | TupleGetItemOp) and op.results[0].first_use is None:
                erase_with_contents(op, "Unread", "nobody reads it")


@dataclass
class _Follower:
    """The values that references hold, op by op."""

    local: set[SSAValue]
    holds: dict[SSAValue, SSAValue | None] = field(default_factory=dict[SSAValue, "SSAValue | None"])
    """Reference -> its value; None where that depends on the way."""
    changes: list[tuple[SSAValue, SSAValue | None]] = field(default_factory=list["tuple[SSAValue, SSAValue | None]"])
    """The references written since the branch began, and the values from before."""
    accesses: list[tuple[Operation, SSAValue | None]] = field(default_factory=list["tuple[Operation, SSAValue | None]"])
    """The ops on references in order, reads with what they read."""
    lost: set[SSAValue] = field(default_factory=set[SSAValue])
    """References that are read where nobody knows what they hold."""

    def run(self, block: Block) -> None:
        stack = [self._block(block)]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            else:
                stack.append(self._block(inner))

    def _block(self, block: Block) -> _Walk:
        for op in block.ops:
            match op:
                case RefCreateOp() if op.result in self.local:
                    self._write(op.result, op.value)
                    self.accesses.append((op, None))
                case RefReadOp() if op.ref in self.local:
                    held = self.holds.get(op.ref)
                    if held is None:
                        self.lost.add(op.ref)
                    self.accesses.append((op, held))
                case RefWriteOp() if op.ref in self.local:
                    self._write(op.ref, op.value)
                    self.accesses.append((op, None))
                case IfOp() | MatchOp():
                    yield from self._branches(op)
                case _:
                    continue

    def _branches(self, op: Operation) -> _Walk:
        """After branches a reference holds what all of them leave in it."""
        ends: list[dict[SSAValue, SSAValue | None]] = []
        for region in op.regions:
            mark = len(self.changes)
            yield region.block
            ends.append({reference: self.holds[reference] for reference, _ in self.changes[mark:]})
            for reference, before in reversed(self.changes[mark:]):
                self.holds[reference] = before
            del self.changes[mark:]
        for reference in dict.fromkeys(written for end in ends for written in end):
            values = {end.get(reference, self.holds[reference]) for end in ends}
            # Ops after the branches do not see a value made in a single branch.
            self._write(reference, values.pop() if len(values) == 1 and len(ends) > 1 else None)

    def _write(self, reference: SSAValue, value: SSAValue | None) -> None:
        self.changes.append((reference, self.holds.get(reference)))
        self.holds[reference] = value


def _is_access(user: Operation, index: int, block: Block) -> bool:
    """Return whether an op of this block, or of branches in it, reads or writes what its operand `index` refers to."""
    if not isinstance(user, RefReadOp | RefWriteOp) or index != 0:
        return False
    *branches, outermost = _around(user, block)
    return outermost.parent is block and all(isinstance(op, IfOp | MatchOp) for op in (*branches, outermost)[1:])


def _around(op: Operation, block: Block) -> list[Operation]:
    """An op and those around it, up to one of a block unless that is too far."""
    ops = [op]
    while ops[-1].parent is not block and len(ops) < _DEEPEST and (outer := ops[-1].parent_op()) is not None:
        ops.append(outer)
    return ops
