"""Loops that run a number of times that is known: their counters begin, step and end at known numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.ir import BlockArgument, Operation, SSAValue

from .bodies import name_of
from .nodes import attributes_of

MOST_STEPS = 2048
"""Ops that a loop may be rolled out to."""

Known = Callable[[SSAValue], "int | None"]


def counted(op: Operation, number: Known) -> int | None:
    """Return how often the body of a while runs; None where a call decides.

    number: the integer that a value outside of the loop is known to be.
    """
    cond, body = (region.block for region in op.regions)
    last, leaving = cond.last_op, body.last_op
    if last is None or leaving is None or len(last.operands) != 1 or len(leaving.operands) != len(op.operands):
        return None
    compare = last.operands[0].owner
    if not isinstance(compare, Operation) or name_of(compare) != "compare":
        return None
    direction = attributes_of(compare).get("comparison_direction")
    counter, bound = compare.operands
    if direction not in ("LT", "LE") or not isinstance(counter, BlockArgument) or counter.block is not cond:
        return None

    def outside(value: SSAValue) -> int | None:
        """A number that is the same in all iterations."""
        if isinstance(value, BlockArgument) and value.block in (cond, body):
            same = leaving.operands[value.index] is body.args[value.index]
            return number(op.operands[value.index]) if same else None
        return _constant(value) if _constant(value) is not None else number(value)

    increment = leaving.operands[counter.index].owner
    if not isinstance(increment, Operation) or name_of(increment) != "add":
        return None
    own = body.args[counter.index]
    others = [value for value in increment.operands if value is not own]
    if len(others) != 1:
        return None
    begin, step, end = number(op.operands[counter.index]), outside(others[0]), outside(bound)
    if begin is None or step is None or end is None or step < 1:
        return None
    end += direction == "LE"
    return max(0, -(-(end - begin) // step))


def _constant(value: SSAValue) -> int | None:
    """The integer of a constant of the loop's own."""
    op = value.owner
    if not isinstance(op, Operation) or name_of(op) != "constant":
        return None
    stated = attributes_of(op).get("value")
    elements = cast("tuple[Any, ...]", stated) if isinstance(stated, tuple) else ()
    return elements[0] if len(elements) == 1 and isinstance(elements[0], int) else None
