"""relay-to-basic-block-normal-form: values that several scopes read are bound in a scope around all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ...dialects.relay.binding import LetOp
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.functions import GlobalOp
from ...dialects.relay.grouping import NAME
from .analysis.purity import mark_calls
from .analysis.well_formed import check_scopes
from .let_blocks import regions_to
from .to_a_normal_form import bind_in_scopes


def is_shared(op: Operation, block: Block) -> bool:
    """Return whether a branch, clause or closure further in reads a result of an op of `block`."""
    return any(
        not all(isinstance(region.parent, LetOp) for region in regions_to(use.operation, block))
        for result in op.results
        for use in result.uses
    )


@dataclass(frozen=True)
class ToBasicBlockNormalFormPass(ModulePass):
    """Binds values that several scopes read in let-blocks, as TVM's ToBasicBlockNormalForm (level 1).

    Scopes are the blocks of functions, closures, branches and clauses. In SSA each value is made in a scope around all
    that read it; raises VerifyException where that does not hold.

    Before: any relay module.
    After: a pure op that one branch or clause alone reads stands in it; what is read across scopes is a binding of a
    let-block, constants and functions of the module apart. Calls are marked as `relay-infer-purity` marks them.
    Locations: ops keep theirs; a let-block is located at the function, closure, `if` or `match` whose block it is in.

    ```mlir
    relay.func @main(%c: tensor<i1> loc("c"), %x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = relay.if %c : tensor<i1> -> tensor<4xf32> {
        relay.yield %0 : tensor<4xf32> loc("if")
      } else {
        %2 = relay.negative %0 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
        relay.yield %2 : tensor<4xf32> loc("if")
      } loc("if")
      relay.return %1 : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%c: tensor<i1> loc("c"), %x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %x_1 = relay.let pure {
        %x_2 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
        relay.yield %x_2 : tensor<4xf32> loc("main")
      } loc("main")
      %0 = relay.if %c : tensor<i1> -> tensor<4xf32> {
        relay.yield %x_1 : tensor<4xf32> loc("if")
      } else {
        %1 = relay.negative %x_1 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
        relay.yield %1 : tensor<4xf32> loc("if")
      } loc("if")
      relay.return %0 : tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-to-basic-block-normal-form"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_scopes(op)
        mark_calls(op)
        for block in bind_in_scopes(op, _not_shared):
            _name_bindings(block)


def _not_shared(block: Block) -> Callable[[Operation], bool]:
    """Return whether an op of the block stays unbound."""
    shared = {one for one in block.ops if not isinstance(one, ConstantOp | GlobalOp) and is_shared(one, block)}
    return lambda one: isinstance(one, LetOp) or one not in shared


def _name_bindings(block: Block) -> None:
    """Name what stands in a let-block without a name although a further scope reads it."""
    stack = [op for op in block.ops if isinstance(op, LetOp)]
    while stack:
        let = stack.pop()
        for op in let.block.ops:
            if isinstance(op, LetOp):
                stack.append(op)
            elif not isinstance(op, ConstantOp | GlobalOp) and is_shared(op, let.block):
                for result in op.results:
                    result.name_hint = result.name_hint or NAME
