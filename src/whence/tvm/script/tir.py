"""The words of TVMScript that a decorated function uses, by TVM's name `tvm.script.tir`: they are read, never run."""

from __future__ import annotations

from typing import Any

from whence.script.reading import macro as macro
from whence.script.reading import prim_func as prim_func
from whence.script.vectors import is_dtype
from whence.script.words import WORDS, Word
from whence.support.names import did_you_mean

SCRIPT_LETTER = "T"


def __getattr__(name: str) -> Any:
    if name in WORDS or is_dtype(name):
        return Word(f"T.{name}")
    raise AttributeError(f"module '{__name__}' has no word '{name}'{did_you_mean(name, WORDS)}")
