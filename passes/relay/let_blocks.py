"""Let-blocks in the normal forms: make them, take them apart, move ops that only compute to where they are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.relay.binding import Flavour, IfOp, LetOp
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.data_types import MatchOp
from ...dialects.relay.functions import FnOp, GlobalOp, YieldOp
from ...dialects.relay.grouping import replace_uses
from ...provenance.ledger import current_ledger
from ...provenance.numbers import moves_of
from .analysis.traversal import post_order


def dissolve(let: LetOp, reason: str = "values are shared as they are") -> None:
    """Put what is in a let-block in its place. One that is recursive must have no use of its arguments."""
    last = let.block.last_op
    assert last is not None
    replacements: dict[SSAValue, SSAValue] = dict(zip(let.results, last.operands, strict=True))
    for result, value in replacements.items():
        if value.name_hint is None:
            value.name_hint = result.name_hint
    replace_uses(replacements)
    last.detach()
    if (ledger := current_ledger()) is not None:
        moves = moves_of(replacements, replacements.values())
        before = [let.location, last.location, *(argument.location for argument in let.block.args)]
        ledger.record("LetBlock", removed=[let, last], before=before, moves=moves, reason=reason)
    last.erase()
    move_before(list(let.block.ops), let)
    let.detach()
    let.erase()


def keep_outputs(let: LetOp, keep: Sequence[bool]) -> LetOp:
    """The let-block, which is not recursive, without the outputs that are not kept; nobody reads those."""
    if all(keep):
        return let
    last = let.block.last_op
    assert isinstance(last, YieldOp)
    last.operands = [value for value, kept in zip(last.operands, keep, strict=True) if kept]
    body = let.body.detach_block(0)
    new_let = LetOp(let.kind, body)
    new_let.location, new_let.attributes = let.location, let.attributes
    block = let.parent
    assert block is not None
    block.insert_op_before(new_let, let)
    old = [result for result, kept in zip(let.results, keep, strict=True) if kept]
    for before, after in zip(old, new_let.results, strict=True):
        after.name_hint = before.name_hint
    replace_uses(dict(zip(old, new_let.results, strict=True)))
    let.detach()
    let.erase()
    return new_let


def forward_through_lets(root: Operation) -> bool:
    """Have constants in let-blocks, and what those only pass on, be read past them; returns whether any was.

    A constant that is read behind its let-block moves to before it. A let-block in which nothing is left goes.
    """
    changed = False
    for let in [op for op in post_order(root) if isinstance(op, LetOp) and op.kind is not Flavour.REC]:
        last = let.block.last_op
        assert last is not None
        past: dict[SSAValue, SSAValue] = {}
        for value, result in zip(last.operands, let.results, strict=True):
            owner = value.owner
            if isinstance(owner, ConstantOp) and owner.parent is let.block:
                move_before([owner], let)
            elif isinstance(owner, Operation) and owner.parent is let.block:
                continue
            past[result] = value
        if not past:
            continue
        changed = True
        replace_uses(past)
        let = keep_outputs(let, [result not in past for result in let.results])
        if let.block.first_op is let.block.last_op and not let.results:
            dissolve(let, "it binds constants only")
    return changed


def is_recursive_in_fact(let: LetOp) -> bool:
    """Return whether a function in a let-block reads one of its arguments."""
    return any(argument.first_use is not None for argument in let.block.args)


def move_before(ops: Iterable[Operation], place: Operation) -> None:
    """Move ops, in order, to before another one."""
    block = place.parent
    assert block is not None
    for op in ops:
        op.detach()
        block.insert_op_before(op, place)


def regions_to(op: Operation, block: Block) -> list[Region]:
    """The regions around `op`, from those of an op of `block` inwards."""
    regions: list[Region] = []
    while (inner := op.parent) is not None and inner is not block:
        region = inner.parent
        assert region is not None
        regions.append(region)
        around = region.parent
        assert around is not None
        op = around
    regions.reverse()
    return regions


def sink(blocks: Iterable[Block], impure: set[Operation]) -> None:
    """Move ops of `blocks` that only compute into the innermost branch or clause around all their readers.

    What a closure alone reads stays outside, as it would be done anew at each call; constants go in.
    blocks: outer ones before those in them.
    """
    for block in blocks:
        for op in reversed(list(block.ops)):
            if op not in impure and op.next_op is not None and (target := _target(op, block)) is not None:
                op.detach()
                first = target.first_op
                assert first is not None
                target.insert_op_before(op, first)


def _target(op: Operation, block: Block) -> Block | None:
    common: list[Region] | None = None
    cheap = isinstance(op, ConstantOp | GlobalOp)
    for result in op.results:
        for use in result.uses:
            if use.operation.parent is block:
                return None
            path = [*_enterable(regions_to(use.operation, block), cheap)]
            common = path if common is None else [a for a, b in zip(common, path, strict=False) if a is b]
            if not common:
                return None
    return common[-1].block if common else None


def _enterable(path: list[Region], cheap: bool) -> Iterable[Region]:
    """Return those of these regions that an op may enter."""
    kinds = (IfOp, MatchOp, FnOp, LetOp) if cheap else (IfOp, MatchOp, LetOp)
    regions: list[Region] = []
    for region in path:
        if not isinstance(region.parent, kinds):
            break
        regions.append(region)
    while regions and isinstance(regions[-1].parent, LetOp):
        regions.pop()
    return regions
