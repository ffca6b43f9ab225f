"""Patterns that compute with sizes: what reads a shape of symbols, and integers made of that, are `relay.sizes`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import dtype_name
from ...dialects.relay.binding import resolved
from ...dialects.relay.canonicalization.constant_operands import constant_value, erase_unused
from ...dialects.relay.creation import SizesOp
from ...dialects.relay.elementwise import AddOp, CastOp, MaximumOp, MinimumOp, MultiplyOp, SubtractOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.reduce import ProdOp
from ...dialects.relay.shapes import NdarraySizeOp, OfShape, ShapeOfOp
from ...dialects.relay.traits import INTEGERS
from ...dialects.relay.transform import (
    ConcatenateOp,
    ExpandDimsOp,
    ReshapeOp,
    SqueezeOp,
    StridedSliceOp,
    TakeOp,
)
from ...dialects.sizes import Size, product, size_max, size_min
from ...dialects.sizes.types import extents_of, is_symbolic
from ...provenance.rewrite import rewrite
from ...support.dtypes import Array

_LIMIT = 64
"""Arrays of at most this many elements are computed with."""

_PAIRWISE: Mapping[type[Operator], Callable[..., Any]] = {
    AddOp: operator.add,
    SubtractOp: operator.sub,
    MultiplyOp: operator.mul,
    MaximumOp: size_max,
    MinimumOp: size_min,
}
_MOVES = (CastOp, ConcatenateOp, ExpandDimsOp, ReshapeOp, SqueezeOp, StackOp, StridedSliceOp)
"""The operators that pass sizes on as they are."""


def sizes_value(value: SSAValue, module: ModuleOp) -> Array | None:
    """The array of sizes, objects where symbols are among them, that a value is; None where a run computes it."""
    value = resolved(value)
    if isinstance(value.owner, SizesOp):
        sig = value.owner.signature
        return _array(list(sig.ints("values")), tuple(sig.ints("shape")))
    return constant_value(value, module)


def _array(values: list[Size], shape: tuple[int, ...]) -> Array:
    made = np.empty(len(values), np.object_)
    made[:] = values
    return cast(Array, made.reshape(shape))


@dataclass
class SizesOfShape(RewritePattern):
    """`shape_of` and `ndarray_size` of a tensor whose sizes have names."""

    reason: ClassVar[str] = "its numbers are sizes of its operand"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: OfShape, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, ShapeOfOp | NdarraySizeOp) or not is_symbolic(op.data.type):
            return
        extents = extents_of(op.signature.types[0])
        whole = isinstance(op, ShapeOfOp)
        values = extents if whole else (product(extents),)
        operand = op.data
        rewriter.replace(op, _sizes(list(values), (len(extents),) if whole else (), op.result))
        erase_unused([operand], rewriter)


@dataclass
class SizeArithmetic(RewritePattern):
    """Operators on integers that are sizes: sums, products, extremes, and what moves and picks them."""

    module: ModuleOp

    reason: ClassVar[str] = "its operands are sizes"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator) or len(op.results) != 1 or isinstance(op, SizesOp):
            return
        if not any(isinstance(resolved(value).owner, SizesOp) for value in op.operands):
            return
        if not INTEGERS.holds(element_of(op.results[0])):
            return
        given = [sizes_value(value, self.module) for value in op.operands]
        if any(array is None or array.size > _LIMIT or array.dtype.kind not in "iuO" for array in given):
            return
        found = _computed(op, cast("list[Array]", given))
        if found is None:
            return
        operands = list(op.operands)
        rewriter.replace(op, _sizes(cast("list[Size]", found.reshape(-1).tolist()), found.shape, op.results[0]))
        erase_unused(operands, rewriter)


def _computed(op: Operator, given: list[Array]) -> Array | None:
    """Return the result of an operator on sizes; None for one that is not for sizes."""
    objects = [array.astype(np.object_) for array in given]
    if (combine := _PAIRWISE.get(type(op))) is not None:
        whole = np.broadcast_arrays(*objects)
        rows = zip(*(array.reshape(-1).tolist() for array in whole), strict=True)
        return _array([reduce(combine, row) for row in rows], whole[0].shape)
    if isinstance(op, TakeOp):
        places = given[1].astype(np.int64) if given[1].dtype.kind != "O" else None
        if places is None or len(shape_of(op.data)) != 1 or not np.all((places >= 0) & (places < given[0].size)):
            return None
        return cast(Array, np.asarray(objects[0][places], np.object_))
    if isinstance(op, ProdOp):
        return _array([product(objects[0].reshape(-1).tolist())], ()) if not shape_of(op.results[0]) else None
    if not isinstance(op, _MOVES) or isinstance(op, CastOp):
        return objects[0] if isinstance(op, CastOp) else None
    evaluate = cast("Callable[..., Any]", op.evaluate)
    found = evaluate(op.signature, *op.signature.arguments(objects))
    return cast(Array, np.asarray(found, np.object_))


def _sizes(values: list[Size], shape: tuple[int, ...], like: SSAValue) -> SizesOp:
    return SizesOp(values=cast("list[int]", values), shape=shape, dtype=dtype_name(element_of(like)))


def compute_sizes(module: ModuleOp, *more: RewritePattern) -> bool:
    """Apply these patterns, and others behind them, once to each op in order; whether anything changed."""
    return rewrite(module, [SizesOfShape(), SizeArithmetic(module), *more], recursive=False)
