"""Entries of the ledger, as a person reads them."""

from __future__ import annotations

from ..provenance.ledger import Entry
from .report import tally


def told(entry: Entry) -> tuple[str, str, str]:
    """(pass, pattern, what it did) for a table, without the dialect of ops and with equal ones counted."""
    gone = tally(name.removeprefix("relay.") for name in entry.removed)
    came = tally(name.removeprefix("relay.") for name in entry.created)
    if came:
        effect = f"{gone} -> {came}" if gone else f"made {came}"
    elif gone:
        effect = f"{gone} {'absorbed' if entry.after else 'removed'}"
    else:
        effect = "changed in place"
    return entry.pass_name, entry.pattern or "(unknown)", effect + (f" ({entry.reason})" if entry.reason else "")
