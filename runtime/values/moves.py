"""Moves of the elements of an array: steps that change the order of the elements, and not their values."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .layouts import layout_view


class Step(NamedTuple):
    """A transposition (axes), a reshape (extents, one of which may be -1), or a change of layout (two names)."""

    kind: str
    """`transpose`, `reshape` or `layout`."""
    arguments: tuple[Any, ...]

    def apply(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the array after the step, as a view where numpy has one."""
        if self.kind == "transpose":
            return array.transpose(self.arguments)
        if self.kind == "reshape":
            return array.reshape(self.arguments)
        return layout_view(array, *self.arguments)


Move: TypeAlias = tuple[Step, ...]
"""Steps in the order in which they are taken; an empty move leaves an array as it is."""


def moved(array: npt.NDArray[Any], move: Move) -> npt.NDArray[Any]:
    """Return the elements of an array after a move."""
    for step in move:
        array = step.apply(array)
    return array


def moved_back(array: npt.NDArray[Any], move: Move, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return the array of `shape` that a move turns into `array`."""
    origin: npt.NDArray[np.int64] = moved(np.arange(array.size).reshape(shape), move)
    elements = np.empty(array.size, array.dtype)
    elements[origin.reshape(-1)] = array.reshape(-1)
    return elements.reshape(shape)


def shortest(move: Move) -> Move:
    """Return a move without pairs of steps of which the second undoes the first."""
    kept: list[Step] = []
    for step in move:
        if kept and kept[-1].kind == step.kind == "layout" and kept[-1].arguments == step.arguments[::-1]:
            kept.pop()
        else:
            kept.append(step)
    return tuple(kept)
