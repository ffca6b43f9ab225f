"""Facts about a call before it runs: sizes are read off the arrays, and all else follows from these."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from threading import Lock
from typing import cast

import numpy as np
import numpy.typing as npt

from ...support.dtypes import Array
from ..values.tensors import Arguments, Kind, address
from .index_bounds import IndexBound
from .program import SIZES_ENTRY, Code, Program
from .sizes import SizedSpec, closed

KEPT = 1024
"""The number of shapes of inputs for which these facts are kept; the least recently used go first."""


@dataclass(frozen=True)
class Known:
    """The facts that follow from the shapes of inputs."""

    symbols: tuple[int, ...]
    """The sizes that were read off the inputs."""
    values: npt.NDArray[np.int64]
    """The sizes, then the values that the program computes from them."""
    address: int
    """The address of the values."""
    arena_bytes: int
    output_bytes: int
    arguments: Arguments
    indices: tuple[IndexBound, ...]

    @staticmethod
    def of(program: Program) -> Known:
        """Return the facts about every call of a program without sizes."""
        kinds = [[(spec.shape, spec.dtype) for spec in specs] for specs in (program.inputs, program.outputs)]
        written = sum(spec.nbytes for spec in program.outputs)
        return Known(
            symbols=(),
            values=np.empty(0, np.int64),
            address=0,
            arena_bytes=program.arena_bytes,
            output_bytes=written,
            arguments=Arguments(*kinds),
            indices=program.indices,
        )


class KnownShapes:
    """The facts about the shapes of inputs that a program with sizes met last."""

    def __init__(self, program: Program, code: Code):
        assert program.sizes is not None
        self._program, self._sizes = program, program.sizes
        self._derive = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code[SIZES_ENTRY])
        self._known: OrderedDict[tuple[tuple[int, ...], ...], Known] = OrderedDict()
        self._lock = Lock()

    def find(self, arrays: Sequence[Array]) -> Known | None:
        """Return the facts about these shapes; None for shapes that `of` has not met yet."""
        return self._known.get(tuple([array.shape for array in arrays]))

    def latest(self) -> Known | None:
        """Return the facts about the shapes that were met last, if any were."""
        with self._lock:
            return next(reversed(self._known.values()), None)

    def of(self, arrays: Sequence[Array]) -> Known:
        """Return the facts about these shapes; raises FrontendError when the program does not accept their sizes."""
        key = tuple([array.shape for array in arrays])
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known
        known = self._derived(arrays)
        with self._lock:
            self._known[key] = known
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        return known

    def _derived(self, arrays: Sequence[Array]) -> Known:
        specs = cast("tuple[SizedSpec, ...]", self._program.inputs)
        values = np.zeros(self._sizes.count, np.int64)
        symbols = self._sizes.read(specs, arrays)
        values[: len(symbols)] = symbols
        self._derive(address(values))
        numbers: list[int] = values.tolist()
        self._sizes.check(specs, arrays, numbers)
        # The caches of a decoder's layers have one shape, which is computed once.
        shapes: dict[object, tuple[int, ...]] = {}
        kinds: list[list[Kind]] = [[], []]
        for kept, several in zip(kinds, (self._program.inputs, self._program.outputs), strict=True):
            for spec in several:
                key = spec.numbers if isinstance(spec, SizedSpec) else spec.shape
                if (shape := shapes.get(key)) is None:
                    shape = shapes[key] = closed(spec, numbers).shape
                kept.append((shape, spec.dtype))
        written = sum(prod(shape) * dtype.itemsize for shape, dtype in kinds[1])
        indices = tuple(bound.known(numbers) for bound in self._program.indices)
        arena = numbers[self._sizes.arena]
        return Known(
            symbols=tuple(symbols),
            values=values,
            address=address(values),
            arena_bytes=arena,
            output_bytes=written,
            arguments=Arguments(*kinds),
            indices=indices,
        )
