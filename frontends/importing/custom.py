"""Operators that Python functions of the user's compute, in the place of a converter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...support.errors import FrontendError


@dataclass(frozen=True)
class CustomOp:
    """A Python function that computes an operator."""

    function: Callable[..., Any]
    """Called with an array per tensor that goes in, and the operator's attributes by name; gives an array, or several
    in a tuple. The arrays are read-only, and gone after the call."""
    result: Callable[..., Any] | None = None
    """Called likewise with a `TensorSpec` per tensor (`shape`, `dtype`); gives what the function will: one of these, a
    pair of shape and dtype, or several in a list. None: the model says it."""
    variables: Sequence[str] = ()
    """Names of a Keras layer's variables, in the order in which it makes them; they go in after its inputs."""


@dataclass
class Fallback:
    """The library that computes single operators for which there is no row, or whose row refuses them."""

    library: str
    layers: dict[str, str] = field(default_factory=dict[str, str])
    """Layer -> its operator, of all that it computes so far."""

    def __str__(self) -> str:
        listed = ", ".join(f"{layer} ({operator})" for layer, operator in self.layers.items())
        return f"{self.library} computes {len(self.layers)} layer{'s' * (len(self.layers) != 1)}: {listed}"


class CustomOps:
    """The operators that Python functions compute."""

    def __init__(
        self, functions: Mapping[str, Callable[..., Any] | CustomOp] | None = None, fallback: Fallback | None = None
    ):
        """functions: by the names of operators, `::` and `.` being the same in them."""
        self.fallback = fallback
        self._functions: dict[str, CustomOp] = {}
        self._met: set[str] = set()
        for name, function in (functions or {}).items():
            custom = function if isinstance(function, CustomOp) else CustomOp(function)
            if not callable(custom.function):
                actual = type(custom.function).__name__
                raise FrontendError(f"custom_ops: expected a function or a CustomOp for '{name}', got {actual}")
            self._functions[_canonical(name)] = custom

    def find(self, names: Iterable[str]) -> CustomOp | None:
        """Return the function for an operator of the model that has these names, the most exact first."""
        for name in names if self._functions else ():
            if (custom := self._functions.get(_canonical(name))) is not None:
                self._met.add(_canonical(name))
                return custom
        return None

    def has(self, *names: str) -> bool:
        """Return whether there is a function for an operator that has these names."""
        return self.find(names) is not None

    def covers(self, *names: str) -> bool:
        """Return whether somebody else computes an operator without a row: a function, or what is fallen back on."""
        return self.fallback is not None or self.has(*names)

    def unmet(self) -> list[str]:
        """Return the names for which the model had no operator."""
        return [name for name in self._functions if name not in self._met]


def _canonical(name: str) -> str:
    return name.removeprefix("torch.ops.").removeprefix("ai.onnx.").removeprefix("ai.onnx::").replace("::", ".")


NO_CUSTOM_OPS = CustomOps()
