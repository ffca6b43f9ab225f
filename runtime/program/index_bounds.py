"""Inputs whose elements are indices into other tensors: a call with indices out of bounds fails before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...support.dtypes import Array
from ...support.errors import FrontendError, expectation
from ..values.tensors import TensorSpec, named
from .sizes import Number, Values, number

_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


@dataclass(frozen=True)
class IndexBound:
    """An input whose elements are indices, from `-extent` to `extent - 1`, or numbers from 0 on, such as classes."""

    input: int
    extents: tuple[Number, ...]
    """One extent for all elements, or one for each position along the last axis."""
    layers: tuple[str, ...] = ()
    """The layers that read or write at the indices, each with its file."""
    ignored: tuple[int, ...] | None = None
    """For numbers from 0 to `extent - 1`, the values that mean none; None for indices that count from either end."""

    def known(self, values: Values) -> IndexBound:
        """Return the bound for values of the sizes."""
        return replace(self, extents=tuple(number(extent, values) for extent in self.extents))

    def outside(self, array: Any) -> npt.NDArray[np.bool_]:
        """Return a mask of the elements that are out of bounds."""
        limits = np.asarray(cast("tuple[int, ...]", self.extents))
        outside = array >= limits
        if array.dtype.kind != "u":
            outside |= array < (-limits if self.ignored is None else 0)
        for value in self.ignored or ():
            outside &= array != value
        return outside


def check_indices(bounds: Iterable[IndexBound], specs: Sequence[TensorSpec], arrays: Sequence[Array]) -> None:
    """Raise FrontendError, naming input and layer, for the first index outside of a bound; extents are numbers."""
    for bound in bounds:
        array, extents = arrays[bound.input], cast("tuple[int, ...]", bound.extents)
        if not array.size:
            continue
        # Read as unsigned, negative indices are large, so one pass shows that all are in bounds.
        unsigned = array if array.dtype.kind == "u" else array.view(_UNSIGNED[array.itemsize])
        if int(np.maximum.reduce(unsigned, axis=None)) < min(extents):
            continue
        wrong = bound.outside(array)
        if wrong.any():
            position = tuple(int(at) for at in np.argwhere(wrong)[0])
            extent = extents[position[-1] if len(extents) > 1 else 0]
            where = f"inputs: '{specs[bound.input].name}' at {list(position)}"
            expected = f"an index from {-extent} to {extent - 1}"
            if bound.ignored is not None:
                what = "a class" if bound.ignored else "a number"
                expected = " or ".join((f"{what} from 0 to {extent - 1}", *map(str, bound.ignored)))
            raise FrontendError(expectation(where, expected, str(array[position])) + named(bound.layers))
