"""The names of layers: those of nodes, behind the calls, branches and loops that they are in where names need it."""

from __future__ import annotations

import re

_CALLS = re.compile(r"((^|(?<=/))(Stateful)?PartitionedCall(_\d+)?(/|$))+$")
"""The names of calls at the end of a path, one in the other."""


class LayerNames:
    """Gives each layer a name of its own."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def reserve(self, name: str) -> None:
        """Keep a name for an input or output."""
        self._taken.add(name)

    def named(self, name: str, scope: str, call: str) -> str:
        """Return the name of the layer `name` of a function.

        scope: what goes before the names of its layers, unless they begin so. call: the name of the layer that runs it,
        for where that is not enough.
        """
        choices = [name if name.startswith(scope) else scope + name]
        if call and not name.startswith(f"{call}/"):
            choices.append(f"{call}/{name}")
        unused = next((choice for choice in choices if choice not in self._taken), None)
        number = 0
        while unused is None or unused in self._taken:
            number += 1
            unused = f"{choices[-1]}_{number}"
        self._taken.add(unused)
        return unused


def scope_of(call: str, once: bool) -> str:
    """Return what goes before the names of layers that the layer `call` runs: that, or the scope that it is in.

    once: whether nothing else calls the same function. Names that a library gave to calls tell nobody anything.
    """
    scope = _CALLS.sub("", call)
    return f"{call}/" if scope == call or not (once or scope) else scope
