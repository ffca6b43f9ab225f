"""relay-fold-scale-axis: a constant factor per channel moves into the weights of the convolution or dense beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from ...dialects.relay.canonicalization.constant_operands import constant_value, is_at_hand, sole_user
from ...dialects.relay.channels import Channels
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.elementwise import AddOp, MultiplyOp, SubtractOp
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.traits import ScaleEquivariant
from ...dialects.relay.transform import ReshapeOp
from ...provenance.diagnostics import message
from ...provenance.rewrite import has_new_value, rewrite, stands_for
from ...support.dtypes import Array
from ...support.errors import PipelineError
from .fold_constant import FoldConstantPass

_REACH = 8
"""The largest number of ops between the factor and the convolution."""


def factor_of(op: MultiplyOp, module: ModuleOp) -> tuple[SSAValue, ConstantOp, Array] | None:
    """The scaled value, the constant factor and its array."""
    for data, factor in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        value = constant_value(factor, module)
        if value is not None and isinstance(factor.owner, ConstantOp) and data.type == op.result.type:
            return (data, factor.owner, value) if is_float(value.dtype) else None
    return None


def is_along(shape: tuple[int, ...], rank: int, axis: int) -> bool:
    """Return whether a tensor of `shape`, broadcast to `rank` dimensions, varies along `axis` at most."""
    skipped = rank - len(shape)
    return skipped >= 0 and all(extent == 1 or i + skipped == axis for i, extent in enumerate(shape))


@dataclass
class _Scaling(RewritePattern):
    module: ModuleOp
    products: set[Operation]
    """Scaled weights and biases: constant once folded."""

    def is_constant(self, value: SSAValue) -> bool:
        return is_at_hand(value.owner, self.module) or value.owner in self.products

    def scale(
        self,
        op: Operator,
        index: int,
        factor: SSAValue,
        axis: int | None,
        scaling: MultiplyOp,
        rewriter: PatternRewriter,
    ) -> None:
        """Replace `op` by itself with operand `index` multiplied by `factor`, laid along `axis` if one is given.

        The product does what `scaling` did, and the new operator what `op` did: other factors change no operator.
        """
        ops: list[Operation] = []
        operand = op.operands[index]
        if axis is not None:
            shape = [-1 if i == axis else 1 for i in range(len(shape_of(operand)))]
            ops.append(laid := ReshapeOp(factor, newshape=shape))
            factor = laid.result
        ops.append(product := stands_for(MultiplyOp(operand, factor), scaling))
        self.products.add(product)
        operands = [product.result if i == index else other for i, other in enumerate(op.operands)]
        new = type(op).create(operands=operands, result_types=list(op.result_types), properties=dict(op.properties))
        rewriter.replace(op, [*ops, new])

    def scale_weight(self, anchor: Operator, scaling: MultiplyOp, axis: int, rewriter: PatternRewriter) -> SSAValue:
        """Take the factor of `scaling` to the weight's `axis` instead; return the factor, where biases can use it."""
        parts = factor_of(scaling, self.module)
        assert parts is not None
        data, factor, _ = parts
        # The factor may stand after the convolution: it moves, or a copy of it does.
        if factor.result.has_one_use():
            factor.detach()
        else:
            factor = factor.clone()
        rewriter.insert(factor, InsertPoint.before(anchor))
        rewriter.replace(scaling, [], [data])
        self.scale(anchor, 1, factor.result, axis, scaling, rewriter)
        return factor.result


@dataclass
class ScaleResult(_Scaling):
    """`(conv(x, w) + b) * s` becomes `conv(x, w * s) + b * s`; a relu between needs a positive `s`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MultiplyOp, rewriter: PatternRewriter, /) -> None:
        if (parts := factor_of(op, self.module)) is None:
            return
        value, _, array = parts
        positive = False
        biased: list[tuple[Operator, int]] = []
        between: list[Operator] = []
        for _ in range(_REACH):
            owner = value.owner
            if sole_user(value) is None or not isinstance(owner, Operator):
                return
            between.append(owner)
            if (channels := owner.get_trait(Channels)) is not None:
                break
            match owner:
                case Operator() if owner.has_trait(ScaleEquivariant):
                    positive = True
                    value = owner.operands[0]
                case AddOp() | SubtractOp() | BiasAddOp():
                    constant = next((i for i in (1, 0) if self.is_constant(owner.operands[i])), None)
                    if constant is None or owner.operands[1 - constant].type != owner.results[0].type:
                        return
                    biased.append((owner, constant))
                    value = owner.operands[1 - constant]
                case _:
                    return
        else:
            return
        axes = channels.output(owner)
        rank = len(shape_of(owner.results[0]))
        if axes is None or not self.is_constant(owner.operands[1]) or not is_along(array.shape, rank, axes[0]):
            return
        for bias, _ in biased:
            if isinstance(bias, BiasAddOp) and bias.signature.int("axis") % rank != axes[0]:
                return
        if positive and not np.greater(array, 0).all():
            return
        has_new_value(*between)
        factor = self.scale_weight(owner, op, axes[1], rewriter)
        for bias, constant in reversed(biased):
            self.scale(bias, constant, factor, 0 if isinstance(bias, BiasAddOp) else None, op, rewriter)


@dataclass
class ScaleData(_Scaling):
    """`conv(x * s, w)` becomes `conv(x, w * s)`; a relu between needs a positive `s`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operator, rewriter: PatternRewriter, /) -> None:
        if (channels := op.get_trait(Channels)) is None:
            return
        equivariant: list[Operator] = []
        value = op.operands[0]
        for _ in range(_REACH):
            if sole_user(value) is None or not isinstance(owner := value.owner, Operator):
                break
            if not owner.has_trait(ScaleEquivariant):
                break
            equivariant.append(owner)
            value = owner.operands[0]
        scaled = value.owner
        if not isinstance(scaled, MultiplyOp) or sole_user(value) is None or not self.is_constant(op.operands[1]):
            return
        if (parts := factor_of(scaled, self.module)) is None or (axes := channels.input(op)) is None:
            return
        data, _, array = parts
        if not is_along(array.shape, len(shape_of(data)), axes[0]) or (equivariant and not np.greater(array, 0).all()):
            return
        has_new_value(scaled, *equivariant)
        self.scale_weight(op, scaled, axes[1], rewriter)


@dataclass(frozen=True)
class FoldScaleAxisPass(ModulePass):
    """Multiplies constant weights instead of data, as TVM's FoldScaleAxis (level 3), and folds the constants.

    Before: any relay module; batch norms unpacked and constants folded, or there is little to find.
    After: no floating-point multiplication by a constant per channel follows a convolution or dense with constant
    weights that nobody else reads, additions of constants and (for positive factors) a relu between them included;
    none stands right before one, either.
    direction: "backward" for factors behind, "forward" for those before them, as two passes of TVM; or "both".
    Locations: the scaled weights and biases get the multiplication's and the factor's. The operators keep theirs: with
    another factor they compute the same, on other constants.

    ```mlir
    %w = relay.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32> loc("w")
    %two = relay.constant dense<2.0> : tensor<1xf32> loc("two")
    %0 = relay.nn.dense %x, %w : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32> loc("dense")
    %1 = relay.multiply %0, %two : (tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32> loc("scale")
    // becomes
    %w = relay.constant dense<[[2.000000e+00, 4.000000e+00]]> : tensor<1x2xf32> loc(fused["scale", "w", "two"])
    %0 = relay.nn.dense %x, %w : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32> loc("dense")
    ```
    """

    name = "relay-fold-scale-axis"
    direction: str = "both"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        products: set[Operation] = set()
        patterns = {"backward": ScaleResult(op, products), "forward": ScaleData(op, products)}
        wanted = [pattern for name, pattern in patterns.items() if self.direction in (name, "both")]
        if not wanted:
            raise PipelineError(message(self.name, "direction both, forward or backward", self.direction))
        if rewrite(op, wanted, recursive=False):
            FoldConstantPass().apply(ctx, op)
