"""The way a kernel may fuse, read off the tensor expressions that it is raised to."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects import te
from ...dialects.relay.call_tir import PATTERN, KernelAttr, calls_of
from ...dialects.relay.signature import as_tensor
from ...dialects.relay.traits import OpPattern
from ...dialects.sizes import Size, same, same_shape
from ...dialects.sizes.types import extents_of
from ...dialects.tir import SCHEDULED, PrimFuncOp
from ...support.identity import while_alive
from .nests import NotRaised
from .raising import raised


def note_patterns(module: ModuleOp) -> None:
    """Note on each call of a kernel how it may fuse."""
    patterns: dict[KernelAttr, OpPattern] = {}
    for op in calls_of(module):
        kernel = op.kernel
        if kernel not in patterns:
            patterns[kernel] = op_pattern(kernel.data) if not op.signature_indices() else OpPattern.OPAQUE
        op.attributes[PATTERN] = IntegerAttr(int(patterns[kernel]), i64)


@while_alive
def expressions_of(func: PrimFuncOp) -> te.FuncOp | None:
    """Return the tensor expressions that a kernel computes, which are not to be changed, nor is a kernel from then on.

    None where its loops are scheduled, or more than those.
    """
    if SCHEDULED in func.attributes:
        return None
    try:
        return raised(func)
    except NotRaised:
        return None


def op_pattern(func: PrimFuncOp) -> OpPattern:
    """Return the pattern of a kernel: that of its loops as an operator, opaque where they are not surely one."""
    body = expressions_of(func)
    if body is None or len(body.return_op.operands) != 1:
        return OpPattern.OPAQUE
    *ops, _ = body.block.ops
    stages = [op for op in ops if isinstance(op, te.ComputeOp)]
    if not stages or len(stages) < len(ops):
        return OpPattern.OPAQUE
    reductions = [stage for stage in stages if stage.reducer is not None]
    if not reductions:
        return max(map(_pattern, stages))
    if len(reductions) > 1 or stages[0] is not reductions[0]:
        return OpPattern.OPAQUE
    (product,) = reductions
    if len({read.tensor for read in product.reads}) == 1 and len(stages) == 1:
        return OpPattern.COMM_REDUCE if _reads_once(product) else OpPattern.OPAQUE
    behind = all(_pattern(stage) <= OpPattern.BROADCAST for stage in stages[1:])
    is_product = isinstance(product.yielded.owner, arith.MulfOp | arith.MuliOp)
    return OpPattern.OUT_ELEMWISE_FUSABLE if behind and is_product else OpPattern.OPAQUE


def _pattern(stage: te.ComputeOp) -> OpPattern:
    """The pattern of a stage without a reduction."""
    if not _reads_once(stage):
        return OpPattern.OPAQUE
    kinds = [OpPattern.ELEMWISE, *(_kind(read, stage) for read in stage.reads)]
    return max(kinds)


def _reads_once(stage: te.ComputeOp) -> bool:
    """Return whether an element needs one element of each tensor: another would be computed several times in it."""
    points: dict[object, Sequence[object]] = {}
    return all(
        points.setdefault(read.tensor, (read.map, *read.indices)) == (read.map, *read.indices) for read in stage.reads
    )


def _kind(read: te.ReadOp, stage: te.ComputeOp) -> OpPattern:
    shape = extents_of(as_tensor(read.tensor))
    # The only element of an axis is the one for any index.
    varied = [expr for expr, extent in zip(read.map.data.results, shape, strict=True) if not _is_at_only(expr, extent)]
    indices = [read.indices[expr.position] if isinstance(expr, AffineDimExpr) else None for expr in varied]
    axes = [stage.axes.index(index) if index in stage.axes else -1 for index in indices]
    if -1 in axes or axes != sorted(set(axes)):
        return OpPattern.INJECTIVE
    return OpPattern.ELEMWISE if same_shape(shape, stage.shape) else OpPattern.BROADCAST


def _is_at_only(expr: AffineExpr, extent: Size) -> bool:
    return same(extent, 1) and isinstance(expr, AffineConstantExpr)
