"""Ways through a program: flat over blocks, down into regions; never by recursion, nothing twice."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ....dialects.relay.binding import LetOp
from ....dialects.relay.core import FuncOp


def functions_of(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions of a module by name."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def inside(op: Operation) -> Iterator[Operation]:
    """The ops of the blocks of `op`, without those in their regions."""
    for region in op.regions:
        for block in region.blocks:
            yield from block.ops


def post_order(root: Operation) -> Iterator[Operation]:
    """Every op in `root`, then `root`: each once, after those before it in its block and those in its regions."""
    stack = [(root, inside(root))]
    while stack:
        op, rest = stack[-1]
        if (inner := next(rest, None)) is None:
            stack.pop()
            yield op
        elif inner.regions:
            stack.append((inner, inside(inner)))
        else:
            yield inner


def pre_order(root: Operation) -> Iterator[Operation]:
    """`root`, then every op in it, in the order of the text."""
    yield root
    stack = [inside(root)]
    while stack:
        if (inner := next(stack[-1], None)) is None:
            stack.pop()
            continue
        yield inner
        if inner.regions:
            stack.append(inside(inner))


def is_binding(op: Operation) -> bool:
    """Return whether an op is a binding of a let-block: one that has names for its results."""
    if not isinstance(op.parent_op(), LetOp):
        return False
    return any(result.name_hint is not None for result in op.results)
