"""relay-simplify-inference: operators of training become what they are at inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import numpy_dtype
from ...dialects.relay.canonicalization.constant_operands import erase_unused
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.elementwise import AddOp, DivideOp, MultiplyOp, NegativeOp, OnesLikeOp, SqrtOp
from ...dialects.relay.nn import BatchNormOp, DropoutOp
from ...dialects.relay.operator import element_of, shape_of
from ...dialects.relay.transform import ExpandDimsOp
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from ...provenance.rewrite import rewrite
from .analysis.purity import mark_calls
from .analysis.traversal import pre_order
from .known_values import GetOfTuple


@dataclass
class _BatchNorm(RewritePattern):
    """`data * scale + shift`, where scale = gamma / sqrt(var + eps) and shift = beta - mean * scale, in TVM's order."""

    module: ModuleOp

    def unpacked(self, op: BatchNormOp) -> tuple[list[Operation], SSAValue]:
        """The ops that do what a batch norm does, and the normalised data."""
        sig = op.signature
        dtype = numpy_dtype(element_of(op.moving_var))
        ops: list[Operation] = []

        def add(new: Operation) -> SSAValue:
            ops.append(new)
            return new.results[0]

        epsilon = add(ConstantOp.of(np.array(sig.get("epsilon"), dtype), self.module, "epsilon"))
        one = add(ConstantOp.of(np.array(1, dtype), self.module, "one"))
        deviation = add(SqrtOp(add(AddOp(op.moving_var, epsilon))))
        scale = add(DivideOp(one, deviation))
        if sig.get("scale"):
            scale = add(MultiplyOp(scale, op.gamma))
        shift = add(MultiplyOp(add(NegativeOp(op.moving_mean)), scale))
        if sig.get("center"):
            shift = add(AddOp(shift, op.beta))
        rank = len(shape_of(op.data))
        if trailing := rank - 1 - sig.int("axis") % rank:
            scale = add(ExpandDimsOp(scale, axis=1, num_newaxis=trailing))
            shift = add(ExpandDimsOp(shift, axis=1, num_newaxis=trailing))
        result = add(AddOp(add(MultiplyOp(op.data, scale)), shift))
        return ops, result


class UnpackBatchNorm(_BatchNorm):
    """The statistics of a batch norm are its inputs."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter, /) -> None:
        ops, result = self.unpacked(op)
        operands = list(op.operands)
        rewriter.replace(op, ops, [result, op.moving_mean, op.moving_var])
        erase_unused(operands, rewriter)


class UnpackFieldOfBatchNorm(_BatchNorm):
    """The data of a batch norm, when nothing else of the tuple of its results is read."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TupleGetItemOp, rewriter: PatternRewriter, /) -> None:
        fields = op.tuple_value.owner
        if not isinstance(fields, TupleOp) or not fields.result.has_one_use() or fields.parent is not op.parent:
            return
        norm = fields.fields[0].owner if fields.fields else None
        if not isinstance(norm, BatchNormOp) or op.index.value.data or tuple(fields.fields) != tuple(norm.results):
            return
        if all(result.has_one_use() for result in norm.results):
            made, result = self.unpacked(norm)
            operands = list(norm.operands)
            rewriter.replace(op, made, [result])
            rewriter.erase(fields)
            rewriter.erase(norm)
            erase_unused(operands, rewriter)


class DropDropout(RewritePattern):
    """Inference lets the data through; the mask is all ones."""

    reason: ClassVar[str] = "inference lets the data through"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DropoutOp, rewriter: PatternRewriter, /) -> None:
        if op.mask.first_use is None:
            rewriter.replace(op, [], [op.data, None])
        else:
            rewriter.replace(op, mask := OnesLikeOp(op.data), [op.data, mask.result])


@dataclass(frozen=True)
class SimplifyInferencePass(ModulePass):
    """Unpacks `nn.batch_norm` into arithmetic and drops `nn.dropout`, as TVM's SimplifyInference (level 0).

    Before: any relay module.
    After: no batch_norm and no dropout, whose mask is ones; the statistics of a batch_norm are its inputs. No
    `tuple_get_item` of a tuple that is at hand.
    Locations: all that a batch_norm becomes gets its location; where its result is a field of a tuple, that of the
    `tuple_get_item` and its own. A dropout that goes is in the ledger, and so is a `tuple_get_item` of a tuple.

    ```mlir
    %0, %1, %2 = relay.nn.batch_norm %x, %gamma, %beta, %mean, %var
          : (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
          -> (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>) loc("bn")
    %3, %4 = relay.nn.dropout %0 : (tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) loc("drop")
    relay.return %3 : tensor<1x4xf32>
    // becomes
    %epsilon = relay.constant dense<1.000000e-05> : tensor<f32> loc("bn")
    %one = relay.constant dense<1.000000e+00> : tensor<f32> loc("bn")
    %0 = relay.add %var, %epsilon : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("bn")
    %1 = relay.sqrt %0 : (tensor<4xf32>) -> tensor<4xf32> loc("bn")
    %2 = relay.divide %one, %1 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32> loc("bn")
    %3 = relay.multiply %2, %gamma : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("bn")
    %4 = relay.negative %mean : (tensor<4xf32>) -> tensor<4xf32> loc("bn")
    %5 = relay.multiply %4, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("bn")
    %6 = relay.add %5, %beta : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("bn")
    %7 = relay.multiply %x, %3 : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32> loc("bn")
    %8 = relay.add %7, %6 : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32> loc("bn")
    relay.return %8 : tensor<1x4xf32>
    ```
    """

    name = "relay-simplify-inference"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fields = any(isinstance(one, TupleGetItemOp) for one in pre_order(op))
        if fields:
            mark_calls(op)
            # One is met behind its tuple, and so behind the batch norm.
            rewrite(op, [UnpackFieldOfBatchNorm(op)], recursive=False)
        also = [GetOfTuple()] if fields else []
        rewrite(op, [UnpackBatchNorm(op), DropDropout(), *also], recursive=False)
