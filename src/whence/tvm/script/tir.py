"""The words of TVMScript that a decorated function uses, by TVM's name `tvm.script.tir`: they are read, never run."""

from __future__ import annotations

from itertools import count
from typing import Any

from whence.script.reading import macro as macro
from whence.script.reading import prim_func as prim_func
from whence.script.vectors import is_dtype
from whence.script.words import WORDS, Word
from whence.support.names import did_you_mean
from whence.te import size_var

SCRIPT_LETTER = "T"
_NUMBERS = count()


class _Size(Word):
    """The word of a type of sizes: called without arguments by a program, a new variable."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs) if args or kwargs else size_var(f"v{next(_NUMBERS)}", self.__name__)


def __getattr__(name: str) -> Any:
    if name in ("int32", "int64"):
        return _Size(f"T.{name}")
    if name in WORDS or is_dtype(name):
        return Word(f"T.{name}")
    raise AttributeError(f"module '{__name__}' has no word '{name}'{did_you_mean(name, WORDS)}")
