"""relay-dynamic-to-static: operators whose shapes turn out to be known are those that have them as attributes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import VerifyException

from ...dialects.relay.canonicalization.constant_operands import erase_unused
from ...dialects.relay.dynamic import Dynamic
from ...dialects.sizes.types import is_open
from ...provenance.rewrite import stands_for
from .analysis.traversal import pre_order
from .fold_constant import FoldConstantPass
from .infer_type import infer_types
from .size_arithmetic import compute_sizes, sizes_value


@dataclass
class Decided(RewritePattern):
    """`dyn.reshape` to a constant shape is a `reshape`, and so on."""

    module: ModuleOp

    reason = "its shape is known"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Dynamic, rewriter: PatternRewriter, /) -> None:
        inputs, deciding = op.parted(op.operands)
        values = [None if value is None else sizes_value(value, self.module) for value in deciding]
        if any(array is None and value is not None for array, value in zip(values, deciding, strict=True)):
            return
        try:
            static = stands_for(op.static(op.signature, inputs, values), op)
        except VerifyException:
            if any(is_open(value.type) for value in inputs):
                return  # what it reads may have a type in the next round
            raise
        rewriter.replace(op, static)
        erase_unused([value for value in deciding if value is not None], rewriter)


@dataclass(frozen=True)
class DynamicToStaticPass(ModulePass):
    """Turns operators with a shape operand into those with attributes, as TVM's DynamicToStatic (level 2).

    Before: any relay module. After: no `dyn` operator has only constants, what folds to constants, or sizes that have
    names (`tensor<?xf32, #relay.sizes<n>>`) and arithmetic with them, among the operands that decide; types follow.
    Locations: an operator keeps its own. Constants that are folded on the way are located as by `relay-fold-constant`.

    ```mlir
    relay.func @main(%x: tensor<2x3xf32> loc("x"), %y: tensor<6xf32> loc("y")) -> (tensor<?xf32>) {
      %0 = relay.shape_of %y : (tensor<6xf32>) -> tensor<1xi32> loc("shape")
      %1 = relay.dyn.reshape %x, %0 : (tensor<2x3xf32>, tensor<1xi32>) -> tensor<?xf32> loc("flat")
      relay.return %1 : tensor<?xf32> loc("return")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<2x3xf32> loc("x"), %y: tensor<6xf32> loc("y")) -> (tensor<6xf32>) {
      %0 = relay.reshape %x {newshape = [6]} : (tensor<2x3xf32>) -> tensor<6xf32> loc("flat")
      relay.return %0 : tensor<6xf32> loc("return")
    } loc("main")
    ```
    """

    name = "relay-dynamic-to-static"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        while any(isinstance(inner, Dynamic) for inner in pre_order(op)):
            infer_types(op)
            FoldConstantPass().apply(ctx, op)
            if not compute_sizes(op, Decided(op)):
                break
        infer_types(op)
