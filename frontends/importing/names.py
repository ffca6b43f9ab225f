"""Names of tensors in models -> names of SSA values."""

from __future__ import annotations

import re
from collections.abc import Iterable

from xdsl.dialects.builtin import ArrayAttr, StringAttr

_FORBIDDEN = re.compile(r"[^A-Za-z0-9_$.-]")
_COUNTER = re.compile(r"(_\d+)+$")


def value_name(name: str) -> str | None:
    """Return a tensor name with illegal characters replaced by `_`; None if nothing remains.

    Trailing counters are removed, because the printer numbers values with equal names itself.
    """
    kept = _COUNTER.sub("", _FORBIDDEN.sub("_", name))
    if kept[:1].isdigit():
        kept = f"v{kept}"
    return kept or None


def strings(names: Iterable[str]) -> ArrayAttr[StringAttr]:
    """Return names as an attribute."""
    return ArrayAttr([StringAttr(name) for name in names])
