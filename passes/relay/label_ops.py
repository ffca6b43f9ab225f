"""relay-label-ops: primitive functions carry a hash of what they compute."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from ...dialects.relay.core import FuncOp
from ...syntax.relay.equal import structural_digest
from ...syntax.relay.view import view


@dataclass(frozen=True)
class LabelOpsPass(ModulePass):
    """Labels primitive functions with the hash of what they compute, as TVM's LabelOps (level 1).

    Before: a module with its operators fused.
    After: each primitive function has the attribute `hash`, equal for functions that differ in names and locations
    only. (It is not TVM's number.)
    Locations: kept.

    ```mlir
    relay.func primitive @fused(%p0: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %p0 : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("a")
    } loc("a")
    // becomes
    relay.func primitive @fused(%p0: tensor<4xf32> loc("x")) -> (tensor<4xf32>) attributes {hash = "b9bde813221c23e3"} {
      %0 = relay.exp %p0 : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("a")
    } loc("a")
    ```
    """

    name = "relay-label-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = view(op, at_calls=False).functions
        for func in op.ops:
            if isinstance(func, FuncOp) and func.primitive is not None:
                function = functions[func.sym_name.data].without_attr("hash")
                func.attributes["hash"] = StringAttr(structural_digest(function))
