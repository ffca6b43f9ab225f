"""Dead code: ops that nobody reads go, and the ledger says so."""

from __future__ import annotations

from xdsl.ir import Operation, Region
from xdsl.traits import IsTerminator, Pure, SymbolOpInterface
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from .ledger import current_ledger


def is_trivially_dead_when_unused(op: Operation) -> bool:
    """Whether `op` may be dropped once nobody reads its results."""
    return op.has_trait(Pure) and not op.has_trait(IsTerminator) and not op.has_trait(SymbolOpInterface)


def eliminate_dead_code(region: Region) -> bool:
    """Erase pure ops whose results nobody reads, users first. Returns whether any went."""
    ledger = current_ledger()
    changed = False
    for block in reversed(list(region.blocks)):
        for op in reversed(list(block.ops)):
            for inner in op.regions:
                changed |= eliminate_dead_code(inner)
            if not is_trivially_dead(op):
                continue
            if ledger is not None:
                ledger.record("DeadCode", removed=[op.name], before=[op.location], reason="nobody reads its result")
            op.detach()
            op.erase()
            changed = True
    return changed
