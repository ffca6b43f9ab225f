"""Kernels know no layers: the copy of a primitive function that is lowered is located at *slots*.

A slot is the place of an op in its function. So machine code, printed TIR and the line table are the same for equal
functions of any model, and every call brings its own layers (slot -> location).
"""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, NameLoc, NoneAttr, StringAttr

from ...dialects.relay.core import FuncOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.size_ranges import SIZES
from ...provenance.lost import is_lost
from ...provenance.span import fuse, leaf_name, leaves
from .sizes import is_sized, with_kernel_sizes


@lru_cache(maxsize=1 << 12)
def slot_location(slot: int) -> LocationAttr:
    return NameLoc(StringAttr(f"#{slot}"), NoneAttr())


def slots_of(location: LocationAttr) -> tuple[int, ...]:
    """The slots behind a location inside a kernel; there is none behind what a pass lost, nor a place of its own."""
    return tuple(int(leaf_name(leaf)[1:]) for leaf in leaves(location) if _is_slot(leaf))


def own_places(location: LocationAttr) -> tuple[str, ...]:
    """The places behind a location inside a kernel that an operator brought along: `mine.mlir:3:5`."""
    return tuple(_own(leaf) for leaf in leaves(location) if not _is_slot(leaf) and not is_lost(leaf))


def _own(leaf: LocationAttr) -> str:
    name = leaf_name(leaf)
    inner = leaf.location if isinstance(leaf, NameLoc) else None
    return f"{name} ({leaf_name(inner)})" if isinstance(inner, FileLineColLoc) else name


def _is_slot(leaf: LocationAttr) -> bool:
    return isinstance(leaf, NameLoc) and isinstance(leaf.location, NoneAttr) and leaf.desc.data.startswith("#")


def anonymous(func: FuncOp) -> FuncOp:
    """A copy of a primitive function that knows no names: slots for locations, a symbol made of its operators."""
    copy = with_kernel_sizes(func) if is_sized(func) else func.clone()
    ranges = copy.attributes.get(SIZES)
    slots: list[LocationAttr] = []
    for slot, op in enumerate(copy.block.ops):
        op.location = slot_location(slot)
        slots.append(op.location)
        for result in op.results:
            result.name_hint = None
    copy.location = fuse(slots)
    for argument in copy.block.args:
        argument.name_hint = None
        users = [use.operation.location for use in argument.uses]
        argument.location = fuse(users) if users else copy.location
    names = [op.name.removeprefix("relay.").replace(".", "_") for op in copy.block.ops if isinstance(op, Operator)]
    copy.sym_name = StringAttr("fused_" + "_".join(names)[:80])
    copy.attributes.clear()
    if ranges is not None and is_sized(func):
        copy.attributes[SIZES] = ranges
    return copy
