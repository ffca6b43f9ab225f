"""States that recurrent layers keep from call to call: inputs of the program, and outputs that replace them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...support.errors import FrontendError
from ..importing.limits import excess, expectation
from ..importing.state import State
from .context import Config, policy_of
from .nests import entries_of, items_of
from .rows import Carried


@dataclass(frozen=True)
class InputInfo:
    """An input of the model: its shape, with None where that is open, and dtype."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str


def is_stateful(config: Config) -> bool:
    """Return whether a layer of a model keeps its states."""
    stack: list[Any] = [config]
    while stack:
        nest = stack.pop()
        if (entries := entries_of(nest)) is not None:
            if entries.get("stateful") is True:
                return True
            stack.extend(entries.values())
        else:
            stack.extend(items_of(nest) or ())
    return False


class KeptStates:
    """The states of a program, as its steps are made: a layer that is called twice goes on from its first call."""

    def __init__(self, file: str):
        self.file = file
        self.inputs: list[InputInfo] = []
        self._next: dict[str, list[str]] = {}

    def read(self, layer: str, carried: Carried, config: Config, inputs: Mapping[str, InputInfo]) -> list[str]:
        """Return the names of a layer's states before a call. Raises FrontendError where the batch is open."""
        if layer not in self._next:
            batch = next(iter(inputs.values())).shape[:1]
            if not batch or batch[0] is None:
                wanted = "a fixed batch of a model whose layers are stateful"
                raise FrontendError(f"{self.file}: layer '{layer}': expected {wanted}, got an open one")
            policy = policy_of(config)
            dtype = "float32" if policy.startswith("mixed_") else policy
            if dtype not in ("float16", "float32", "float64"):
                raise FrontendError(f"{self.file}: layer '{layer}': expected states of floats, got {dtype}")
            own = [
                InputInfo(f"{layer}.states.{at}", (batch[0], width), dtype) for at, width in enumerate(carried.widths)
            ]
            for width in carried.widths:
                if too_big := excess((batch[0], width), np.dtype(dtype).itemsize):
                    wanted = f"states that are {expectation()}"
                    raise FrontendError(f"{self.file}: layer '{layer}': expected {wanted}, got {too_big}")
            self.inputs += own
            self._next[layer] = [info.name for info in own]
        return self._next[layer]

    def write(self, layer: str, names: Sequence[str]) -> None:
        """Note the names of a layer's states after a call."""
        self._next[layer] = list(names)

    @property
    def states(self) -> tuple[State, ...]:
        """The states at the end; at first they are 0."""
        after = [name for names in self._next.values() for name in names]
        return tuple(
            State(info.name, last, np.zeros([extent or 0 for extent in info.shape], info.dtype))
            for info, last in zip(self.inputs, after, strict=True)
        )
