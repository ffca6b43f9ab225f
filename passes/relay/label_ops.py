"""relay-label-ops: primitive functions carry a hash of what they compute."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from ...dialects.relay.core import FuncOp


def structural_hash(func: FuncOp) -> str:
    """16 hexadecimal digits, the same for functions that differ in names and locations only."""
    copy = func.clone()
    copy.sym_name = StringAttr("f")
    copy.attributes.pop("hash", None)
    for argument in copy.block.args:
        argument.name_hint = None
    for op in copy.walk():
        for result in op.results:
            result.name_hint = None
    text = StringIO()
    Printer(text).print_op(copy)
    copy.erase()
    return blake2b(text.getvalue().encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class LabelOpsPass(ModulePass):
    """Labels primitive functions with the hash of what they compute, as TVM's LabelOps (level 1).

    Before: a module with its operators fused.
    After: each primitive function has the attribute `hash`, equal for functions that differ in names and locations
    only. (It is not TVM's number: what is hashed is our text.)
    Locations: kept.

    ```mlir
    relay.func primitive @fused(%p0: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %p0 : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("a")
    } loc("a")
    // becomes
    relay.func primitive @fused(%p0: tensor<4xf32> loc("x")) -> (tensor<4xf32>) attributes {hash = "c0af19afffec3c57"} {
      %0 = relay.exp %p0 : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("a")
    } loc("a")
    ```
    """

    name = "relay-label-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if isinstance(func, FuncOp) and func.primitive is not None:
                func.attributes["hash"] = StringAttr(structural_hash(func))
