"""Sums of products that are quantised: on integers up to one multiplication, as operators of quantised tensors are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import dtype_name
from ...dialects.relay import elementwise as ew
from ...dialects.relay.canonicalization.constant_operands import constant_value, erase_unused, sole_user
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.matmul import BiasAddOp
from ...dialects.relay.operator import element_of, shape_of
from ...dialects.relay.qnn import DequantizeOp, QuantizeOp, RequantizeOp
from ...provenance.rewrite import stands_for
from ...support.dtypes import Array
from .fake_quantization_moves import BYTES, is_one

_APART = 1e-6
"""The tolerance between a bias's scale and the product of scales, which is rounded in some order."""


@dataclass
class RequantizeSums(RewritePattern):
    """quantize(dequantize(sums) + dequantize(bias)) -> requantize(sums + bias), where both are in the same steps."""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        if (
            op.signature.str("out_dtype") not in BYTES
            or not is_one(op.output_scale)
            or not is_one(op.output_zero_point)
        ):
            return
        added = op.data.owner
        if not isinstance(added, BiasAddOp | ew.AddOp):
            added = None
        sums = self._of_words(added.operands[0] if added is not None else op.data)
        if sums is None or sole_user(op.data) is None or sole_user(sums.result) is None:
            return
        new: list[Operation] = []
        total: SSAValue = sums.data
        if added is not None:
            bias = self._of_words(added.operands[1])
            if bias is None or not self._are_same_steps(sums, bias):
                return
            if isinstance(added, BiasAddOp):
                new.append(BiasAddOp(total, bias.data, axis=added.signature.int("axis"), location=None))
            else:
                new.append(ew.AddOp(total, bias.data, location=None))
            stands_for(new[0], added, bias)
            total = new[0].results[0]
        scales = sums.input_scale, sums.input_zero_point, op.output_scale, op.output_zero_point
        attributes = {"compute_dtype": "float32", "rounding": "TOEVEN", "out_dtype": op.signature.str("out_dtype")}
        requantized = RequantizeOp(total, *scales, axis=sums.signature.int("axis"), location=None, **attributes)
        used = list(op.operands)
        rewriter.replace(op, (*new, stands_for(requantized, op, sums)))
        erase_unused(used, rewriter)

    def _of_words(self, value: SSAValue) -> DequantizeOp | None:
        """Return what made floats of int32 whose zero point is 0."""
        op = value.owner
        if not isinstance(op, DequantizeOp) or dtype_name(element_of(op.data)) != "int32":
            return None
        zero = constant_value(op.input_zero_point, self.module)
        return op if zero is not None and not zero.any() and dtype_name(element_of(op.result)) == "float32" else None

    def _are_same_steps(self, sums: DequantizeOp, bias: DequantizeOp) -> bool:
        first, second = self._scale(sums.input_scale), self._scale(bias.input_scale)
        if first is None or second is None or not isinstance(bias.data.owner, ConstantOp):
            return False
        channels = shape_of(sums.data)[sums.signature.int("axis")]
        if shape_of(bias.data) != (channels,):
            return False
        ours, theirs = np.broadcast_arrays(first.reshape(-1), second.reshape(-1))
        return bool(np.allclose(ours, theirs, rtol=_APART, atol=0))

    def _scale(self, value: SSAValue) -> Array | None:
        """The numbers of a scale, also of a product of two."""
        if not isinstance(value.owner, ew.MultiplyOp):
            return constant_value(value, self.module)
        left, right = (constant_value(part, self.module) for part in value.owner.operands)
        return None if left is None or right is None else np.multiply(left, right)
