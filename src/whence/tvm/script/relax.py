"""The words of Relax that a decorated function uses, by TVM's name `tvm.script.relax`: they are read, never run."""

from __future__ import annotations

from typing import Any

from whence.script.reading import prim_func
from whence.script.words import Word
from whence.support.names import did_you_mean
from whence.syntax.relax.operators import rows

SCRIPT_LETTER = "R"
_TYPES = ("Tensor", "Tuple", "Shape", "Any", "Object", "Callable", "Prim", "nn", "image", "vision")


def function(function: Any = None, **options: Any) -> Any:
    """Return the relay function that a function of Python is, as decorator; one in a class is read with that.

    options: TVM's `private` and `pure`, which the text of the function holds.
    """
    return prim_func(function, **options)


def __getattr__(name: str) -> Any:
    if name in _TYPES or name in rows():
        return Word(f"R.{name}")
    raise AttributeError(f"module '{__name__}' has no word '{name}'{did_you_mean(name, [*_TYPES, *rows()])}")
