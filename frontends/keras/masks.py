"""Masks of tensors, (batch, steps), true at the steps that count: which a layer reads, and which its outputs have.

Keras attaches masks to tensors while a model runs. Which tensors have one is a matter of the layers alone, so masks are
inputs and outputs of steps here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..importing.converter import Result
from .context import Config, Context


def _none(config: Config) -> int:
    return 0


def _always(config: Config, masked: Sequence[bool]) -> bool:
    return True


def every(config: Config, masked: Sequence[bool]) -> bool:
    """Return whether all tensors of the first argument have a mask."""
    return all(masked)


def some(config: Config, masked: Sequence[bool]) -> bool:
    """Return whether a tensor of the first argument has a mask."""
    return any(masked)


@dataclass(frozen=True)
class Masks:
    """The masks of a class of layers: those that it reads, and those that its outputs have."""

    reads: Mapping[str, int] = field(default_factory=dict[str, int])
    """The arguments that Keras gives masks in: name -> place. `mask` is that of the first argument."""
    kept: Callable[[Config], int] = _none
    """The number of outputs, from the first on, that have the mask of the first input."""
    computed: Callable[[Context], Result] | None = None
    """The mask of the first output, where the layer computes one."""
    takes: bool = False
    """True if tensors that it reads have no masks afterwards."""
    condition: Callable[[Config, Sequence[bool]], bool] = _always
    """True where it computes a mask, by the tensors of the first argument that have masks."""


OWNERS = ("query", "value", "key")
"""The arguments of attention that have a mask of their own, in their places."""
UNMASKED = Masks()
KEPT = Masks(kept=lambda config: 1)
"""The first output has the mask of the input."""
