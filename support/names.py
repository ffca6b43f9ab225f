"""Names that come from models, made fit to be shown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(name: str) -> str:
    """A name as people see it: what steers a terminal, ends a line, turns the writing round or is half a letter is
    escaped (`\\x1b`)."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), name)


def shortened(text: str, limit: int) -> str:
    """A text of at most so many letters: the middle of a longer one is left out, as names differ at their ends."""
    if len(text) <= limit:
        return text
    end = (limit - 2) // 2
    return f"{text[: limit - 2 - end]}..{text[len(text) - end :]}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """` (did you mean ..?)` with the nearest of some names, else with those that hold it; "" when none is near."""
    folded: dict[str, list[str]] = {}
    for other in names:
        folded.setdefault(other.casefold(), []).append(other)
    keys = difflib.get_close_matches(name.casefold(), folded, n=3)
    if not keys and len(name) > 1:
        keys = [key for key in folded if name.casefold() in key]
    near = [other for key in keys for other in folded[key]][:3]
    return f" (did you mean {' or '.join(near)}?)" if near else ""
