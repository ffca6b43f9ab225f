"""relay-div-to-mul: divisions by a constant become multiplications by its reciprocal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.canonicalization.casts import FLOATS
from ...dialects.relay.canonicalization.constant_operands import constant_value, erase_unused
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.elementwise import DivideOp, MultiplyOp
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import element_of
from ...provenance.rewrite import rewrite, stands_for


@dataclass
class MultiplyByReciprocal(RewritePattern):
    """x / c is x * (1 / c)."""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DivideOp, rewriter: PatternRewriter, /) -> None:
        value, constant = constant_value(op.rhs, self.module), op.rhs.owner
        if value is None or not isinstance(constant, ConstantOp) or not is_float(value.dtype):
            return
        with np.errstate(all="ignore"):
            wide = value.astype(np.float64)
            inverse = (1 / wide).astype(value.dtype)
        limits = FLOATS[element_of(op.rhs)]
        # A reciprocal that is infinite or no normal number is not one of a divisor that is a number.
        normal = (np.abs(inverse.astype(np.float64)) >= 2.0**limits.least) & np.isfinite(inverse)
        if not (normal | (wide == 0) | ~np.isfinite(wide)).all():
            return
        reciprocal = stands_for(ConstantOp.of(inverse, self.module, constant.hint), op, constant)
        divisor = op.rhs
        rewriter.replace(op, [reciprocal, stands_for(MultiplyOp(op.lhs, reciprocal.result), op)])
        erase_unused([divisor], rewriter)


@dataclass(frozen=True)
class DivToMulPass(ModulePass):
    """Multiplies by the reciprocals of constants instead of dividing, as TVM's DivToMul (level 0).

    The result may be rounded otherwise.

    Before: any relay module.
    After: no floats are divided by a constant, but for those with reciprocals that the dtype cannot hold, which TVM
    takes for infinity or 0.
    Locations: the product gets the division's, the reciprocal that and the constant's.

    ```mlir
    %c = relay.constant dense<4.0> : tensor<f32> loc("c")
    %0 = relay.divide %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("div")
    // becomes
    %const = relay.constant dense<2.500000e-01> : tensor<f32> loc(fused["div", "c"])
    %0 = relay.multiply %x, %const : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("div")
    ```
    """

    name = "relay-div-to-mul"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [MultiplyByReciprocal(op)], recursive=False)
