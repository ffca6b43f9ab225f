"""`R.layout_transform`: an index map, `lambda n, c, h: (n, c // 4, h, c % 4)`, as moves of parts of axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ...dialects.sizes import SizeExpr
from ...dialects.sizes.terms import Atom, Polynomial, names_in, number_of
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..relay.expr import Expr
from .rows import Values
from .terms import call, scalar, shape_of
from .terms import number_of as number_in

_MOST = 1 << 26
"""The most elements whose places are compared with those of a map."""


@dataclass(frozen=True)
class IndexMap:
    """The indices of a result for those of data: sizes over the names of the latter."""

    names: tuple[str, ...]
    outputs: tuple[Any, ...]

    def places(self, shape: Sequence[int]) -> list[Array]:
        """Return the indices of the result for all elements of data of a shape, each as an array that broadcasts."""
        grid = dict(zip(self.names, np.ogrid[tuple(slice(extent) for extent in shape)], strict=True))
        return [
            np.asarray(_value(output.terms, grid) if isinstance(output, SizeExpr) else output)
            for output in self.outputs
        ]

    def divisors(self) -> dict[str, set[int]]:
        """Return the numbers by which each index is divided, itself or in a quotient."""
        found: dict[str, set[int]] = {name: set() for name in self.names}
        for output in self.outputs:
            if isinstance(output, SizeExpr):
                _find_divisors(output.terms, found)
        return found


def _value(terms: Polynomial, grid: Mapping[str, Array]) -> Any:
    total: Any = 0
    for factors, number in terms.items():
        total = total + prod((_atom(atom, grid) for atom in factors), start=number)
    return total


def _atom(atom: Atom, grid: Mapping[str, Array]) -> Any:
    if not atom.kind:
        return grid[atom.text]
    values = [_value(argument, grid) for argument in atom.args]
    operations = {"floordiv": np.floor_divide, "mod": np.mod, "min": np.minimum, "max": np.maximum}
    return operations[atom.kind](values[0], values[1])


def _find_divisors(terms: Polynomial, found: dict[str, set[int]]) -> int:
    """Note the divisors in terms; return the number by which an index in them is divided already."""
    already = 1
    for factors in terms:
        for atom in factors:
            if not atom.kind:
                continue
            inner = _find_divisors(atom.args[0], found)
            divisor = number_of(atom.args[1])
            if divisor is None:
                raise FrontendError("layout_transform: expected divisions by numbers, got one by an index")
            for name in names_in(atom.args[0]):
                found[name].add(inner * divisor)
            already = inner * divisor if atom.kind == "floordiv" else inner
    return already


def layout_transform(values: Values) -> Expr:
    """Return the data at an index map: axes are split where it divides, moved, and joined where it adds."""
    data, index_map, fill = values["x"], values["index_map"], values["pad_value"]
    shape = shape_of(data)
    if not isinstance(index_map, IndexMap) or len(index_map.names) != len(shape):
        got = f"{len(index_map.names)} indices" if isinstance(index_map, IndexMap) else repr(index_map)
        raise FrontendError(f"layout_transform: expected a lambda of {len(shape)} indices as index_map, got {got}")
    if not all(isinstance(extent, int) and extent > 0 for extent in shape):
        raise FrontendError(f"layout_transform: expected extents that are numbers, got {list(shape)}")
    extents, parts = [int(extent) for extent in shape], list[list[int]]()
    for axis, (name, extent) in enumerate(zip(index_map.names, shape, strict=True)):
        parts.append(_parts(int(extent), index_map.divisors()[name]))
        extents[axis] = prod(parts[-1])
    if extents != list(shape):
        number = 0.0 if fill is None else number_in(fill, "pad_value")
        widths = [(0, wide - int(extent)) for wide, extent in zip(extents, shape, strict=True)]
        data = call("nn.pad", data, scalar(number, data), pad_width=widths)
    moved = _moved(index_map, extents, [part for axis in parts for part in axis])
    if moved is None:
        raise FrontendError("layout_transform: expected an index map that splits, moves and joins axes, got another")
    axes, result = moved
    split = call("reshape", data, newshape=[part for axis in parts for part in axis])
    return call("reshape", call("transpose", split, axes=axes), newshape=result)


def _parts(extent: int, divisors: set[int]) -> list[int]:
    """Return the extents of the parts of an axis, which is as long as the divisors want."""
    wanted = sorted(divisor for divisor in divisors if divisor > 1)
    if any(b % a for a, b in pairwise(wanted)):
        raise FrontendError(f"layout_transform: expected divisors that divide each other, got {wanted}")
    inner = [b // a for a, b in zip([1, *wanted], wanted, strict=False)]
    return [-(-extent // prod(inner)), *reversed(inner)]


def _moved(index_map: IndexMap, extents: Sequence[int], parts: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Return the order of parts in the result, and its shape; None if no order gives the places of the map."""
    if prod(extents) > _MOST:
        raise FrontendError(f"layout_transform: expected at most {_MOST} elements, got {prod(extents)}")
    places = index_map.places(extents)
    result = [int(place.max()) + 1 for place in places]
    if prod(result) != prod(extents):
        return None
    flat: Any = np.zeros(extents, np.int64)
    for place, extent in zip(places, result, strict=True):
        flat = flat * extent + place
    flat = flat.reshape(parts)
    steps = [int(flat.take(1, axis).reshape(-1)[0]) if extent > 1 else 0 for axis, extent in enumerate(parts)]
    axes = sorted(range(len(parts)), key=lambda axis: -steps[axis])
    count: Array = np.arange(prod(parts))
    expected: Array = count.reshape([parts[axis] for axis in axes])
    return (axes, result) if np.array_equal(flat.transpose(axes), expected) else None
