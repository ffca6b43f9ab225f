"""Patterns that raise means, which are sums divided by the number of their terms."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects.element_types import numpy_dtype
from ....dialects.relay.canonicalization.constant_operands import erase_unused
from ....dialects.relay.elementwise import DivideOp, MultiplyOp
from ....dialects.relay.nn import AvgPool1DOp, AvgPool2DOp, AvgPool3DOp
from ....dialects.relay.numerics import is_float
from ....dialects.relay.operator import element_of, shape_of
from ....dialects.relay.reduce import ArgMaxOp, ArgMinOp, MeanOp, Reduce, SumOp
from ....dialects.relay.transform import ReshapeOp
from ....dialects.sizes import SizeExpr, same_shape
from .matching import made_by, number


class KeptAxes(RewritePattern):
    """`reshape(max(x))` that restores the reduced axes with extent 1 -> `max(x)` that keeps them."""

    reason: ClassVar[str] = "the reduction keeps its axes"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        source = op.data
        reduced = made_by(source, Reduce)
        if reduced is None or not source.has_one_use() or reduced.signature.get("keepdims"):
            return
        axes = type(reduced).axes(reduced.signature)
        old = shape_of(reduced.operands[0])
        kept = tuple(1 if at in axes else extent for at, extent in enumerate(old))
        if isinstance(reduced, ArgMaxOp | ArgMinOp) or not same_shape(kept, shape_of(op.result)):
            return
        new = type(reduced)(*reduced.operands, axis=axes, keepdims=True)
        rewriter.replace(op, new)
        erase_unused([source], rewriter)


@dataclass
class MeanOfSum(RewritePattern):
    """`sum(x) / n`, with n the number of elements of each sum -> `mean(x)`."""

    module: ModuleOp
    reason: ClassVar[str] = "a sum by the number of its elements is a mean"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DivideOp | MultiplyOp, rewriter: PatternRewriter, /) -> None:
        summed = made_by(op.lhs, SumOp)
        if summed is None or not op.lhs.has_one_use() or not same_shape(shape_of(op.lhs), shape_of(op.result)):
            return
        if not is_float(numpy_dtype(element_of(op.result))):
            return
        axes = Reduce.axes(summed.signature)
        extents = [shape_of(summed.operands[0])[axis] for axis in axes]
        divisor = number(op.rhs, self.module)
        if divisor is None or any(isinstance(extent, SizeExpr) for extent in extents):
            return
        count = prod(extents)
        if abs((count / divisor if isinstance(op, DivideOp) else count * divisor) - 1) > 1e-6 or not count:
            return
        operands = list(op.operands)
        rewriter.replace(op, MeanOp(*summed.operands, axis=axes, keepdims=bool(summed.signature.get("keepdims"))))
        erase_unused(operands, rewriter)


@dataclass
class MeanOfPool(RewritePattern):
    """`avg_pool(x) * n / n`, the quotient of sums of windows -> `avg_pool(x)`."""

    module: ModuleOp
    reason: ClassVar[str] = "a sum of a window by the number of its elements is their average"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DivideOp, rewriter: PatternRewriter, /) -> None:
        product = made_by(op.lhs, MultiplyOp)
        divisor = number(op.rhs, self.module)
        if product is None or divisor is None or not op.lhs.has_one_use():
            return
        pool = product.lhs.owner
        if not isinstance(pool, AvgPool1DOp | AvgPool2DOp | AvgPool3DOp) or not product.lhs.has_one_use():
            return
        if number(product.rhs, self.module) != divisor or not same_shape(shape_of(product.lhs), shape_of(op.result)):
            return
        operands = list(op.operands)
        new = type(pool).create(
            operands=list(pool.operands),
            result_types=[result.type for result in pool.results],
            properties=dict(pool.properties),
            attributes=dict(pool.attributes),
        )
        rewriter.replace(op, new)
        erase_unused(operands, rewriter)
