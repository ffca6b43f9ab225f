"""Edits between texts whose lines have no identity: by what the lines are."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from .films import Edit

_COMPARED = 1 << 20
"""The most pairs of lines that are looked at; longer texts are replaced between what begins and ends both."""


def edits_between(old: Sequence[str], new: Sequence[str]) -> list[Edit]:
    """Edits that make the lines `old` those of `new`, in order."""
    begin, shortest = 0, min(len(old), len(new))
    while begin < shortest and old[begin] == new[begin]:
        begin += 1
    end = 0
    while end < shortest - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    before, after = old[begin : len(old) - end], new[begin : len(new) - end]
    if len(before) * len(after) > _COMPARED:
        return [(begin, len(before), list(after))]
    # An edit counts lines in the text that the edits before it left, where all before it is as in `new`.
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(begin + j, i_end - i, list(after[j:j_end])) for tag, i, i_end, j, j_end in codes if tag != "equal"]


def edited(lines: Sequence[str], edits: Sequence[Edit]) -> list[str]:
    """The lines of a text after edits."""
    text = list(lines)
    for line, count, put in edits:
        text[line : line + count] = put
    return text
