"""Patterns that raise normalisations by statistics of the data, and by constant statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects.element_types import numpy_dtype
from ....dialects.relay.canonicalization.constant_operands import erase_unused
from ....dialects.relay.core import ConstantOp
from ....dialects.relay.elementwise import (
    AddOp,
    DivideOp,
    MaximumOp,
    MultiplyOp,
    ReluOp,
    RsqrtOp,
    SqrtOp,
    SubtractOp,
)
from ....dialects.relay.normalization import BatchNormOp, LayerNormOp
from ....dialects.relay.operator import element_of, shape_of
from ....dialects.relay.reduce import MeanOp
from ....dialects.relay.transform import ReshapeOp
from ....dialects.sizes import SizeExpr, same_shape
from .matching import difference_from, made_by, narrow, number, reduction, vector_along


def _both(op: AddOp | MultiplyOp) -> tuple[tuple[SSAValue, SSAValue], ...]:
    """Return the operands in both orders."""
    return (op.lhs, op.rhs), (op.rhs, op.lhs)


def _variance(value: SSAValue, data: SSAValue, module: ModuleOp) -> tuple[int, float] | None:
    """Return the axis and the epsilon of a variance of data plus an epsilon; None for another value.

    The variance is E[x^2] - E[x]^2, at least 0, or the mean of (x - E[x])^2.
    """
    total = made_by(value, AddOp)
    if total is None:
        return None
    for variance, epsilon in _both(total):
        added = number(epsilon, module)
        axis = _variance_axis(variance, data, module)
        if added is not None and axis is not None:
            return axis, added
    return None


def _variance_axis(value: SSAValue, data: SSAValue, module: ModuleOp) -> int | None:
    shape = shape_of(value)
    inner = narrow(value)
    owner = inner.owner
    if isinstance(owner, ReluOp):
        inner = narrow(owner.data)
    elif isinstance(owner, MaximumOp):
        sides = [side for side, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)) if number(other, module) == 0]
        inner = narrow(sides[0]) if sides else inner
    axis: int | None = None
    if (mean := made_by(inner, MeanOp)) is not None:
        square = made_by(mean.operands[0], MultiplyOp)
        centred = made_by(square.lhs, SubtractOp) if square is not None and square.lhs is square.rhs else None
        if centred is not None and centred.lhs is data:
            axis = reduction(centred.rhs, MeanOp, data)
            axis = axis if MeanOp.axes(mean.signature) == (axis,) else None
    elif (difference := made_by(inner, SubtractOp)) is not None:
        squares, squared = made_by(narrow(difference.lhs), MeanOp), made_by(narrow(difference.rhs), MultiplyOp)
        square = made_by(squares.operands[0], MultiplyOp) if squares is not None else None
        if squares is None or squared is None or square is None:
            return None
        same_mean = squared.lhs is squared.rhs and square.lhs is square.rhs is data
        mean = made_by(narrow(squared.lhs), MeanOp)
        if same_mean and mean is not None and mean.operands[0] is data:
            axes = MeanOp.axes(mean.signature)
            axis = axes[0] if len(axes) == 1 and MeanOp.axes(squares.signature) == axes else None
    if axis is None:
        return None
    kept = tuple(1 if at == axis else extent for at, extent in enumerate(shape_of(data)))
    return axis if same_shape(shape, kept) or same_shape(shape, shape_of(data)) else None


def _row(value: SSAValue) -> tuple[SSAValue, ReshapeOp | None]:
    """Return a vector along some axis as a value of rank 1, and the reshape that makes it so, if one is needed."""
    inner = narrow(value)
    if len(shape_of(inner)) == 1 and len(shape_of(value)) > 0:
        return inner, None
    op = ReshapeOp(value, newshape=[max(shape_of(value))])
    return op.result, op


@dataclass
class _OfFactors(RewritePattern):
    module: ModuleOp

    def filled(self, like: SSAValue, extent: int, value: float) -> ConstantOp:
        """Return a constant vector of one repeated number."""
        array = np.full(extent, value, numpy_dtype(element_of(like)))
        return ConstantOp.of(array, self.module, "ones" if value else "zeros")

    def is_filled(self, value: SSAValue, expected: float) -> bool:
        return isinstance(value.owner, ConstantOp) and number(value, self.module) == expected


class LayerNormOfParts(_OfFactors):
    """`(x - mean(x)) * rsqrt(variance(x) + e)`, with a scale or without -> `nn.layer_norm(x)`."""

    reason: ClassVar[str] = "the definition of a layer norm"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MultiplyOp | DivideOp, rewriter: PatternRewriter, /) -> None:
        pairs = _both(op) if isinstance(op, MultiplyOp) else ((op.lhs, op.rhs),)
        for difference, factor in pairs:
            if (source := difference_from(difference, MeanOp)) is None:
                continue
            data, axis = source
            if isinstance(shape_of(data)[axis], SizeExpr):
                continue
            parts = self._parts(op, factor)
            for root, scale in parts:
                variance = _variance(root, data, self.module)
                if variance is None or variance[0] != axis:
                    continue
                if scale is None or vector_along(scale, axis, shape_of(data)):
                    self._replace(op, data, axis, variance[1], scale, rewriter)
                    return

    def _parts(self, op: Operation, factor: SSAValue) -> list[tuple[SSAValue, SSAValue | None]]:
        """Return the operand of the root and the other factor, if any, for each way to read the factor."""
        if isinstance(op, DivideOp):
            root = made_by(factor, SqrtOp)
            return [] if root is None else [(root.data, None)]
        if (reciprocal_root := made_by(narrow(factor), RsqrtOp)) is not None:
            return [(reciprocal_root.data, None)]
        product = made_by(factor, MultiplyOp)
        if product is None:
            return []
        pairs = [(made_by(narrow(root), RsqrtOp), scale) for root, scale in _both(product)]
        return [(root.data, scale) for root, scale in pairs if root is not None]

    def _replace(
        self,
        op: Operation,
        data: SSAValue,
        axis: int,
        epsilon: float,
        scale: SSAValue | None,
        rewriter: PatternRewriter,
    ) -> None:
        extent = shape_of(data)[axis]
        zeros = self.filled(data, extent, 0.0)
        new: list[Operation] = [zeros]
        if scale is None:
            ones = self.filled(data, extent, 1.0)
            new.append(ones)
            gamma = ones.result
        else:
            gamma, reshape = _row(scale)
            new += [reshape] if reshape is not None else []
        new.append(LayerNormOp(data, gamma, zeros.result, axis=axis, epsilon=epsilon))
        operands = list(op.operands)
        rewriter.replace(op, new)
        erase_unused(operands, rewriter)


class ScaledLayerNorm(_OfFactors):
    """`layer_norm(x, 1, 0) * scale` -> `layer_norm(x, scale, 0)`."""

    reason: ClassVar[str] = "the scale of a layer norm"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MultiplyOp, rewriter: PatternRewriter, /) -> None:
        for value, scale in _both(op):
            norm = made_by(value, LayerNormOp)
            if norm is None or not value.has_one_use():
                continue
            axis = norm.signature.int("axis") % len(shape_of(value))
            plain = self.is_filled(norm.gamma, 1.0) and self.is_filled(norm.beta, 0.0)
            if plain and vector_along(scale, axis, shape_of(value)):
                _with(op, norm, rewriter, gamma=scale)
                return


class ShiftedLayerNorm(_OfFactors):
    """`layer_norm(x, scale, 0) + shift` -> `layer_norm(x, scale, shift)`."""

    reason: ClassVar[str] = "the shift of a layer norm"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        for value, shift in _both(op):
            norm = made_by(value, LayerNormOp)
            if norm is None or not value.has_one_use():
                continue
            axis = norm.signature.int("axis") % len(shape_of(value))
            if self.is_filled(norm.beta, 0.0) and vector_along(shift, axis, shape_of(value)):
                _with(op, norm, rewriter, beta=shift)
                return


def _with(
    op: Operation,
    norm: LayerNormOp,
    rewriter: PatternRewriter,
    gamma: SSAValue | None = None,
    beta: SSAValue | None = None,
) -> None:
    """Replace the op that scales or shifts a layer norm with one of that scale or shift."""
    new: list[Operation] = []
    vectors: list[SSAValue] = []
    for new_vector, old_vector in ((gamma, norm.gamma), (beta, norm.beta)):
        vector, reshape = (old_vector, None) if new_vector is None else _row(new_vector)
        vectors.append(vector)
        new += [reshape] if reshape is not None else []
    axis, epsilon = norm.signature.int("axis"), norm.signature.get("epsilon")
    new.append(LayerNormOp(norm.data, *vectors, axis=axis, epsilon=epsilon))
    operands = list(op.operands)
    rewriter.replace(op, new)
    erase_unused(operands, rewriter)


class BatchNormOfParts(_OfFactors):
    """`(x - mean) * (rsqrt(variance + e) * scale) + shift` with vectors along an axis -> `nn.batch_norm`."""

    reason: ClassVar[str] = "the definition of a batch norm"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        for value, shift in _both(op):
            product = made_by(value, MultiplyOp)
            if product is None or not value.has_one_use():
                continue
            for left, factor in _both(product):
                difference, scaled = made_by(left, SubtractOp), made_by(factor, MultiplyOp)
                if difference is None or scaled is None:
                    continue
                for root, scale in _both(scaled):
                    if self._matched(op, difference, root, scale, shift, rewriter):
                        return

    def _matched(
        self,
        op: AddOp,
        difference: SubtractOp,
        root: SSAValue,
        scale: SSAValue,
        shift: SSAValue,
        rewriter: PatternRewriter,
    ) -> bool:
        data, shape = difference.lhs, shape_of(op.result)
        inverse = made_by(root, RsqrtOp)
        total = made_by(inverse.data, AddOp) if inverse is not None else None
        if total is None or not same_shape(shape_of(data), shape):
            return False
        for variance, epsilon in _both(total):
            added = number(epsilon, self.module)
            sides = (scale, shift, difference.rhs, variance)
            axes = [axis for axis in range(len(shape)) if all(vector_along(side, axis, shape) for side in sides)]
            if added is None or not axes or isinstance(shape[axes[-1]], SizeExpr):
                continue
            rows = [_row(value) for value in sides]
            new = BatchNormOp(data, *(row for row, _ in rows), axis=axes[-1], epsilon=added)
            operands = list(op.operands)
            rewriter.replace(op, [*(reshape for _, reshape in rows if reshape is not None), new], [new.result])
            erase_unused(operands, rewriter)
            return True
        return False
