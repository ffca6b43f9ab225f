"""The prelude: lists, options and trees with the functions that TVM's has, written in Relay text."""

from __future__ import annotations

from importlib.resources import files

from ...support.errors import FrontendError
from ..relay.expr import Program
from .parser import parse

PRELUDE = "prelude.relay"


def prelude() -> Program:
    """The types and functions of the prelude; a new program each time."""
    return parse((files(__package__ or "") / PRELUDE).read_text(), PRELUDE)


def import_prelude(program: Program) -> None:
    """Add the prelude to a program.

    Raises FrontendError when that has something of a name that the prelude has.
    """
    ours = prelude()
    twice = [*(program.functions.keys() & ours.functions.keys()), *(program.types.keys() & ours.types.keys())]
    if twice:
        raise FrontendError(f"prelude: expected a program without {', '.join(sorted(twice))}, got one with")
    program.functions.update(ours.functions)
    program.types.update(ours.types)
