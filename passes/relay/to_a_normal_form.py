"""relay-to-a-normal-form: every value is named, and bound in a let-block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ...dialects.relay.binding import Flavour, IfOp, LetOp
from ...dialects.relay.core import FuncOp
from ...dialects.relay.data_types import MatchOp
from ...dialects.relay.functions import FnOp
from ...dialects.relay.grouping import bind, runs
from .analysis.purity import impure_ops, mark_calls
from .analysis.traversal import pre_order
from .let_blocks import sink
from .to_graph_normal_form import dissolve_all


def scopes(root: Operation) -> list[Block]:
    """The blocks of functions, closures, branches and clauses in `root`, outer ones first; no primitive functions."""
    blocks: list[Block] = []
    kernels: set[Operation] = set()
    for op in pre_order(root):
        if (isinstance(op, FuncOp) and op.primitive is not None) or op.parent_op() in kernels:
            kernels.add(op)
        elif isinstance(op, FuncOp | FnOp | IfOp | MatchOp):
            blocks += [region.block for region in op.regions]
    return blocks


def bind_in_scopes(root: ModuleOp, ends: Callable[[Block], Callable[[Operation], bool]]) -> list[Block]:
    """Bind, scope by scope, the runs of ops between those that `ends` of the scope names, each in a let-block.

    What only one scope reads is sunk into it before. Gives the scopes.
    """
    impure = impure_ops(root)
    blocks = scopes(root)
    sink(blocks, impure)

    def flavour(one: Operation) -> Flavour:
        return Flavour.IMPURE if one in impure else Flavour.PURE

    for block in blocks:
        around = block.parent_op()
        assert around is not None
        for run in runs(block, ends(block), flavour):
            bind(run, flavour(run[0]), around.location)
    return blocks


@dataclass(frozen=True)
class ToANormalFormPass(ModulePass):
    """Names every op and puts it into a let-block, as TVM's ToANormalForm (level 1).

    Before: any relay module.
    After: functions, closures, branches and clauses are let-blocks and the op that ends them. A let-block holds as many
    ops in a row as are all pure, or all impure; one of a function that calls itself stands alone. A pure op stands in
    the innermost branch or clause around all that read it. Calls are marked as `relay-infer-purity` marks them.
    Primitive functions stay as they are.
    Locations: ops keep theirs; a let-block is located at the function, closure, `if` or `match` whose block it is in.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = relay.add %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %1 : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %x_1 = relay.let pure {
        %x_2 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
        %x_3 = relay.add %x_2, %x_2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("b")
        relay.yield %x_3 : tensor<4xf32> loc("main")
      } loc("main")
      relay.return %x_1 : tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-to-a-normal-form"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mark_calls(op)
        dissolve_all(op)
        bind_in_scopes(op, lambda block: lambda one: isinstance(one, LetOp))
