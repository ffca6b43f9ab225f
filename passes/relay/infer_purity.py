"""relay-infer-purity: calls say whether they do more than compute their result."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .analysis.purity import mark_calls


@dataclass(frozen=True)
class InferPurityPass(ModulePass):
    """Marks calls `impure` that may read or write references, and takes the mark from all others.

    Before: any relay module, whatever its marks say.
    After: a `relay.call` or `relay.invoke` has the mark if, and only if, a function that it may call makes, reads or
    writes references or has an operator that depends on the run, or calls one that does, or is not known.
    Locations: untouched.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %f = relay.fn (%y: tensor<4xf32> loc("y")) -> tensor<4xf32> {
        %0 = relay.exp %y : (tensor<4xf32>) -> tensor<4xf32> loc("a")
        relay.yield %0 : tensor<4xf32> loc("f")
      } loc("f")
      %1 = relay.invoke impure %f(%x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %1 : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %f = relay.fn (%y: tensor<4xf32> loc("y")) -> tensor<4xf32> {
        %0 = relay.exp %y : (tensor<4xf32>) -> tensor<4xf32> loc("a")
        relay.yield %0 : tensor<4xf32> loc("f")
      } loc("f")
      %0 = relay.invoke %f(%x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %0 : tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-infer-purity"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mark_calls(op)
