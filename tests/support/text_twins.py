"""What the twins of hand-written kernels share: the register, and places for what they build."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeAlias

from whence.dialects.tir import PrimFuncOp
from whence.provenance.span import layer_location
from whence.te.language.locations import located
from whence.te.schedule.schedule import Schedule

Made: TypeAlias = Schedule | PrimFuncOp
Twin: TypeAlias = Callable[[], Made | list[Made]]

TWINS: dict[str, Twin] = {}
"""By the name of the file in tests/filecheck/language that says the same: what builds its functions, in order."""


def twin(function: Twin) -> Twin:
    """Register a twin; it is called as its file is."""
    TWINS[function.__name__] = function
    return function


def layer(name: str, node: int) -> AbstractContextManager[None]:
    """What is made inside is `loc("name"("net.onnx":node:0))`."""
    return located(layer_location(name, "net.onnx", node))
