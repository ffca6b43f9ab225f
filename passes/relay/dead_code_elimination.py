"""relay-dead-code-elimination: what nobody reads goes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...provenance.dce import eliminate_dead_code


@dataclass(frozen=True)
class DeadCodeEliminationPass(ModulePass):
    """Erases operators, constants and calls whose results nobody reads, as TVM's DeadCodeElimination (level 1).

    Before: any relay module.
    After: every op's result is read.
    Locations: untouched; the ledger says which layers went.

    ```mlir
    %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    relay.return %x : tensor<4xf32>
    // becomes
    relay.return %x : tensor<4xf32>
    ```
    """

    name = "relay-dead-code-elimination"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        eliminate_dead_code(op.body)
