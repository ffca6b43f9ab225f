"""relay-remove-unused-functions: only what @main reaches stays."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.relay.core import CallOp, FuncOp
from ...provenance.ledger import current_ledger


def reachable(functions: dict[str, FuncOp], entry: str) -> set[str]:
    """The names of the functions that `entry` calls, directly or not, and its own."""
    seen = {entry}
    stack = [entry]
    while stack:
        func = functions.get(stack.pop())
        calls = func.block.ops if func is not None else ()
        called = {op.callee.string_value() for op in calls if isinstance(op, CallOp)}
        stack.extend(called - seen)
        seen |= called
    return seen


@dataclass(frozen=True)
class RemoveUnusedFunctionsPass(ModulePass):
    """Erases functions that the entry does not reach by calls, as TVM's RemoveUnusedFunctions (level 1).

    Before: any relay module; without the entry function nothing happens.
    After: every function is the entry or called from a function that stays.
    Locations: untouched; the ledger says which layers went.

    ```mlir
    relay.func @helper(%x: tensor<4xf32> loc("y")) -> (tensor<4xf32>) {
      relay.return %x : tensor<4xf32> loc("out")
    } loc("helper")
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      relay.return %x : tensor<4xf32> loc("return")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      relay.return %x : tensor<4xf32> loc("return")
    } loc("main")
    ```
    """

    name = "relay-remove-unused-functions"
    entry: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {func.sym_name.data: func for func in op.ops if isinstance(func, FuncOp)}
        if self.entry not in functions:
            return
        used = reachable(functions, self.entry)
        for name, func in functions.items():
            if name in used:
                continue
            if (ledger := current_ledger()) is not None:
                gone = list(func.walk())
                ledger.record(
                    "UnusedFunction",
                    removed=[inner.name for inner in gone],
                    before=[inner.location for inner in (*gone, *func.block.args)],
                    reason=f"@{self.entry} does not reach @{name}",
                )
            func.detach()
            func.erase()
