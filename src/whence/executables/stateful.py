"""Models that keep something from call to call: variables, and the states of recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from whence.executables.dynamic import DynamicExecutable
from whence.executables.executable import Executable
from whence.executables.sized import SizedExecutable
from whence.runtime.program.calls import Calls
from whence.runtime.program.inputs import named
from whence.support.doors import doors
from whence.support.errors import FrontendError

if TYPE_CHECKING:
    from whence.frontends.importing.state import State


@doors()
class Stateful(Executable):
    """An executable some of whose inputs are outputs of its last call.

    Calls from several threads come one after the other.
    """

    _states: tuple[State, ...] = ()

    def keep(self, states: tuple[State, ...]) -> None:
        """Keep these inputs and outputs from call to call, beginning with their initial values."""
        self._states = states
        self._lock = Lock()
        self.reset()

    def kept(self) -> tuple[tuple[State, ...], dict[str, Any]]:
        with self._lock:
            return self._states, dict(self._held)

    def go_on(self, kept: tuple[tuple[State, ...], dict[str, Any]]) -> None:
        self.keep(kept[0])
        self._held = kept[1]

    def reset(self) -> None:
        """Reset the states to their initial values, and the random numbers."""
        super().reset()
        with self._lock:
            self._held: dict[str, Any] = {state.name: state.initial.copy() for state in self._states}

    @property
    def state(self) -> dict[str, Any]:
        """The current values of the states, by name."""
        return dict(self._held)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Return the name, shape and dtype of each argument of a call."""
        held = {state.name for state in self._states}
        return tuple(spec for spec in super().inputs if spec.name not in held)

    @property
    def outputs(self) -> tuple[Any, ...]:
        """Name, shape and dtype of each output that a call gets."""
        outputs = super().outputs
        return outputs[: len(outputs) - len(self._states)]

    # What looks at a model while it runs leaves what it keeps as it is.
    def _fed(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        if held := [state.name for state in self._states if state.name in inputs]:
            raise FrontendError(f"inputs: unknown input '{held[0]}', which is kept from call to call")
        return {**inputs, **self._held}

    def _results(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        with self._lock:
            results = super()._results(self._fed(named(self.inputs, inputs)))
            values = dict(zip((spec.name for spec in super().outputs), results, strict=True))
            self._held = {state.name: values[state.next] for state in self._states}
        return results[: len(results) - len(self._states)]

    def _donated(self, inputs: Mapping[str, Any], donate: Sequence[str]) -> Sequence[Any]:
        return Calls._donated(self, inputs, donate)


class StatefulExecutable(Stateful):
    """One native program."""


class StatefulSizedExecutable(Stateful, SizedExecutable):
    """One program for all sizes, with state of one size."""


class StatefulDynamicExecutable(Stateful, DynamicExecutable):
    """A program that an interpreter runs."""
