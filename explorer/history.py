"""The history of an op: the ledger read backwards, from the op to the nodes of the source."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from ..provenance.ledger import Entry, Ledger
from ..provenance.span import leaves
from .report import tally

_Made = dict[str, list[frozenset[LocationAttr]]]
"""Op name -> the leaves of ops of that name whose origin is looked for."""


def history(ledger: Ledger, op: Operation) -> tuple[Entry, ...]:
    """The entries that made `op`, or an op that it was made of, first to last; ops are told by name and location."""
    wanted: _Made = {op.name: [frozenset(leaves(op.location))]}
    entries: list[Entry] = []
    for entry in reversed(ledger.why(op.location)):
        # A group is moved as it is: its kernel's name is known already.
        if entry.pattern != "FuseGroup" and _makes(entry, wanted):
            entries.append(entry)
            for name, location in zip(entry.removed, entry.before, strict=False):
                wanted.setdefault(name, []).append(frozenset(leaves(location)))
    return tuple(reversed(entries))


def _makes(entry: Entry, wanted: _Made) -> bool:
    if entry.created:
        return any(_serves(location, wanted.get(name, [])) for name, location in _created(entry))
    # Ops that took over the work of others: they kept their names, and have leaves of both.
    return any(_serves(location, [mine]) for location in entry.after for group in wanted.values() for mine in group)


def _created(entry: Entry) -> Iterator[tuple[str, LocationAttr]]:
    if len(entry.created) == len(entry.after):
        return zip(entry.created, entry.after, strict=True)
    return ((name, location) for name in entry.created for location in entry.after)


def _serves(location: LocationAttr, groups: list[frozenset[LocationAttr]]) -> bool:
    layers = leaves(location)
    return bool(layers) and any(mine.issuperset(layers) for mine in groups)


def told(entry: Entry) -> tuple[str, str, str]:
    """(pass, pattern, what it did) for a table, without the dialect of ops and with equal ones counted."""
    gone = tally(name.removeprefix("relay.") for name in entry.removed)
    came = tally(name.removeprefix("relay.") for name in entry.created)
    if came:
        what = f"{gone} -> {came}" if gone else f"made {came}"
    elif gone:
        what = f"{gone} {'absorbed' if entry.after else 'removed'}"
    else:
        what = "changed in place"
    return entry.pass_name, entry.pattern, what + (f" ({entry.reason})" if entry.reason else "")
