"""Closed functions: those that passes which work function by function leave alone."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation

from ..dialects.relay.core import COMPILER as COMPILER
from ..dialects.relay.core import FuncOp

COMPOSITE = "Composite"
"""The attribute that says which pattern an external compiler knows a function by."""
SKIP = "SkipOptimization"


def is_set(value: Attribute | None) -> bool:
    """Return whether an attribute of a function holds: it is there, and not 0."""
    return value is not None and not (isinstance(value, IntegerAttr) and value.value.data == 0)


def text_of(func: FuncOp, name: str) -> str:
    """An attribute of a function that is a text; "" when it has none."""
    value = func.attributes.get(name)
    return value.data if isinstance(value, StringAttr) else ""


def is_closed(func: FuncOp) -> bool:
    """Return whether a function is for an external compiler, or asks to be left as it is."""
    return COMPILER in func.attributes or COMPOSITE in func.attributes or is_set(func.attributes.get(SKIP))


@contextmanager
def closed_aside(module: ModuleOp) -> Generator[None]:
    """Within this scope the closed functions are not in the module; then they are where they were."""
    before = list(module.ops)
    closed = [op for op in before if isinstance(op, FuncOp) and is_closed(op)]
    for func in closed:
        func.detach()
    try:
        yield
    finally:
        block = module.body.block
        following: Operation | None = None
        for op in reversed(before if closed else ()):
            if op in closed:
                if following is None:
                    block.add_op(op)
                else:
                    block.insert_op_before(op, following)
            if op.parent is block:
                following = op
