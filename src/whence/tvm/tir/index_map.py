"""`IndexMap`: the indices of an array in another layout, as expressions of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from whence.arith import Analyzer
from whence.arith.forms import Range
from whence.arith.iter_affine import detected
from whence.arith.iter_inverse import Inverse, padding_of
from whence.arith.iter_map import IterMapLevel, IterSumExpr
from whence.arith.iter_sums import IterSums, NoIterSum
from whence.runtime.values.ndarray import NDArray, array
from whence.support.errors import FrontendError, expectation
from whence.te.language.affine_forms import AXIS_SEPARATOR
from whence.te.language.expr import Binary, Cast, Const, Expr, ExprLike, Var, binary, constant, convert
from whence.te.language.tensor import Body
from whence.te.language.walks import operands_first, rebuilt

_NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "floormod": np.mod,
    "min": np.minimum,
    "max": np.maximum,
    "xor": np.bitwise_xor,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "shl": np.left_shift,
    "shr": np.right_shift,
}


class IndexMap:
    """A map from the indices of an array to those of an array in another layout.

    initial_indices: variables. final_indices: integer expressions of them.
    """

    AXIS_SEPARATOR = AXIS_SEPARATOR

    def __init__(
        self,
        initial_indices: Sequence[Var],
        final_indices: Sequence[ExprLike],
        inverse_index_map: IndexMap | None = None,
    ) -> None:
        self.initial_indices = tuple(initial_indices)
        self.final_indices = tuple(convert(index) for index in final_indices)
        self.inverse_index_map = inverse_index_map

    @staticmethod
    def from_func(
        mapping_function: Body,
        ndim: int | None = None,
        inverse_index_map: Body | IndexMap | None = None,
        *,
        index_dtype: str = "int64",
    ) -> IndexMap:
        """Return the map of a function of indices, which gives a list of expressions.

        ndim: the number of indices, for a function of any number. Raises FrontendError where it is not known, and
        for axis separators.
        """
        made, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise FrontendError(
                expectation("IndexMap.from_func", "indices", "axis separators; use from_func_with_separators")
            )
        return made

    @staticmethod
    def from_func_with_separators(
        mapping_function: Body,
        ndim: int | None = None,
        inverse_index_map: Body | IndexMap | None = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[IndexMap, list[int]]:
        """Return the map of a function, and the positions of `IndexMap.AXIS_SEPARATOR` among what it gives."""
        variables = _variables(mapping_function, ndim, index_dtype)
        results: Any = cast("Any", mapping_function)(*variables)
        final: list[ExprLike] = []
        separators: list[int] = []
        given = cast("Sequence[object]", results if isinstance(results, list | tuple) else [results])
        for result in given:
            if isinstance(result, str) and result == AXIS_SEPARATOR:
                separators.append(len(final))
            elif isinstance(result, Expr | int):
                final.append(result)
            else:
                raise FrontendError(expectation("IndexMap", "expressions as the indices", repr(result)))
        inverse = inverse_index_map
        if inverse is not None and not isinstance(inverse, IndexMap):
            inverse = IndexMap.from_func(inverse, len(final), index_dtype=index_dtype)
        return IndexMap(variables, final, inverse), separators

    def map_indices(self, indices: Sequence[ExprLike]) -> list[Expr]:
        """Return the indices in the other layout of an element at these; raises FrontendError for another number."""
        self._count("map_indices", indices)
        values = [convert(index) for index in indices]
        dtype = values[0].dtype if values else "int32"
        known = dict(zip(self.initial_indices, values, strict=True))
        analyzer = Analyzer()

        def change(node: Expr) -> Expr | None:
            if isinstance(node, Var):
                return known.get(node)
            # Numbers have the dtype of the indices that they stand beside.
            return constant(node.value, dtype) if isinstance(node, Const) else None

        return [analyzer.simplify(rebuilt(index, change)) for index in self.final_indices]

    def map_shape(self, shape: Sequence[ExprLike]) -> list[Expr]:
        """Return the shape in the other layout, padding included; raises FrontendError for another number of axes."""
        self._count("map_shape", shape)
        sums, indices = self._detected(shape)
        dtype = convert(shape[0]).dtype if shape else "int32"
        if sums is None:
            analyzer = Analyzer()
            for variable, extent in zip(self.initial_indices, shape, strict=True):
                analyzer.bind(variable, Range(0, extent))
            sets = [analyzer.int_set(index) for index in self.final_indices]
            return [binary("add", one.max_value, 1).astype(dtype) for one in sets]
        extents: list[Expr] = []
        for index in indices:
            size = sums.size(index.base) + 1
            for split in index.args:
                size = size + (sums.size(split.extent) - 1) * sums.size(split.scale)
            extents.append(sums.symbols.expr(size, dtype))
        return extents

    def inverse(self, shape: Sequence[ExprLike | Range]) -> IndexMap:
        """Return the map back; raises FrontendError unless each element of the other layout is one of this shape."""
        if self.inverse_index_map is not None:
            return self.inverse_index_map
        made, padding = self.non_surjective_inverse(shape)
        if not isinstance(padding, Const) or padding.value:
            raise FrontendError(expectation("IndexMap.inverse", "a bijective map", f"padding where {padding}"))
        return made

    def non_surjective_inverse(self, shape: Sequence[ExprLike | Range]) -> tuple[IndexMap, Expr]:
        """Return the map back, and for which of its indices the other layout has padding.

        Raises FrontendError where several elements of this shape have one place.
        """
        self._count("inverse", shape)
        sums, indices = self._detected(shape)
        if sums is None:
            raise FrontendError(expectation("IndexMap.inverse", "digits of indices", str(self)))
        outputs = [Var(f"i{axis}", index.dtype) for axis, index in enumerate(self.final_indices)]
        inverse = Inverse(indices, outputs)
        starts = {
            variable: convert(extent.min if isinstance(extent, Range) else 0, variable.dtype)
            for variable, extent in zip(self.initial_indices, shape, strict=True)
        }
        loops: Mapping[Any, Expr] = inverse.loops
        missing = [loop for loop in sums.loops if loop.source in self.initial_indices and loop.source not in loops]
        try:
            padding = padding_of(sums, indices, outputs, inverse)
        except NoIterSum as error:
            raise FrontendError(str(error)) from None
        if missing:
            raise FrontendError(expectation("IndexMap.inverse", "all indices", f"no {missing[0].source} in {self}"))
        return IndexMap(outputs, [loops.get(variable, starts[variable]) for variable in self.initial_indices]), padding

    def map_ndarray(self, arr_src: Any) -> NDArray:
        """Return an array in the other layout; padding is 0. Raises FrontendError for another number of axes."""
        source = np.asarray(arr_src)
        self._count("map_ndarray", source.shape)
        points = np.indices(source.shape, sparse=True)
        values = dict(zip(map(id, self.initial_indices), points, strict=True))
        places = tuple(np.broadcast_to(_computed(index, values), source.shape) for index in self.final_indices)
        shape = tuple(int(place.max()) + 1 if place.size else 0 for place in places)
        whole = [size.value for size in self.map_shape(list(source.shape)) if isinstance(size, Const)]
        if len(whole) == len(shape):
            shape = tuple(int(size) for size in whole)
        if any((place < 0).any() for place in places):
            raise FrontendError(expectation("IndexMap.map_ndarray", "indices from 0 on", f"negative ones from {self}"))
        target = np.zeros(shape, source.dtype)
        target[places] = source
        return array(target)

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """Return whether another map has the same indices, as far as they can be compared."""
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        ours = self.map_indices(other_map.initial_indices)
        theirs = other_map.map_indices(other_map.initial_indices)
        analyzer = Analyzer()
        return len(ours) == len(theirs) and all(
            analyzer.can_prove_equal(a, b) for a, b in zip(ours, theirs, strict=True)
        )

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self.initial_indices))}) -> ({', '.join(map(str, self.final_indices))})"

    def _count(self, name: str, values: Sequence[object]) -> None:
        if len(values) != len(self.initial_indices):
            raise FrontendError(
                expectation(f"IndexMap.{name}", f"{len(self.initial_indices)} indices", str(len(values)))
            )

    def _detected(self, shape: Sequence[ExprLike | Range]) -> tuple[IterSums | None, tuple[IterSumExpr, ...]]:
        """The digits that the final indices are, None where they are none."""
        loops = {
            variable: extent if isinstance(extent, Range) else Range(0, convert(extent))
            for variable, extent in zip(self.initial_indices, shape, strict=True)
        }
        sums = IterSums(loops, padded=True)
        result = detected(self.final_indices, sums, True, IterMapLevel.NoCheck)
        return (sums, result.indices) if not result.errors else (None, ())


def _variables(function: Body, ndim: int | None, dtype: str) -> list[Var]:
    parameters = inspect.signature(function).parameters.values()
    positional = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    several = [one.name for one in parameters if one.kind is one.VAR_POSITIONAL]
    if several and ndim is None:
        raise FrontendError(expectation("IndexMap.from_func", f"ndim, for a function of *{several[0]}", "none"))
    more = 0 if ndim is None else ndim - len(positional)
    if more < 0 or (more and not several):
        raise FrontendError(expectation("IndexMap.from_func", f"a function of {ndim} indices", str(len(positional))))
    return [Var(name, dtype) for name in [*positional, *(f"{several[0]}_{at}" for at in range(more) if several)]]


def _computed(index: Expr, values: Mapping[int, Any]) -> Any:
    """An index at all points of an array."""
    results = dict(values)
    for node in operands_first([index], results):
        match node:
            case Const():
                results[id(node)] = np.asarray(node.value)
            case Cast():
                results[id(node)] = results[id(node.a)]
            case Binary(op=op) if op in _NUMPY:
                results[id(node)] = _NUMPY[op](results[id(node.a)], results[id(node.b)])
            case _:
                raise FrontendError(expectation("IndexMap.map_ndarray", "arithmetic of the indices", str(node)))
    return results[id(index)]
