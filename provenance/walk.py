"""All ops at and below another, fast."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation


def walk(root: Operation) -> Iterator[Operation]:
    """Yield the ops of `root.walk()` in the same order, at a cost that does not grow with the depth of nesting.

    xDSL's goes through three generators per level for each op. What is below an op is listed when that was yielded:
    who changes the IR while walking uses xDSL's.
    """
    stack = [root]
    while stack:
        op = stack.pop()
        yield op
        for region in reversed(op.regions):
            block = region.last_block
            while block is not None:
                inner = block.last_op
                while inner is not None:
                    stack.append(inner)
                    inner = inner.prev_op
                block = block.prev_block
