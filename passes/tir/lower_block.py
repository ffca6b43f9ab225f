"""tir-lower-block: blocks become the ops that they hold, at the point that the loops around give."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.sizes.kernel import affine_map
from ...dialects.tir import IfOp, IndexOp, LoadOp, PrimFuncOp, StoreOp, prim_funcs
from ...dialects.tir.block import BlockOp, InitOp
from ...provenance.rewrite import rewrite
from ...provenance.walk import walk
from .rewriting.starts import move_start


class FuseProduct(RewritePattern):
    """The sum of an element and a product, in a block that starts with an init part."""

    reason = "a reduction rounds once for each term"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        block = op.parent_op()
        if not isinstance(op, arith.AddfOp) or not isinstance(block, BlockOp) or block.init is None:
            return
        for element, term in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            product = term.owner
            if isinstance(product, arith.MulfOp) and term.has_one_use() and _is_element(element, op):
                rewriter.replace(op, [math.FmaOp(product.lhs, product.rhs, element)])
                rewriter.erase(product)
                return


def _is_element(value: SSAValue, total: arith.AddfOp) -> bool:
    """Return whether a value is the element that a sum is stored to."""
    load, (use, *others) = value.owner, [*total.result.uses] or [None]
    store = use.operation if use is not None else None
    if others or not isinstance(load, LoadOp) or not isinstance(store, StoreOp) or load.guard is not None:
        return False
    same = load.buffer is store.buffer and load.map == store.map
    return same and tuple(load.indices) == tuple(store.indices)


class OpenInit(RewritePattern):
    """The init part of a block: before the loops of its reduction, or where no reduce variable has left 0."""

    reason = "the first iteration is known by the variables"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        block = op.parent_op()
        if not isinstance(op, InitOp) or not isinstance(block, BlockOp):
            return
        if move_start(op, block, rewriter):
            return
        reduced: list[AffineExpr] = [
            expr * -1 for kind, expr in zip(block.kinds, block.map.data.results, strict=True) if kind.data == "reduce"
        ]
        branch = IfOp.make(affine_map(len(block.indices), tuple(reduced)), block.indices)
        branch.block.add_ops(_taken(op.block))
        rewriter.replace(op, [branch], [])


class OpenBlock(RewritePattern):
    """A block without init part."""

    reason = "its variables have their values"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, BlockOp):
            return
        count = len(op.indices)
        opened: list[Operation] = []
        for argument, expr in zip(op.block.args, op.map.data.results, strict=True):
            value = IndexOp.make(affine_map(count, (expr,)), op.indices)
            value.result.name_hint = argument.name_hint
            argument.replace_all_uses_with(value.result)
            opened.append(value)
        opened.extend(_taken(op.block))
        if op.guards:
            conditions, branch = _branch(op)
            branch.block.add_ops(opened)
            opened = [*conditions, branch]
        rewriter.replace(op, opened, [])


def _branch(op: BlockOp) -> tuple[list[Operation], IfOp]:
    """The branch for a block to run in, and the ops of its condition."""
    if len(op.guards) == 1:
        return [], IfOp.make(op.guards[0], op.indices)
    zero = arith.ConstantOp.from_int_and_width(0, i64)
    made: list[Operation] = [zero]

    def joined(join: type[arith.AndIOp | arith.OrIOp], conditions: list[SSAValue]) -> SSAValue:
        total = conditions[0]
        for condition in conditions[1:]:
            made.append(join(total, condition))
            total = made[-1].results[0]
        return total

    def holds(guard: AffineMap) -> SSAValue:
        conditions: list[SSAValue] = []
        for expr in guard.results:
            index = IndexOp.make(affine_map(len(op.indices), (expr,)), op.indices)
            value = arith.IndexCastOp(index.result, i64)
            condition = arith.CmpiOp(value.result, zero.result, "sge")
            made.extend((index, value, condition))
            conditions.append(condition.result)
        return joined(arith.AndIOp, conditions)

    wide = arith.ExtUIOp(joined(arith.OrIOp, [holds(guard) for guard in op.guards if guard.results]), i64)
    number = arith.IndexCastOp(wide.result, IndexType())
    # 1 where it holds.
    return [*made, wide, number], IfOp.make(affine_map(1, (AffineExpr.dimension(0) - 1,)), [number.result])


def _taken(block: Block) -> list[Operation]:
    ops = list(block.ops)
    for op in ops:
        op.detach()
    return ops


def run(func: PrimFuncOp) -> None:
    """Open the blocks of one kernel, in place."""
    if any(isinstance(op, BlockOp) for op in walk(func)):
        rewrite(func.body, [FuseProduct()])
        rewrite(func.body, [OpenInit()])
        rewrite(func.body, [OpenBlock()])


@dataclass(frozen=True)
class TirLowerBlockPass(ModulePass):
    """Replaces a `tir.block` by its contents: TVM's LowerInitBlock, ConvertBlocksToOpaque and LowerOpaqueBlock.

    Before: any kernels. After: there is no block. A variable is a `tir.index` of its binding; a `where` is a `tir.if`
    around all, whose condition is computed if `where` has alternatives. The init part stands before the outermost loop
    of the reduction where that is the same, so before an empty reduction, too; inner loops of other variables are
    repeated for it. Elsewhere it is a `tir.if` on the bindings of reduce variables, which are never below 0. In a block
    with an init part, an element plus a product is a fused product, as for a sum of a schedule.
    Locations: what is inserted has those of the block, for the init part those of the init; repeated loops keep theirs.

    ```mlir
    tir.for %k in 4 {
      tir.block "C" (%vi : spatial 8, %vk : reduce 4) at [%i, %k] {
        tir.init {
          tir.store %zero, %c[%vi] : f32, !tir.buffer<8xf32>
        }
        ..
      }
    }
    // becomes
    %vi = tir.index [%i] : index
    tir.store %zero, %c[%vi] : f32, !tir.buffer<8xf32>
    tir.for %k in 4 {
      %vi_1 = tir.index [%i] : index
      %vk = tir.index [%k] : index
      ..
    }
    ```
    """

    name = "tir-lower-block"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
