"""The words of TVMScript that a decorated function uses, by TVM's name `tvm.script.tir`: they are read, never run."""

from __future__ import annotations

from typing import Any

from whence.script.reading import prim_func as prim_func
from whence.script.vectors import is_dtype
from whence.script.words import WORDS
from whence.support.names import did_you_mean

SCRIPT_LETTER = "T"


class _Word:
    """A word as Python sees it in an annotation: whatever is done with it gives it again."""

    def __init__(self, name: str):
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> _Word:
        return self

    def __getitem__(self, index: Any) -> _Word:
        return self

    def __repr__(self) -> str:
        return f"T.{self._name}"


def __getattr__(name: str) -> Any:
    if name in WORDS or is_dtype(name):
        return _Word(name)
    raise AttributeError(f"module '{__name__}' has no word '{name}'{did_you_mean(name, WORDS)}")
