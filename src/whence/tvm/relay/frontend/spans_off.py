"""Modules without spans, as programs want them that turn `relay.frontend.fill_span` off."""

from __future__ import annotations

from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp


def forget_places(module: ModuleOp) -> None:
    """Have ops and arguments say nothing of where they come from."""
    for op in module.walk():
        op.location = UNKNOWN_LOC
        for argument in (argument for region in op.regions for block in region.blocks for argument in block.args):
            argument.location = UNKNOWN_LOC
