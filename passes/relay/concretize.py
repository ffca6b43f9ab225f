"""relay-concretize: no operator reads a tensor for its shape or dtype alone."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.relay.canonicalization.concretize import Concretize
from ...provenance.rewrite import rewrite


@dataclass(frozen=True)
class ConcretizePass(ModulePass):
    """Frees operators of the tensors whose shape or dtype alone they read; `relay-simplify-expr` does so, too.

    Before: any relay module.
    After: `zeros_like` is `zeros`, and so for ones, full, reshape, collapse_sum, broadcast_to and cast, unless only
    values decide the shape; what only they read is gone.
    Locations: an operator keeps its own.

    ```mlir
    %0 = relay.exp %y : (tensor<2x2xf32>) -> tensor<2x2xf32> loc("other")
    %1 = relay.reshape_like %x, %0 : (tensor<4xf32>, tensor<2x2xf32>) -> tensor<2x2xf32> loc("like")
    // becomes
    %0 = relay.reshape %x {newshape = [2, 2]} : (tensor<4xf32>) -> tensor<2x2xf32> loc("like")
    ```
    """

    name = "relay-concretize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [Concretize()])
