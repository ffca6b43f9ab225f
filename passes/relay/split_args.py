"""relay-split-args: an operator with very many operands becomes a tree of operators with few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.core import FuncOp
from ...dialects.relay.transform import ConcatenateOp
from ...provenance.diagnostics import message
from ...provenance.rewrite import rewrite
from ...support.errors import PipelineError
from .fusion_graph import STOP_FUSION

MAX_ARGS = 8
"""The loops of a kernel grow with the square of its parts; with fewer parts every element is copied more often."""


@dataclass
class SplitConcatenate(RewritePattern):
    """A concatenation of neighbours' concatenations, each as near to the same number of parts as can be."""

    most: int
    reason: ClassVar[str] = "too many operands for one kernel"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatenateOp, rewriter: PatternRewriter, /) -> None:
        func = op.parent_op()
        if len(op.data) <= self.most or (isinstance(func, FuncOp) and func.primitive is not None):
            return
        axis = op.signature.int("axis")
        made: list[ConcatenateOp] = []

        def joined(group: Sequence[SSAValue]) -> SSAValue:
            if len(group) == 1:
                return group[0]
            made.append(ConcatenateOp(*group, axis=axis))
            made[-1].attributes[STOP_FUSION] = UnitAttr()
            return made[-1].result

        parts: Sequence[SSAValue] = op.data
        while len(parts) > self.most:
            groups = -(-len(parts) // self.most)
            bounds = [len(parts) * at // groups for at in range(groups + 1)]
            parts = [joined(parts[first:last]) for first, last in pairwise(bounds)]
        rewriter.replace(op, [*made, ConcatenateOp(*parts, axis=axis)])


@dataclass(frozen=True)
class SplitArgsPass(ModulePass):
    """Splits concatenations of more than `max_function_args` parts, after TVM's SplitArgs.

    Kernels that join equal parts are equal, and compiled once: a concatenation of thousands compiles as fast as one of
    a few.

    Before: any relay module.
    After: no operator outside primitive functions has more than `max_function_args` operands. What a concatenation
    made of one reads is marked `stop_fusion`: fusion would make one kernel of all.
    Locations: each op of the tree has that of the concatenation.

    max_function_args: at least 2.

    ```mlir
    // with max_function_args=2
    %0 = relay.concatenate %a, %b, %c : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32> loc("join")
    // becomes
    %0 = relay.concatenate %b, %c attributes {stop_fusion} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32> loc("join")
    %1 = relay.concatenate %a, %0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32> loc("join")
    ```
    """

    name = "relay-split-args"
    max_function_args: int = MAX_ARGS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.max_function_args < 2:
            raise PipelineError(message(self.name, "max-function-args of at least 2", str(self.max_function_args)))
        rewrite(op, [SplitConcatenate(self.max_function_args)], recursive=False)
