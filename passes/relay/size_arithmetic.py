"""Patterns that compute with sizes: what reads a shape of symbols, and integers made of that, are `relay.sizes`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import dtype_name, numpy_dtype
from ...dialects.relay.binding import resolved
from ...dialects.relay.canonicalization.constant_operands import constant_value, erase_unused
from ...dialects.relay.creation import SizesOp
from ...dialects.relay.operator import Operator, element_of
from ...dialects.relay.shapes import NdarraySizeOp, OfShape, ShapeOfOp
from ...dialects.relay.size_arithmetic import LIMIT, WHOLE, computed_sizes, objects
from ...dialects.sizes import Size, product
from ...dialects.sizes.types import extents_of, is_symbolic
from ...provenance.rewrite import rewrite
from ...support.dtypes import Array


def sizes_value(value: SSAValue, module: ModuleOp) -> Array | None:
    """The array of sizes, objects where symbols are among them, that a value is; None where a run computes it."""
    value = resolved(value)
    if isinstance(value.owner, SizesOp):
        sig = value.owner.signature
        return objects(sig.ints("values"), sig.ints("shape"))
    return constant_value(value, module)


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
    """Operators on integers that are sizes; floats and truth values on the way are known, and stay as they are."""

    module: ModuleOp
    between: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])
    """The values of the operators that stay."""

    reason: ClassVar[str] = "its operands are sizes"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator) or len(op.results) != 1 or isinstance(op, SizesOp):
            return
        values = [resolved(value) for value in op.operands]
        if not any(isinstance(value.owner, SizesOp) or value in self.between for value in values):
            return
        operands = [
            self.between[value] if value in self.between else sizes_value(value, self.module) for value in values
        ]
        if any(array is None or array.size > LIMIT for array in operands):
            return
        results = computed_sizes(op, cast("list[Array]", operands))
        if results is None:
            return
        (array,) = results
        if numpy_dtype(element_of(op.results[0])) not in WHOLE:
            self.between[op.results[0]] = array
            return
        read = list(op.operands)
        flat: list[Any] = array.reshape(-1).tolist()
        rewriter.replace(op, _sizes(flat, array.shape, op.results[0]))
        erase_unused(read, rewriter)


def _sizes(values: list[Size], shape: tuple[int, ...], like: SSAValue) -> SizesOp:
    return SizesOp(values=cast("list[int]", values), shape=shape, dtype=dtype_name(element_of(like)))


def compute_sizes(module: ModuleOp, *more: RewritePattern) -> bool:
    """Apply these patterns, and others behind them, once to each op in order; whether anything changed."""
    return rewrite(module, [SizesOfShape(), SizeArithmetic(module), *more], recursive=False)
