"""Ops that lets hold, moved into let-blocks: runs that only compute, and runs that may do more."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects.relay.binding import Flavour, LetOp
from ...dialects.relay.functions import YieldOp


def bound_in_blocks(block: Block, bound: Collection[Operation], location: LocationAttr) -> None:
    """Move the ops of `bound`, which stand in `block`, into let-blocks there, located at `location`."""
    if not bound:
        return
    run: list[Operation] = []
    flavour: Flavour | None = None
    for op in list(block.ops):
        now = _flavour(op) if op in bound else None
        if run and now is not flavour:
            _wrap(run, flavour, location)
            run = []
        flavour = now
        if now is not None:
            run.append(op)
    if run:
        _wrap(run, flavour, location)


def _flavour(op: Operation) -> Flavour | None:
    """The let-block that an op belongs in; None for one that is a let-block."""
    if isinstance(op, LetOp):
        return None
    return Flavour.PURE if is_side_effect_free(op) else Flavour.IMPURE


def _wrap(run: list[Operation], flavour: Flavour | None, location: LocationAttr) -> None:
    block = run[0].parent
    assert flavour is not None
    assert block is not None
    inner, follow = Block(), run[-1].next_op
    for op in run:
        op.detach()
        inner.add_op(op)
    needed = [value for op in run for value in op.results if any(_outside(use.operation, inner) for use in value.uses)]
    inner.add_op(YieldOp(*needed, location=location))
    let = LetOp(flavour, inner)
    let.location = location
    if follow is None:
        block.add_op(let)
    else:
        block.insert_op_before(let, follow)
    for old, new in zip(needed, let.outputs, strict=True):
        new.name_hint = old.name_hint
        _replace(old, new, inner)


def _replace(old: SSAValue, new: SSAValue, inner: Block) -> None:
    old.replace_uses_with_if(new, lambda use: _outside(use.operation, inner))


def _outside(op: Operation, block: Block) -> bool:
    while (parent := op.parent) is not block:
        around = parent.parent_op() if parent is not None else None
        if around is None:
            return True
        op = around
    return False
