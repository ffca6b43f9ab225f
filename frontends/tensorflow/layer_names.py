"""Names layers after their nodes, with the calls, branches and loops around them in front where names need it."""

from __future__ import annotations

import re

_CALLS = re.compile(r"((^|(?<=/))(Stateful)?PartitionedCall(_\d+)?(/|$))+$")
"""The names of nested calls at the end of a path."""


class LayerNames:
    """Gives each layer a unique name."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def reserve(self, name: str) -> None:
        """Keep a name for an input or output."""
        self._taken.add(name)

    def named(self, name: str, scope: str, call: str) -> str:
        """Return the name of the layer `name` of a function.

        scope: the prefix of its layers, unless they have it already. call: the name of the layer that runs it, the
        prefix where the scope is not enough.
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
    """Return the prefix of the layers that the layer `call` runs: its name, or the scope around it.

    once: whether nothing else calls the same function. A library's names of calls (PartitionedCall) are left out.
    """
    scope = _CALLS.sub("", call)
    return f"{call}/" if scope == call or not (once or scope) else scope
