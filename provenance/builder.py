"""A builder that holds a current location: what it adds is located by construction."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, UnknownLoc
from xdsl.ir import Block, Operation

OpT = TypeVar("OpT", bound=Operation)


def fill(op: Operation, location: LocationAttr) -> None:
    """Give `location` to `op`, the ops nested in it and their block arguments, where they have none."""
    if isinstance(location, UnknownLoc):
        return
    if isinstance(op.location, UnknownLoc):
        op.location = location
    for region in op.regions:
        for block in region.blocks:
            for argument in block.args:
                if isinstance(argument.location, UnknownLoc):
                    argument.location = location
            for inner in block.ops:
                fill(inner, location)


def locate_arguments(op: Operation, location: LocationAttr) -> None:
    """Give `location` to unlocated arguments of the blocks that `op` stands in or branches to, entry blocks apart."""
    blocks = list(op.successors)
    if (block := op.parent) is not None and block.args and (region := block.parent) is not None:
        if region.first_block is not block:
            blocks.append(block)
    for block in blocks:
        for argument in block.args:
            if isinstance(argument.location, UnknownLoc):
                argument.location = location


class LocatedBuilder:
    """Appends ops to a block; an op that comes without a location gets the current one.

    >>> with builder.located(location):
    ...     total = builder.add(AddOp(a, b)).result
    """

    block: Block
    location: LocationAttr

    def __init__(self, block: Block, location: LocationAttr = UNKNOWN_LOC):
        self.block = block
        self.location = location

    def add(self, op: OpT) -> OpT:
        """Append `op` and return it."""
        fill(op, self.location)
        self.block.add_op(op)
        return op

    @contextmanager
    def located(self, location: LocationAttr) -> Generator[None]:
        """Within this scope `location` is the current one."""
        previous, self.location = self.location, location
        try:
            yield
        finally:
            self.location = previous

    @contextmanager
    def at(self, block: Block) -> Generator[None]:
        """Within this scope ops go to the end of `block`."""
        previous, self.block = self.block, block
        try:
            yield
        finally:
            self.block = previous
