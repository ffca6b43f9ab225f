"""relay-merge-composite: operators that an external compiler takes together become composite functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...support.errors import PipelineError
from ..functions import COMPOSITE
from .dataflow_pattern.outlining import partition_in_place
from .pattern_table import Table, checked, get_pattern_table


@dataclass(frozen=True)
class MergeCompositePass(ModulePass):
    """Makes a function of every match of a pattern of a compiler's table, as TVM's MergeComposite does.

    compiler: whose table; patterns are tried in its order, each on what those before it left.

    Before: any relay module; functions that are primitive, or for a compiler already, are left alone.
    After: each match is a call of a function with the attributes `Composite`, the name of the entry, and
    `PartitionedFromPattern`, the names of what it is made of.
    Locations: operators keep theirs; a function and its call get those of the match, its last operator first.

    ```mlir
    relay.func @main(%x: tensor<1x4xf32> loc("x"), %w: tensor<2x4xf32> loc("w")) -> (tensor<1x2xf32>) {
      // with compiler=onnxruntime
      %0 = relay.nn.dense %x, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> loc("fc")
      %1 = relay.nn.relu %0 : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("act")
      relay.return %1 : tensor<1x2xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<1x4xf32> loc("x"), %w: tensor<2x4xf32> loc("w")) -> (tensor<1x2xf32>) {
      %0 = relay.nn.dense %x, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> loc("fc")
      %1 = relay.nn.relu %0 : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("act")
      relay.return %1 : tensor<1x2xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-merge-composite"
    compiler: str

    def table(self) -> Table:
        """The patterns; raises PipelineError when the compiler has none."""
        patterns = get_pattern_table(self.compiler)
        if patterns is None:
            raise PipelineError(f"{self.name}: expected a compiler with a pattern table, got '{self.compiler}'")
        return patterns

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in self.table():
            name, pattern, check = checked(entry)
            partition_in_place(pattern, op, {COMPOSITE: name}, check)


class MergeGivenComposites(MergeCompositePass):
    """The same with patterns that are given, not looked up."""

    def __init__(self, table: Table):
        super().__init__("")
        object.__setattr__(self, "_table", tuple(table))

    def table(self) -> Table:
        return self._table  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
