"""Functions that others run within a program: each is a kernel whose code is a Python function on numpy arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from ..support.dtypes import Array
from ..support.errors import WhenceError, expectation
from .packed import View
from .tensors import Kind

ExternalFunction: TypeAlias = Callable[..., "Array | Sequence[Array]"]
"""Called with an array per input, read-only views; gives the output, or several in order."""


class External(NamedTuple):
    """A kernel that is run by somebody else."""

    symbol: str
    compiler: str
    """Who."""
    function: ExternalFunction
    inputs: tuple[Kind, ...]
    outputs: tuple[Kind, ...]
    layers: str
    """What an error is about."""


class ExternalFunctions:
    """The C functions of external kernels; they live as long as this object.

    An exception cannot pass through native code: it is kept for the thread that it happened in, where the outputs are
    zeros from then on, and raised by `check`.
    """

    def __init__(self, externals: Iterable[External]):
        self.symbols: dict[str, int] = {}
        """Symbol -> address."""
        self._alive: list[Any] = []
        self._state = threading.local()
        for one in externals:
            entry = self._entry(one)
            self._alive.append(entry)
            self.symbols[one.symbol] = cast(int, ctypes.cast(entry, ctypes.c_void_p).value)

    def _entry(self, one: External) -> Any:
        inputs = [View(kind, False) for kind in one.inputs]
        outputs = [View(kind, True) for kind in one.outputs]
        count = len(inputs)

        def enter(*pointers: Any) -> None:
            places = [view(pointer) for view, pointer in zip(outputs, pointers[count:], strict=False)]
            try:
                if getattr(self._state, "error", None) is None:
                    found = one.function(*(view(pointer) for view, pointer in zip(inputs, pointers, strict=False)))
                    _store(found, places)
                    return
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
                expected = f"{one.compiler} to run it"
                self._state.error = WhenceError(expectation(f"function '{one.symbol}'", expected, found, one.layers))
                self._state.error.__cause__ = error
            for place in places:
                place.fill(0)

        # Inputs, outputs, workspace and thread pool.
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (count + len(outputs) + 2))(enter)

    def check(self) -> None:
        """Raise what happened in this thread since the last check."""
        error = getattr(self._state, "error", None)
        if error is not None:
            self._state.error = None
            raise error


def _store(found: Array | Sequence[Array], places: Sequence[Array]) -> None:
    """Copy results to where they belong; raises ValueError when they are not what belongs there."""
    results = list(found) if isinstance(found, list | tuple) else [found]
    if len(results) != len(places):
        raise ValueError(f"expected {len(places)} outputs, got {len(results)}")
    for number, (given, place) in enumerate(zip(results, places, strict=True)):
        array: Array = np.asarray(given)
        if array.shape != place.shape or array.dtype != place.dtype:
            expected, got = f"{place.dtype}{list(place.shape)}", f"{array.dtype}{list(array.shape)}"
            raise ValueError(f"expected output {number} of {expected}, got {got}")
        np.copyto(place, array)
