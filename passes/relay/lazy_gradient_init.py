"""relay-lazy-gradient-init: tensors of zeros and ones that gradients begin with are not computed with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import dtype_name, numpy_dtype
from ...dialects.relay.canonicalization.concretize import Concretize
from ...dialects.relay.canonicalization.constant_operands import erase_unused, is_any_open, one_number
from ...dialects.relay.canonicalization.identities import DropNeutralOperand
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.creation import FullOp
from ...dialects.relay.elementwise import MultiplyOp
from ...dialects.relay.operator import element_of, shape_of
from ...provenance.rewrite import rewrite


@dataclass
class MultiplyByZeros(RewritePattern):
    """x * zeros is zeros."""

    module: ModuleOp
    reason: ClassVar[str] = "a factor is zero"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MultiplyOp, rewriter: PatternRewriter, /) -> None:
        numbers = [one_number(value, self.module) for value in op.operands]
        if is_any_open(op) or not any(number is not None and number == 0 for number in numbers):
            return
        element = element_of(op.result)
        zero = ConstantOp.of(np.zeros((), numpy_dtype(element)), self.module, "zero")
        used = list(op.operands)
        rewriter.replace(op, (zero, FullOp(zero, shape=shape_of(op.result), dtype=dtype_name(element))))
        erase_unused(used, rewriter)


@dataclass(frozen=True)
class LazyGradientInitPass(ModulePass):
    """Removes arithmetic with gradients of only zeros or ones, as TVM's LazyGradientInit.

    TVM carries them as values of a data type until somebody reads them; here what is done with them is known.

    Before: any relay module.
    After: no zeros are added, no ones multiplied by, and a product with zeros is zeros, also where the other factor is
    not finite.
    Locations: zeros in the place of a product have its location and those of what it read; what goes is in the ledger.

    ```mlir
    %0 = relay.ones_like %x : (tensor<4xf32>) -> tensor<4xf32> loc("one")
    %1 = relay.zeros_like %x : (tensor<4xf32>) -> tensor<4xf32> loc("zero")
    %2 = relay.multiply %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("rule")
    %3 = relay.add %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sum")
    %4 = relay.exp %3 : (tensor<4xf32>) -> tensor<4xf32> loc("e")
    // becomes
    %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("e")
    ```
    """

    name = "relay-lazy-gradient-init"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [Concretize(), DropNeutralOperand(), MultiplyByZeros(op)])
