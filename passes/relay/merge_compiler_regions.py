"""relay-merge-compiler-regions: neighbouring regions of one external compiler become one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.relay.annotation import CompilerBeginOp, CompilerEndOp
from ...dialects.relay.core import FuncOp
from ...provenance.rewrite import rewrite
from ..functions import is_closed
from .compiler_regions import DEFAULT, Parts, blocks_of, find_regions


@dataclass
class JoinRegions(RewritePattern):
    """begin(end(x)) -> x inside of one region; an end that nobody reads goes."""

    part_of: dict[Operation, int]
    reason = "the regions became one"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, CompilerBeginOp) or op not in self.part_of:
            return
        end = op.data.owner
        if isinstance(end, CompilerEndOp) and self.part_of.get(end) == self.part_of[op]:
            rewriter.replace(op, [], [end.data])
            if end.result.first_use is None:
                rewriter.erase(end)


@dataclass(frozen=True)
class MergeCompilerRegionsPass(ModulePass):
    """Merges regions of one compiler where one reads the other, as TVM's MergeCompilerRegions does.

    Before: relay functions with marks. After: no two regions of one compiler read each other, but where a region made
    of both would read what is computed of it outside.
    Locations: untouched; marks go.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.annotation.compiler_begin %x {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = relay.nn.relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %2 = relay.annotation.compiler_end %1 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %3 = relay.annotation.compiler_begin %2 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      %4 = relay.tanh %3 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      %5 = relay.annotation.compiler_end %4 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %5 : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.annotation.compiler_begin %x {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = relay.nn.relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %2 = relay.tanh %1 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      %3 = relay.annotation.compiler_end %2 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %3 : tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-merge-compiler-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [f for f in op.ops if isinstance(f, FuncOp) and f.primitive is None and not is_closed(f)]:
            self._merge(func)

    def _merge(self, func: FuncOp) -> None:
        merged: dict[Operation, int] = {}
        for block in blocks_of(func):
            parts = self._block(block)
            # Regions of different blocks have nothing to do with each other.
            first = len(merged)
            merged |= {op: first + part for op, part in parts.items()}
        rewrite(func.body, [JoinRegions(merged)], recursive=False)

    def _block(self, block: Block) -> dict[Operation, int]:
        """Op -> the region that it is in when those that can be are merged."""
        regions = find_regions(block)
        parts = Parts(block, regions)
        for part in parts.order():
            if part >= len(regions) or regions[part].compiler == DEFAULT:
                continue
            for begin in regions[part].begins:
                end = begin.data.owner
                if isinstance(end, CompilerEndOp) and end.compiler == begin.compiler and end in parts.part_of:
                    parts.merge(part, parts.part_of[end])
        return {op: parts.find(number) for number, region in enumerate(regions) for op in region.members}
