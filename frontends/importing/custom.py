"""Operators that your own Python functions compute, instead of a converter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...support.errors import FrontendError


@dataclass(frozen=True)
class CustomOp:
    """A Python function that computes an operator."""

    function: Callable[..., Any]
    """The function from an array per input tensor, and the operator's attributes by name, to an array, or to several
    in a tuple. The inputs are read-only, and gone after the call."""
    result: Callable[..., Any] | None = None
    """The function from a `TensorSpec` per input tensor (`shape`, `dtype`), and the attributes, to the type of the
    result: a `TensorSpec`, a pair of shape and dtype, or several in a list. None: the model states it."""
    variables: Sequence[str] = ()
    """The names of a Keras layer's variables, in the order of their creation; they are inputs after its own."""


@dataclass
class Fallback:
    """The library that computes single operators that have no row, or that their row refuses."""

    library: str
    layers: dict[str, str] = field(default_factory=dict[str, str])
    """Layer -> its operator, for all that it computes so far."""

    def __str__(self) -> str:
        listed = ", ".join(f"{layer} ({operator})" for layer, operator in self.layers.items())
        return f"{self.library} computes {len(self.layers)} layer{'s' * (len(self.layers) != 1)}: {listed}"


class CustomOps:
    """The operators that Python functions compute."""

    def __init__(
        self, functions: Mapping[str, Callable[..., Any] | CustomOp] | None = None, fallback: Fallback | None = None
    ):
        """functions: functions by the names of operators, in which `::` and `.` are the same."""
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
        """Return whether a function, or the fallback, computes an operator without a row."""
        return self.fallback is not None or self.has(*names)

    def unmet(self) -> list[str]:
        """Return the names for which the model had no operator."""
        return [name for name in self._functions if name not in self._met]


def _canonical(name: str) -> str:
    return name.removeprefix("torch.ops.").removeprefix("ai.onnx.").removeprefix("ai.onnx::").replace("::", ".")


NO_CUSTOM_OPS = CustomOps()
