"""Scalar types behind tensors, and the names that reductions have."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, SSAValue

INDEX = IndexType()
I32 = IntegerType(32)

REDUCERS = ("sum", "prod", "max", "min")
"""Combiners of reductions: `sum` starts from 0, `prod` from 1, `max` and `min` from the least and greatest value."""


def behind(values: Sequence[SSAValue], block: Block) -> set[SSAValue]:
    """The values of a block that `values` are computed from, themselves among them."""
    values_behind: set[SSAValue] = set()
    stack = list(values)
    while stack:
        if (value := stack.pop()) not in values_behind:
            values_behind.add(value)
            if not isinstance(value.owner, Block) and value.owner.parent is block:
                stack.extend(value.owner.operands)
    return values_behind


ROWS_APART = "rows_apart"
"""The tag of hybrid scripts whose outermost loop may run in parallel."""

STARTS = "te.starts_are_identity"
"""Marks a reduction that starts from values which are its identity: a custom one, in place of its constants."""
PREDICATED = "te.predicated"
"""A flag of a compute: its terms select by a condition, and where that does not hold nothing is combined."""
