"""The audit: after a pass every op has a location, and every layer that vanished is explained by the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation

from ..support.names import shown
from .diagnostics import LocationError
from .ledger import Ledger
from .lost import is_located, is_lost, unlocated
from .responsible import Responsible
from .span import leaf_name, leaves
from .walk import walk


def surviving_leaves(root: Operation) -> set[LocationAttr]:
    """Every leaf that an op at or below `root`, or a block argument, stands for; marks of what was lost are none."""
    # Equal locations are mostly one object: what it stands for is looked up once.
    places: dict[int, LocationAttr] = {}
    for op in walk(root):
        places[id(op.location)] = op.location
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    places[id(argument.location)] = argument.location
    survivors: set[LocationAttr] = set()
    for location in places.values():
        survivors.update(leaf for leaf in leaves(location) if not is_lost(leaf))
    return survivors


def coverage(roots: Iterable[Operation]) -> float:
    """The fraction of ops (modules apart) whose layers are all known; 1.0 when there are no ops."""
    total = located = 0
    for root in roots:
        for op in walk(root):
            if not isinstance(op, ModuleOp):
                total += 1
                located += is_located(op.location)
    return located / total if total else 1.0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _told(ops: list[Operation]) -> str:
    names = ", ".join(f"{name} x{n}" if n > 1 else name for name, n in Counter(op.name for op in ops).items())
    return f"{_count(len(ops), 'op')} without location: {names}"


def check_located(root: Operation, pass_name: str) -> None:
    """Raise LocationError when an op at or below `root` has no location after a pass."""
    if missing := unlocated(root):
        raise LocationError(f"pass {pass_name}: {_told(missing)}")


def check_input(root: Operation) -> None:
    """Raise LocationError when an op of the input has no location."""
    if missing := unlocated(root):
        raise LocationError(f"input: expected every op to have a location, got {_told(missing)}")


def unexplained(before: set[LocationAttr], after: set[LocationAttr], ledger: Ledger) -> set[LocationAttr]:
    """The leaves of `before` that are neither in those of `after` nor in the ledger."""
    vanished = before - after
    return vanished - ledger.explained() if vanished else vanished


def check_blame(responsible: Responsible, root: Operation, pass_name: str) -> None:
    """Raise LocationError when an op names layers which it has no part in."""
    if blamed := responsible.wrongly_blamed(root):
        op, wrong = blamed[0]
        names = ", ".join(shown(leaf_name(leaf)) for leaf in wrong)
        rest = f", and {_count(len(blamed) - 1, 'other op')}" if len(blamed) > 1 else ""
        raise LocationError(f"pass {pass_name}: {op.name} names layers that it has no part in: {names}{rest}")


def check_explained(before: set[LocationAttr], root: Operation, pass_name: str, ledger: Ledger) -> set[LocationAttr]:
    """The leaves of the result; raises LocationError when one of `before` is neither there nor in the ledger."""
    after = surviving_leaves(root)
    if lost := unexplained(before, after, ledger):
        names = ", ".join(shown(leaf_name(leaf)) for leaf in sorted(lost, key=leaf_name))
        layers = _count(len(lost), "layer")
        raise LocationError(f"pass {pass_name}: {layers} vanished without an entry in the ledger: {names}")
    return after
