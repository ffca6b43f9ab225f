"""Channels that a convolution computes of filters of zeros are taken away as late as can be.

What takes them away, a slice of channels, moves below operators that compute each channel by itself; a convolution
reads them with weights of zero. So the slice is left where a region of blocks ends, in the pass that leaves it anyway.
Zeros times an infinity, or what is no number, are no number: so slices stay above operators that make infinities of
finite numbers, and above those that make finite numbers of infinities, of which a next layer has to see nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import numpy_dtype
from ...dialects.relay import elementwise
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.pooling import Pool
from ...dialects.relay.reduce import MeanOp, Reduce, SumOp
from ...dialects.relay.resize import Resized
from ...dialects.relay.transform import ExpandDimsOp, PadOp, ReshapeOp, StridedSliceOp
from ...dialects.sizes import same
from .blocking import PLAIN, moved

CHANNELS = 1
"""The axis of channels."""
_FINITE = (
    elementwise.AddOp,
    elementwise.SubtractOp,
    elementwise.MultiplyOp,
    elementwise.NegativeOp,
    elementwise.ReluOp,
    elementwise.LeakyReluOp,
)
"""Pointwise operators whose results are finite just where their operands are, as sums of activations are."""


def cut_channels(value: SSAValue | Operation, count: int) -> StridedSliceOp:
    """The first channels of a value; not located."""
    return StridedSliceOp(value, begin=(0,), end=(count,), axes=(CHANNELS,))


def grown(value: SSAValue, axis: int, more: int, module: ModuleOp) -> list[Operation]:
    """Ops of which the last gives a value with so many zeros behind it along an axis; not located."""
    zero = ConstantOp.of(np.zeros((), numpy_dtype(element_of(value))), module, "zero")
    width = [0] * (2 * len(shape_of(value)))
    width[2 * axis + 1] = more
    return [zero, PadOp(value, zero.result, pad_width=width)]


def uncut(value: SSAValue, cuts: set[Operation]) -> SSAValue:
    """The value that one of the slices `cuts` takes channels of, or the value itself."""
    owner = value.owner
    return owner.operands[0] if isinstance(owner, Operation) and owner in cuts else value


@dataclass
class SinkCuts(RewritePattern):
    """An operator that computes each channel by itself computes all, and the slice of channels moves behind it."""

    module: ModuleOp
    cuts: set[Operation]
    """The slices that may move."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operator, rewriter: PatternRewriter, /) -> None:
        owners = [value.owner for value in op.operands if value.owner in self.cuts]
        sources = [owner for owner in owners if isinstance(owner, StridedSliceOp)]
        if not sources or not _keeps_channels(op):
            return
        cut = sources[0]
        rank, count, total = len(shape_of(cut.result)), shape_of(cut.result)[CHANNELS], shape_of(cut.data)[CHANNELS]
        made: list[Operation] = []
        operands: list[SSAValue] = []
        for value in op.operands:
            axis = 0 if isinstance(op, BiasAddOp) and value is op.bias else CHANNELS - rank + len(shape_of(value))
            if axis >= 0 and not same(shape_of(value)[axis], 1):
                if _is_known(value):
                    made += grown(value, axis, total - count, self.module)
                    value = made[-1].results[0]
                else:
                    value = uncut(value, self.cuts)
                if shape_of(value)[axis] != total:
                    return
            operands.append(value)
        made.append(whole := moved(op, *operands))
        made.append(behind := cut_channels(whole, count))
        behind.location = cut.location
        self.cuts.add(behind)
        rewriter.replace(op, made)
        for source in dict.fromkeys(sources):
            if source.result.first_use is None:
                self.cuts.discard(source)
                rewriter.erase(source)


def _is_known(value: SSAValue) -> bool:
    """Return whether a value is a constant, or a bias that is one in another shape."""
    owner = value.owner
    while isinstance(owner, (ExpandDimsOp, ReshapeOp)):
        owner = owner.data.owner
    return isinstance(owner, ConstantOp)


def _keeps_channels(op: Operator) -> bool:
    """Return whether an operator computes each channel by itself, and finite numbers of finite ones only."""
    if isinstance(op, BiasAddOp):
        return op.signature.int("axis") % len(shape_of(op.data)) == CHANNELS
    if isinstance(op, (Pool, Resized)):
        return op.signature.str("layout") in PLAIN.values()
    if isinstance(op, (MeanOp, SumOp)):
        return min(Reduce.axes(op.signature)) > CHANNELS
    return isinstance(op, _FINITE)
