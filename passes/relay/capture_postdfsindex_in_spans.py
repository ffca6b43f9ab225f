"""relay-capture-postdfsindex-in-spans: locations tell where an operator is in the data flow."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from ...dialects.relay.core import FuncOp
from ...provenance.span import fuse
from .fusion_graph import FusionGraph, PostDominators

INDEX = StringAttr("index")
"""The stand-in for a file name in such a location."""


@dataclass(frozen=True)
class CapturePostDfsIndexInSpansPass(ModulePass):
    """Locates operators at their post-DFS index, too, as TVM's CapturePostDfsIndexInSpans (level 0).

    The line of `"index":line:column` is the number of the operator in the order in which a depth-first walk from the
    function's results leaves them, from 0, as `relay-fuse-ops` counts: the tuple that a variadic operator reads has a
    number of its own. The column is the number of the first operator that all ways from there to the results go
    through; 0 where there is none, as no operator comes before its own operands. (TVM says -1, which is no column, and
    forgets what was there.)

    Before: any relay module.
    After: the same.
    Locations: each operator outside primitive functions gets its index behind its layers.

    ```mlir
    %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %1 = relay.tanh %0 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    %2 = relay.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("c")
    // becomes
    %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc(fused["a", "index":0:2])
    %1 = relay.tanh %0 : (tensor<4xf32>) -> tensor<4xf32> loc(fused["b", "index":1:2])
    %2 = relay.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc(fused["c", "index":2:0])
    ```
    """

    name = "relay-capture-postdfsindex-in-spans"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if not isinstance(func, FuncOp) or func.primitive is not None:
                continue
            graph = FusionGraph.of(func.block)
            dominators = PostDominators(graph)
            for index, operator in enumerate(graph.ops):
                if operator is not None:
                    parent = dominators.parent[index]
                    column = parent if parent != dominators.root else 0
                    here = FileLineColLoc(INDEX, IntAttr(index), IntAttr(column))
                    operator.location = fuse([operator.location, here])
