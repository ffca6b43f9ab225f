"""Dead code: ops that nobody reads go, and the ledger says so."""

from __future__ import annotations

from xdsl.ir import Operation, Region
from xdsl.traits import IsTerminator, SymbolOpInterface, is_side_effect_free

from .contents import places_in
from .effects import acts_on_nothing_else
from .ledger import current_ledger
from .moving import moved_value
from .numbers import moves_of


def is_trivially_dead_when_unused(op: Operation) -> bool:
    """Return whether `op` may be dropped once nobody reads its results."""
    return is_side_effect_free(op) and not op.has_trait(IsTerminator) and not op.has_trait(SymbolOpInterface)


def _is_droppable(op: Operation) -> bool:
    """Return whether `op` does nothing but give results, as xDSL's own elimination of dead code has it."""
    return not op.has_trait(IsTerminator) and not op.has_trait(SymbolOpInterface) and acts_on_nothing_else(op)


def eliminate_dead_code(region: Region) -> bool:
    """Erase ops whose results nobody reads and which write nothing, by xDSL's traits, users first.

    Returns whether any went.
    """
    ledger = current_ledger()
    changed = False
    for block in reversed(list(region.blocks)):
        for op in reversed(list(block.ops)):
            for inner in op.regions:
                changed |= eliminate_dead_code(inner)
            if any(result.first_use is not None for result in op.results) or not _is_droppable(op):
                continue
            if ledger is not None:
                reason = "nobody reads its result" if op.results else "it has no effect"
                moved = moved_value(op)
                moves = moves_of(op.results, [moved.operand], (moved.step,)) if moved is not None else ()
                ledger.record("DeadCode", removed=[op], moves=moves, reason=reason)
            op.detach()
            op.erase()
            changed = True
    return changed


def erase_with_contents(op: Operation, pattern: str, reason: str) -> None:
    """Erase an op that nobody reads, and all in it; the ledger says why."""
    if (ledger := current_ledger()) is not None:
        ledger.record(pattern, removed=op.walk(), before=places_in(op), reason=reason)
    op.detach()
    op.erase()
