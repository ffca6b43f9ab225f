"""State that a model keeps from call to call."""

from __future__ import annotations

from dataclasses import dataclass

from ...support.dtypes import Array


@dataclass(frozen=True, eq=False)
class State:
    """A variable of the model that a call changes: an input of the program, and an output that replaces it."""

    name: str
    next: str
    initial: Array
