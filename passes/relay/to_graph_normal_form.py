"""relay-to-graph-normal-form: let-blocks become plain values, shared by all that read them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.relay.binding import Flavour, LetOp
from .analysis.traversal import post_order
from .let_blocks import dissolve, is_recursive_in_fact


def dissolve_all(root: Operation) -> None:
    """Take all let-blocks in `root` apart but those of functions that call themselves."""
    for op in list(post_order(root)):
        if isinstance(op, LetOp) and not (op.kind is Flavour.REC and is_recursive_in_fact(op)):
            dissolve(op)


@dataclass(frozen=True)
class ToGraphNormalFormPass(ModulePass):
    """Replaces a let-block by its contents, as TVM's ToGraphNormalForm (level 1).

    Before: any relay module.
    After: no let-block but those of functions that call themselves, which nothing else can say. Ops keep their order,
    and so do effects.
    Locations: ops keep theirs; the ledger says which let-blocks went.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %b = relay.let pure {
        %a = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
        %b = relay.negative %a : (tensor<4xf32>) -> tensor<4xf32> loc("b")
        relay.yield %b : tensor<4xf32> loc("main")
      } loc("main")
      relay.return %b : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %a = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %b = relay.negative %a : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %b : tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-to-graph-normal-form"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        dissolve_all(op)
