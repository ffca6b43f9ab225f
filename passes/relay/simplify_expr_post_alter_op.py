"""relay-simplify-expr-post-alter-op: leftovers of a change of layouts are removed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.relay.canonicalization.casts import MergeCasts
from ...dialects.relay.canonicalization.identities import DropNeutralOperand, DropNoOp
from ...dialects.relay.canonicalization.moves import MergeReshapes
from ...provenance.rewrite import rewrite


@dataclass(frozen=True)
class SimplifyExprPostAlterOpPass(ModulePass):
    """The rewrites of `relay-simplify-expr` that make sense behind a change of layouts, as TVM's (level 0).

    exact: keep additions that make 0.0 of -0.0, as compilations at level 0 do.

    Before: any relay module.
    After: no 0 is added or subtracted, no 1 multiplied or divided by; no reshape follows another; no cast follows one
    that keeps every number; no operator that only moves, casts or clips leaves its input as it is.
    Locations: as `relay-simplify-expr`.

    ```mlir
    %0 = relay.cast %x {dtype = "int16"} : (tensor<4xi8>) -> tensor<4xi16> loc("a")
    %1 = relay.cast %0 {dtype = "float32"} : (tensor<4xi16>) -> tensor<4xf32> loc("b")
    // becomes
    %0 = relay.cast %x {dtype = "float32"} : (tensor<4xi8>) -> tensor<4xf32> loc(fused["b", "a"])
    ```
    """

    name = "relay-simplify-expr-post-alter-op"
    exact: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [DropNoOp(), DropNeutralOperand(self.exact), MergeReshapes(), MergeCasts()])
