"""Ops put into let-blocks: in runs of one flavour, each block where its ops stood."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from .binding import Flavour, LetOp
from .functions import YieldOp

NAME = "x"
"""The name of a binding without one; the printer makes names unique."""


def runs(
    block: Block, ends: Callable[[Operation], bool], flavour: Callable[[Operation], Flavour]
) -> list[list[Operation]]:
    """The ops of a block but the last, in runs of one flavour; an op that `ends` holds for is in none."""
    groups: list[list[Operation]] = []
    open_ = False
    for op in block.ops:
        if op.next_op is None:
            break
        if ends(op):
            open_ = False
        elif open_ and flavour(groups[-1][0]) is flavour(op):
            groups[-1].append(op)
        else:
            groups.append([op])
            open_ = True
    return groups


def bind(run: Sequence[Operation], flavour: Flavour, location: LocationAttr, names: bool = True) -> LetOp:
    """Put ops that follow one another into a let-block in their place, which yields what is read behind it.

    names: give a name to the results that have none, so that each op is a binding.
    """
    block, successor = run[0].parent, run[-1].next_op
    assert block is not None
    members = set(run)

    needed: list[SSAValue] = []
    users: dict[Operation, None] = {}
    for op in run:
        for result in op.results:
            if names and result.name_hint is None:
                result.name_hint = NAME
            outside = {use.operation: None for use in result.uses if ancestor_in(use.operation, block) not in members}
            if outside:
                needed.append(result)
                users |= outside
    body = Block()
    for op in run:
        op.detach()
        body.add_op(op)
    body.add_op(YieldOp(*needed, location=location))
    let = LetOp(flavour, body)
    let.location = location
    for value, output in zip(needed, let.results, strict=True):
        output.name_hint = value.name_hint
    replace_uses(dict(zip(needed, let.results, strict=True)), users)
    if successor is None:
        block.add_op(let)
    else:
        block.insert_op_before(let, successor)
    return let


def ancestor_in(op: Operation, block: Block) -> Operation | None:
    """The op of `block` in which `op` stands, or is; None when it stands elsewhere."""
    current: Operation | None = op
    while current is not None and current.parent is not block:
        current = current.parent_op()
    return current


def replace_uses(replacements: Mapping[SSAValue, SSAValue], users: Iterable[Operation] | None = None) -> None:
    """Have ops read other values in the place of those given: all that read them, or these `users` only.

    Each user is changed once, however many of the values it reads.
    """
    if users is None:
        users = {use.operation: None for value in replacements for use in value.uses}
    for user in users:
        user.operands = tuple(replacements.get(operand, operand) for operand in user.operands)
