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
    known = list(names)
    near = difflib.get_close_matches(name, known, n=3)
    if not near and len(name) > 1:
        near = [other for other in known if name.lower() in other.lower()][:3]
    return f" (did you mean {' or '.join(near)}?)" if near else ""
