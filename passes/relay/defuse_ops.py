"""relay-defuse-ops: calls of primitive functions become the operators of those."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.core import CallOp, FuncOp
from ...provenance.rewrite import rewrite, stands_for
from .remove_unused_functions import erase_function


@dataclass
class Inline(RewritePattern):
    """A copy of each operator of a primitive function in place of its call."""

    functions: dict[str, FuncOp]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CallOp, rewriter: PatternRewriter, /) -> None:
        if (func := self.functions.get(op.callee.string_value())) is None:
            return
        values: dict[SSAValue, SSAValue] = dict(zip(func.block.args, op.arguments, strict=True))
        copies: list[Operation] = []
        for inner in func.block.ops:
            if inner is not func.return_op:
                copies.append(stands_for(inner.clone(values), inner))
        rewriter.replace(op, copies, [values[value] for value in func.return_op.operands])


@dataclass(frozen=True)
class DefuseOpsPass(ModulePass):
    """Undoes `relay-fuse-ops`, as TVM's DefuseOps (level 0).

    Before: any relay module.
    After: no primitive function is called: its operators replace the call, and it is gone.
    Locations: operators have those that they had in the primitive function.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(fused["b", "a"])
      relay.return %0 : tensor<4xf32> loc("return")
    } loc("main")
    relay.func primitive @fused(%p0: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %p0 : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = relay.tanh %0 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %1 : tensor<4xf32> loc("b")
    } loc(fused["b", "a"])
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = relay.tanh %0 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %1 : tensor<4xf32> loc("return")
    } loc("main")
    ```
    """

    name = "relay-defuse-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        primitive = {f.sym_name.data: f for f in op.ops if isinstance(f, FuncOp) and f.primitive is not None}
        called = {inner.callee.string_value() for inner in op.walk() if isinstance(inner, CallOp)}
        rewrite(op, [Inline(primitive)], recursive=False)
        for name in called & primitive.keys():
            erase_function(primitive[name], f"the operators of @{name} stand where it was called")
