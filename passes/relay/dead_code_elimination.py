"""relay-dead-code-elimination: unused values are removed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, SymbolOpInterface
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead

from ...dialects.relay.binding import Flavour, LetOp
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.functions import FnOp
from ...dialects.relay.grouping import bind
from ...dialects.relay.references import RefCreateOp
from ...provenance.dce import erase_with_contents
from .analysis.purity import is_pure, mark_calls
from .analysis.traversal import is_binding, post_order
from .let_blocks import dissolve, keep_outputs, move_before


@dataclass(frozen=True)
class DeadCodeEliminationPass(ModulePass):
    """Erases unused values and ops without effect, as TVM's DeadCodeElimination (level 1).

    inline_once: bindings that only compute, and that are read once, leave their let-block, too; those that a function
    reads stay, as it may be called again.
    ignore_impurity: calls and operations on references count as having no effect.

    Before: any relay module.
    After: every op's result is read, but for what makes, reads or writes references or calls what does; every value
    that a let-block yields is read, and no let-block is empty. Calls are marked as `relay-infer-purity` marks them.
    Locations: untouched; the ledger says which layers went.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %b, %c = relay.let pure {
        %a = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
        %b = relay.negative %x : (tensor<4xf32>) -> tensor<4xf32> loc("b")
        %c = relay.log %a : (tensor<4xf32>) -> tensor<4xf32> loc("c")
        relay.yield %b, %c : tensor<4xf32>, tensor<4xf32> loc("main")
      } loc("main")
      relay.return %b : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %b = relay.let pure {
        %b_1 = relay.negative %x : (tensor<4xf32>) -> tensor<4xf32> loc("b")
        relay.yield %b_1 : tensor<4xf32> loc("main")
      } loc("main")
      relay.return %b : tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-dead-code-elimination"
    inline_once: bool = False
    ignore_impurity: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mark_calls(op)
        self._eliminate(op)
        if self.inline_once:
            for let in [
                inner for inner in post_order(op) if isinstance(inner, LetOp) and inner.kind is not Flavour.REC
            ]:
                self._inline(let)

    def _eliminate(self, root: Operation) -> None:
        """Users before what they read, regions before what stands before their op."""
        stack = [(root, _reversed(root))]
        while stack:
            around, rest = stack[-1]
            if rest:
                op = rest.pop()
                if self._is_dead(op):
                    erase_with_contents(op, "DeadCode", "nobody reads its result" if op.results else "it has no effect")
                    continue
                if isinstance(op, LetOp) and op.kind is not Flavour.REC:
                    op = keep_outputs(op, [result.first_use is not None for result in op.results])
                if op.regions:
                    stack.append((op, _reversed(op)))
                continue
            stack.pop()
            if isinstance(around, LetOp) and around.block.first_op is around.block.last_op and not around.results:
                erase_with_contents(around, "DeadCode", "nothing is bound in it")
            elif around is not root and self._is_dead(around):
                erase_with_contents(around, "DeadCode", "nobody reads its result")

    def _is_dead(self, op: Operation) -> bool:
        if any(result.first_use is not None for result in op.results):
            return False
        if self.ignore_impurity:
            return not op.has_trait(IsTerminator) and not op.has_trait(SymbolOpInterface)
        return would_be_trivially_dead(op) or isinstance(op, RefCreateOp)

    def _inline(self, let: LetOp) -> None:
        """Take out of a let-block what is read once: by a binding, which has it as its own, or by somebody behind."""
        last = let.block.last_op
        assert last is not None
        outputs = {value: result for value, result in zip(last.operands, let.results, strict=True)}
        moved: list[Operation] = []
        leaving: set[Operation] = {last}
        for op in reversed([inner for inner in let.block.ops if inner is not last]):
            uses = [use for result in op.results for use in result.uses]
            behind = [use for result in op.results if result in outputs for use in outputs[result].uses]
            readers = [use.operation for use in uses if use.operation is not last] + [use.operation for use in behind]
            once = len(readers) == 1 and (self.ignore_impurity or is_pure(op)) and not _is_repeated(readers[0], op)
            if once and is_binding(op):
                for result in op.results:
                    result.name_hint = None
            if once and all(use.operation in leaving for use in uses):
                moved.append(op)
                leaving.add(op)
        if not moved:
            return
        location, flavour = let.location, let.kind
        kept = [inner for inner in let.block.ops if inner not in leaving]
        anchor = let.next_op
        assert anchor is not None
        names = {result: None for op in moved for result in op.results}
        dissolve(let, "what it binds is read once")
        for result in names:
            result.name_hint = None
        move_before(reversed(moved), anchor)
        if kept:
            bind(kept, flavour, location, names=False)


def _is_repeated(reader: Operation, op: Operation) -> bool:
    """Return whether a function around `reader`, maybe called more than once, has `op` outside; constants are free."""
    around = reader.parent_op()
    while around is not None and not isinstance(around, FnOp):
        around = around.parent_op()
    return around is not None and not around.is_ancestor(op) and not isinstance(op, ConstantOp)


def _reversed(op: Operation) -> list[Operation]:
    return [inner for region in op.regions for block in region.blocks for inner in block.ops]
