"""relay-remove-unused-functions: only what @main reaches stays."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.relay.core import CallOp, FuncOp
from ...dialects.relay.functions import GlobalOp
from ...provenance.dce import erase_with_contents
from .analysis.traversal import pre_order


def symbol_of(op: Operation) -> str | None:
    """The function of the module that an op calls or has for its value."""
    match op:
        case CallOp():
            return op.callee.string_value()
        case GlobalOp():
            return op.symbol.string_value()
        case _:
            return None


def reachable(functions: dict[str, FuncOp], entry: str) -> set[str]:
    """The names of the functions that `entry` calls or mentions, directly or not, and its own."""
    seen = {entry}
    stack = [entry]
    while stack:
        func = functions.get(stack.pop())
        read = (
            {name for op in pre_order(func) if (name := symbol_of(op)) is not None} if func is not None else set[str]()
        )
        stack.extend(read - seen)
        seen |= read
    return seen


def erase_function(func: FuncOp, reason: str) -> None:
    """Take a function out of its module; the ledger says why."""
    erase_with_contents(func, "UnusedFunction", reason)


@dataclass(frozen=True)
class RemoveUnusedFunctionsPass(ModulePass):
    """Erases functions that no entry reaches, as TVM's RemoveUnusedFunctions (level 1).

    Before: any relay module; without an entry function nothing happens.
    After: every function is an entry, or one that stays calls it or has it for a value, wherever in its regions.
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
    entry: tuple[str, ...] = ("main",)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {func.sym_name.data: func for func in op.ops if isinstance(func, FuncOp)}
        entries = [name for name in self.entry if name in functions]
        if not entries:
            return
        used = set[str]().union(*(reachable(functions, name) for name in entries))
        for name, func in functions.items():
            if name not in used:
                erase_function(
                    func, f"@{', @'.join(entries)} {'does' if len(entries) == 1 else 'do'} not reach @{name}"
                )
