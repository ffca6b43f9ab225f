"""Damaged texts of TVMScript: none has an error of Python's, or of ours inside."""

from __future__ import annotations

from collections import Counter

from damaged_scripts import TEXTS, outcomes

import whence
from whence.script import from_source


def test_damaged_texts_are_read_or_refused() -> None:
    found = [outcome for outcome, _ in outcomes(250, 7)]
    assert not [outcome for outcome in found if outcome not in ("read", "refused")]
    assert Counter(found)["read"] > 2


def test_the_texts_are_sound() -> None:
    for text in TEXTS:
        func = from_source(text)
        assert isinstance(func, whence.tir.PrimFunc)
        assert from_source(func.script()).script() == func.script()
