"""The dialects that the text of a kernel is written in."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.math import Math
from xdsl.dialects.vector import Vector

from .tir import Tir


def kernel_context() -> Context:
    """A context that knows the ops of kernels at the level tir."""
    context = Context()
    for dialect in (Builtin, Tir, Arith, Math, Vector):
        context.load_dialect(dialect)
    return context
