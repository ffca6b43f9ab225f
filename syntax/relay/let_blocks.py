"""Ops of lets, moved into let-blocks, in pure and impure runs."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

from ...dialects.relay.binding import Flavour, LetOp
from ...dialects.relay.grouping import bind, runs


def bound_in_blocks(block: Block, bound: Collection[Operation], location: LocationAttr) -> None:
    """Move the ops of `bound`, which stand in `block`, into let-blocks there, located at `location`."""
    if bound:
        for run in runs(block, lambda op: op not in bound or isinstance(op, LetOp), _flavour):
            bind(run, _flavour(run[0]), location, names=False)


def _flavour(op: Operation) -> Flavour:
    return Flavour.PURE if is_side_effect_free(op) else Flavour.IMPURE
