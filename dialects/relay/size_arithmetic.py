"""Operators on sizes: what each computes of tensors whose elements only a call decides.

Such a tensor is an array of objects: ints, sizes, and among floats quotients of sizes. A truth value is 1 or 0.
Importers and passes ask here; an operator that is in no table is left to a run.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np

from ...support.dtypes import Array
from ..element_types import numpy_dtype
from ..sizes import Size, SizeExpr, UndecidedSize, product, proves, size_max, size_min
from ..sizes import quotients as real
from ..sizes.decisions import chosen, compared, truncated
from ..sizes.types import is_static
from . import division, elementwise, logic
from . import reduce as reductions
from .creation import FullLikeOp, FullOp, SizesOp
from .operator import Operator, element_of, shape_of
from .rearrange import SplitOp, StackOp
from .traits import OpPattern, Selects
from .transform import ConcatenateOp

LIMIT = 64
"""Tensors of at most this many elements are computed with."""
WHOLE = tuple(np.dtype(name) for name in ("int32", "int64", "uint32", "uint64"))
"""Dtypes of integers in which sizes are what they are."""
REAL = tuple(np.dtype(name) for name in ("float32", "float64"))
TRUTH = np.dtype(np.bool_)
Function: TypeAlias = Callable[..., Any]
"""The result for one element of each operand."""


def is_open(array: Array) -> bool:
    """Return whether an array has objects for elements, as those of sizes have."""
    return array.dtype == np.object_


def objects(flat: Sequence[Any], shape: Sequence[int]) -> Array:
    """An array of objects, in row-major order."""
    array = np.empty(len(flat), np.object_)
    for at, value in enumerate(flat):
        array[at] = value
    return cast(Array, array.reshape(tuple(shape)))


def settled(array: Array, dtype: np.dtype[Any]) -> Array:
    """An array of objects that count as a dtype, or an array of that where no symbols are left."""
    flat: list[Any] = array.reshape(-1).tolist()
    if any(isinstance(value, SizeExpr) or (isinstance(value, real.Quotient) and value.is_open) for value in flat):
        return objects([value + 0 if isinstance(value, bool) else value for value in flat], array.shape)
    numbers = [float(value) if isinstance(value, real.Quotient) else value for value in flat]
    return np.asarray(numbers, dtype).reshape(array.shape)


def computed_sizes(op: Operator, operands: Sequence[Array]) -> tuple[Array, ...] | None:
    """Return the results of an operator of which operands are sizes; None where a run computes them.

    operands: of objects where sizes are among the elements, else of the dtypes that the operator's types state; so are
    the results.
    """
    if not all(is_static(value.type) and prod(shape_of(value)) <= LIMIT for value in (*op.operands, *op.results)):
        return None
    dtypes = [numpy_dtype(element_of(value)) for value in op.results]
    if any(dtype not in (*WHOLE, *REAL, TRUTH) for dtype in dtypes):
        return None
    given = [array if is_open(array) else _exact(array) for array in operands]
    if any(array is None for array in given):
        return None
    try:
        results = _results(op, cast("list[Array]", given))
    except UndecidedSize:
        return None
    if results is None:
        return None
    return tuple(
        settled(np.broadcast_to(np.asarray(result, np.object_), shape_of(value)), dtype)
        for result, value, dtype in zip(results, op.results, dtypes, strict=True)
    )


def _exact(array: Array) -> Array | None:
    """Numbers as objects; None where a float among them is neither whole nor a small fraction."""
    if array.dtype.kind in "iub":
        return objects([int(value) for value in array.reshape(-1).tolist()], array.shape)
    if array.dtype not in REAL:
        return None
    values = [real.real(value) for value in array.reshape(-1).tolist()]
    return None if any(value is None for value in values) else objects(values, array.shape)


def _results(op: Operator, operands: list[Array]) -> Sequence[Any] | None:
    if isinstance(op, SizesOp):
        return [objects(op.signature.ints("values"), op.signature.ints("shape"))]
    if isinstance(op, FullOp | FullLikeOp):
        return [operands[-1].reshape(())]
    if isinstance(op, StackOp | ConcatenateOp | SplitOp):
        return _evaluated(op, operands)
    if op.has_trait(Selects) and op.pattern() <= OpPattern.INJECTIVE:
        if any(isinstance(place, SizeExpr) for places in operands[1:] for place in places.reshape(-1)):
            return None
        return _evaluated(op, [operands[0], *(places.astype(np.int64) for places in operands[1:])])
    if isinstance(op, reductions.Reduce):
        return None if (total := _total(op, operands[0])) is None else [total]
    if (function := _function(op)) is None:
        return None
    rows = np.broadcast_arrays(*operands)
    values = [function(*row) for row in zip(*(row.reshape(-1).tolist() for row in rows), strict=True)]
    return None if any(value is None for value in values) else [objects(values, rows[0].shape)]


def _evaluated(op: Operator, operands: list[Array]) -> Sequence[Any]:
    results: Any = op.evaluate(op.signature, *op.signature.arguments(operands))
    return cast("tuple[Any, ...]", results) if isinstance(results, tuple) else [results]


def _total(op: reductions.Reduce, x: Array) -> Array | None:
    """Return what a reduction over some axes gives."""
    if type(op) not in FOLDS or numpy_dtype(element_of(op.data)) in REAL:
        return None
    function, start = FOLDS[type(op)]
    axes = op.axes(op.signature)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    count = prod(x.shape[axis] for axis in axes)
    rows = x.transpose(*kept, *axes).reshape(prod(x.shape[axis] for axis in kept), count)
    if start is None and not count:
        return None
    totals = [reduce(function, row.tolist() if start is None else [start, *row.tolist()]) for row in rows]
    return objects(totals, shape_of(op.result))


def _function(op: Operator) -> Function | None:
    """Return what an operator computes of one element of each operand; None where only a run knows."""
    dtype = numpy_dtype(element_of(op.operands[-1]))
    if isinstance(op, elementwise.CastOp):
        return _cast(dtype, numpy_dtype(element_of(op.result)))
    if isinstance(op, elementwise.ClipOp):
        low, high = (op.signature.get(name) for name in ("a_min", "a_max"))
        return None if dtype in REAL else _between(low, high)
    return (OF_REALS if dtype in REAL else OF_SIZES).get(type(op))


def _between(low: float, high: float) -> Function:
    def between(x: Size) -> Size:
        x = x if math.isinf(low) else size_max(x, math.ceil(low))
        return x if math.isinf(high) else size_min(x, math.floor(high))

    return between


def _cast(dtype: np.dtype[Any], to: np.dtype[Any]) -> Function | None:
    if to == TRUTH:
        return _truth
    return real.whole if dtype in REAL and to in WHOLE else _same


def _truth(x: real.Real) -> Size:
    if isinstance(x, real.Quotient):
        return real.relation(x, "!=", 0)
    return x if proves(x, ">=", 0) and proves(x, "<=", 1) else compared(x, "!=", 0)


def _same(x: real.Real) -> real.Real:
    return x


def _compared(sign: str) -> Callable[[Size, Size], Size]:
    return lambda a, b: compared(a, sign, b)


def _related(sign: str) -> Callable[[real.Real, real.Real], Size]:
    return lambda a, b: real.relation(a, sign, b)


def _negation(a: Size) -> Size:
    return 1 - a


def _either(a: Size, b: Size) -> Size:
    return a + b - a * b


def _one_of(a: Size, b: Size) -> Size:
    return a + b - 2 * a * b


def _absolute(a: Size) -> Size:
    return a if proves(a, ">=", 0) else size_max(a, -a)


def _positive(a: Size) -> Size:
    return size_max(a, 0)


def _sign(a: Size) -> Size:
    return compared(a, ">", 0) - compared(a, "<", 0)


def _floored(a: Size, b: Size) -> Size:
    """A number below 0 divides with the form that `-(a // -b)`, a quotient rounded up, has of itself."""
    if isinstance(b, int) and b < 0:
        return -(a // -b) if proves(a % -b, "==", 0) else -((a - b - 1) // -b)
    return a // b


def _remainder(a: Size, b: Size) -> Size | None:
    """The remainder of the division towards zero."""
    if proves(a, ">=", 0) and proves(b, ">=", 0):
        return a % b
    return None if (whole := truncated(a, b)) is None else a - b * whole


def _power(a: Size, b: Size) -> Size | None:
    return product([a] * b) if isinstance(b, int) and 0 <= b <= 8 else None


def _doubled(a: Size, b: Size) -> Size | None:
    return a * (1 << b) if isinstance(b, int) and 0 <= b < 32 else None


def _halved(a: Size, b: Size) -> Size | None:
    return a // (1 << b) if isinstance(b, int) and 0 <= b < 32 else None


def _masked(a: Size, b: Size) -> Size | None:
    """The last bits."""
    number, size = (a, b) if isinstance(a, int) else (b, a)
    return size % (number + 1) if isinstance(number, int) and number >= 0 and number & (number + 1) == 0 else None


def _picked(condition: Size, x: real.Real, y: real.Real) -> real.Real | None:
    if isinstance(condition, int):
        return x if condition else y
    return None if isinstance(x, real.Quotient) or isinstance(y, real.Quotient) else chosen(condition, x, y)


_RELATIONS: Mapping[type[Operator], str] = {
    elementwise.EqualOp: "==",
    elementwise.GreaterOp: ">",
    elementwise.LessOp: "<",
    logic.GreaterEqualOp: ">=",
    logic.LessEqualOp: "<=",
    logic.NotEqualOp: "!=",
}
OF_SIZES: Mapping[type[Operator], Function] = {
    division.FloorDivideOp: _floored,
    division.FloorModOp: operator.mod,
    division.ModOp: _remainder,
    division.TruncDivideOp: truncated,
    division.TruncModOp: _remainder,
    elementwise.AbsOp: _absolute,
    elementwise.AddOp: operator.add,
    elementwise.CeilOp: operator.pos,
    elementwise.CopyOp: operator.pos,
    elementwise.DivideOp: truncated,
    elementwise.FloorOp: operator.pos,
    elementwise.LogicalNotOp: _negation,
    elementwise.MaximumOp: size_max,
    elementwise.MinimumOp: size_min,
    elementwise.MultiplyOp: operator.mul,
    elementwise.NegativeOp: operator.neg,
    elementwise.PowerOp: _power,
    elementwise.ReluOp: _positive,
    elementwise.RoundOp: operator.pos,
    elementwise.SignOp: _sign,
    elementwise.SubtractOp: operator.sub,
    elementwise.TruncOp: operator.pos,
    logic.BitwiseAndOp: _masked,
    logic.LeftShiftOp: _doubled,
    logic.LogicalAndOp: operator.mul,
    logic.LogicalOrOp: _either,
    logic.LogicalXorOp: _one_of,
    logic.RightShiftOp: _halved,
    logic.WhereOp: _picked,
    **{op: _compared(sign) for op, sign in _RELATIONS.items()},
}
"""Operator -> what it computes of integers and truth values, one of each operand; None where only a run knows."""
OF_REALS: Mapping[type[Operator], Function] = {
    elementwise.AddOp: real.plus,
    elementwise.CeilOp: real.ceil,
    elementwise.CopyOp: _same,
    elementwise.DivideOp: real.divided,
    elementwise.FloorOp: real.floor,
    elementwise.MaximumOp: real.greatest,
    elementwise.MinimumOp: real.least,
    elementwise.MultiplyOp: real.times,
    elementwise.NegativeOp: real.negated,
    elementwise.SubtractOp: real.minus,
    elementwise.TruncOp: real.whole,
    logic.WhereOp: _picked,
    **{op: _related(sign) for op, sign in _RELATIONS.items()},
}
"""The same of floats."""
FOLDS: Mapping[type[Operator], tuple[Function, int | None]] = {
    reductions.AllOp: (operator.mul, 1),
    reductions.AnyOp: (_either, 0),
    reductions.MaxOp: (size_max, None),
    reductions.MinOp: (size_min, None),
    reductions.ProdOp: (operator.mul, 1),
    reductions.SumOp: (operator.add, 0),
}
"""Reduction -> the function of two integers or truth values, and the number to start from."""
