"""The check that a program may be run at all: every value is made once, before and around its readers."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....provenance.diagnostics import fail
from .traversal import inside


def well_formed(root: Operation) -> bool:
    """Return whether `root` and what is in it are valid, and every value read in it, or given to it, is in scope."""
    try:
        root.verify()
        check_scopes(root)
    except VerifyException:
        return False
    return True


def check_scopes(root: Operation) -> None:
    """Raise VerifyException for the first op in `root` that reads a value which is not made before, or not around it.

    What `root` itself reads is taken as given, and so is what is made outside of it.
    """
    results: set[SSAValue] = set()
    visible: set[SSAValue] = set(root.operands)
    stack = [(_enter(root, visible), inside(root), root)]
    while stack:
        scope, rest, op = stack[-1]
        if (inner := next(rest, None)) is None:
            stack.pop()
            visible.difference_update(scope)
            if stack:
                visible.update(op.results)
                stack[-1][0].extend(op.results)
            continue
        for value in inner.operands:
            if value not in visible and (value in results or _is_inside(value, root)):
                fail(inner, "operands that are made before it, in its scope", f"one of type {value.type} that is not")
        results.update(inner.results)
        if inner.regions:
            stack.append((_enter(inner, visible), inside(inner), inner))
        else:
            visible.update(inner.results)
            scope.extend(inner.results)


def _enter(op: Operation, visible: set[SSAValue]) -> list[SSAValue]:
    arguments: list[SSAValue] = [
        argument for region in op.regions for block in region.blocks for argument in block.args
    ]
    visible.update(arguments)
    return arguments


def _is_inside(value: SSAValue, root: Operation) -> bool:
    op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    return op is not None and root.is_ancestor(op)
