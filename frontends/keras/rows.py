"""The row of a layer in the tables: its converter, and the variables that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..importing.converter import Converter, Result
from ..importing.rows import Function, row
from .context import Config, Context
from .masks import UNMASKED, Masks
from .weights import Variables

Convert = Callable[[Context], "Result | tuple[Result, ...]"]


def _none(config: Config) -> Sequence[Variables]:
    return ()


@dataclass(frozen=True)
class Carried:
    """The states that a layer keeps from call to call."""

    widths: tuple[int, ...]
    """Those of its states, each (batch, width), whose next values are its last results."""
    results: int
    """The number of results before them."""


def _forgets(config: Config) -> Carried | None:
    return None


@dataclass(frozen=True)
class Row(Converter[Context]):
    """The import of one class of layers."""

    variables: Callable[[Config], Sequence[Variables]] = _none
    """The variables of a layer by its configuration; raises ValueError for one that makes no sense."""
    masks: Masks = UNMASKED
    """The masks that it reads and gives."""
    carried: Callable[[Config], Carried | None] = _forgets
    """The states that a layer keeps, by its configuration; None where each call begins anew."""


def declared(function: Function, inputs: str, unread: Mapping[str, str] | None = None, **attributes: Any) -> Row:
    """Return the row of an operation without variables, as `row` declares it."""
    return Row(row(function, inputs, **attributes).convert, unread=unread or {})


class _Every(dict[str, str]):
    """A reason for whatever entry."""

    def __contains__(self, name: object) -> bool:
        return True


OF_TRAINING = _Every()
"""The entries of a layer that does nothing in inference: none changes what is computed."""


def own(*names: str) -> Callable[[Config], Sequence[Variables]]:
    """Variables of the layer itself, `bias` only where `use_bias` is true; others by conditions `name?option`."""

    def variables(config: Config) -> Sequence[Variables]:
        kept: list[str] = []
        for name in names:
            plain, _, option = name.partition("?")
            if config.get(option, True) if option else True:
                kept.append(plain)
        return (Variables(tuple(kept)),)

    return variables
