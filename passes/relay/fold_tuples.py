"""relay-fold-tuples: fields of tuples that are at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.canonicalization.constant_operands import erase_unused
from ...dialects.relay.tuples import TupleOp
from ...provenance.rewrite import rewrite
from .known_values import GetOfTuple


class Unread(RewritePattern):
    """Remove an unused tuple, and the values that only it read."""

    reason: ClassVar[str] = "nobody reads the tuple"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TupleOp, rewriter: PatternRewriter, /) -> None:
        erase_unused([op.result], rewriter)


@dataclass(frozen=True)
class FoldTuplesPass(ModulePass):
    """Replaces a field of a tuple in scope by its value, and removes unused tuples.

    It comes before all that looks at operators only. In TVM FoldConstant does this, from level 2 on.

    Before: any relay module.
    After: no `relay.tuple_get_item` reads a `relay.tuple` that is made in its block or around, and none is unread.
    Locations: untouched; the ledger says which tuples went.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = relay.tuple %0, %x : tuple<tensor<4xf32>, tensor<4xf32>> loc("t")
      %2 = relay.tuple_get_item %1[0] : tuple<tensor<4xf32>, tensor<4xf32>> loc("g")
      %3 = relay.log %2 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %3 : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = relay.log %0 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %1 : tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-fold-tuples"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [GetOfTuple(), Unread()])
