"""relay-eliminate-common-subexpr: equal computations are done once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.relay.core import ConstantOp
from ...dialects.relay.operator import Operator
from ...provenance.cse import eliminate_common_subexpressions
from .analysis.purity import mark_calls


@dataclass(frozen=True)
class EliminateCommonSubexprPass(ModulePass):
    """Merges operators and calls with equal operands and attributes, as TVM's EliminateCommonSubexpr (level 3).

    Constants compare by value but stay apart: else every constant 1.0 of a model would carry all the layers that
    have one, and everything folded with it would, too.

    Before: any relay module.
    After: no two operators of a function compute the same.
    Locations: the survivor gets its own, then its twins'.

    ```mlir
    %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %1 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    relay.return %0, %1 : tensor<4xf32>, tensor<4xf32>
    // becomes
    %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc(fused["a", "b"])
    relay.return %0, %0 : tensor<4xf32>, tensor<4xf32>
    ```
    """

    name = "relay-eliminate-common-subexpr"

    def skips(self, op: Operation) -> bool:
        """Return whether an op is not merged."""
        return False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mark_calls(op)
        eliminate_common_subexpressions(op.body, skip=(ConstantOp,), unless=self.skips)


class EliminateOthers(EliminateCommonSubexprPass):
    """The pass on operators apart from those that a Python function wants kept."""

    def __init__(self, fskip: Callable[[Operation], bool]):
        object.__setattr__(self, "_fskip", fskip)

    def skips(self, op: Operation) -> bool:
        fskip: Callable[[Operation], bool] = getattr(self, "_fskip")  # noqa: B009
        return isinstance(op, Operator) and fskip(op)
