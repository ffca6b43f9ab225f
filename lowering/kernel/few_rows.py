"""Products of open rows: code of its own for one row, as a decoder has at every step.

A tile of several rows is broadcast numbers times few vectors of weights; one row keeps the machine busy with vectors
of more columns instead. Which code runs, the call's sizes say.
"""

from __future__ import annotations

from xdsl.dialects.builtin import LocationAttr, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects import te, tir
from ...dialects.sizes import Size, same
from ...dialects.sizes.kernel import affine_map, lifted, may_be_one
from ...provenance.rewrite import rewrite
from ...support.machine import Machine
from ...te.schedule.schedule import Schedule
from ..relay_to_te.knobs import Decisions
from ..relay_to_te.stages import BYTES, TURNED
from ..relay_to_te.strategy import schedule_function
from ..te_to_tir.lower import lower_schedule

_PRODUCTS = (StringAttr("dense"), StringAttr("dense_pack"), StringAttr(BYTES))
"""The tags of products."""
_WEIGHTS = StringAttr("softmax_output")


class ReadThrough(RewritePattern):
    """The elements of a turned operand are read as they lie in memory."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: te.ReadOp, rewriter: PatternRewriter, /) -> None:
        turned = op.tensor.owner
        if not isinstance(turned, te.ComputeOp) or turned.attributes.get("tag") != StringAttr(TURNED):
            return
        (source,) = turned.reads
        places = [op.map.data.results[turned.axes.index(axis)] for axis in source.indices]
        point = source.map.data.replace_dims_and_symbols(places, [], len(op.indices), 0)
        rewriter.replace(op, te.ReadOp.make(source.tensor, point, op.indices))
        if not turned.results[0].uses:
            rewriter.erase(turned)


def lower_scheduled(
    func: te.FuncOp, machine: Machine, decisions: Decisions | None = None
) -> tuple[Schedule, tir.PrimFuncOp]:
    """The schedule of a function for a machine, and its loops, with a branch for one row of a product.

    The schedule, and the knobs that `decisions` are about, are those of many rows. `func` is consumed.
    """
    product = _open_product(func)
    single = func.clone() if product is not None else None
    schedule = schedule_function(func, machine, decisions=decisions)
    many = lower_schedule(schedule)
    if product is not None and single is not None:
        rows, location = product
        rewrite(single.body, [ReadThrough()], recursive=False)
        few = lower_schedule(schedule_function(single, machine, few_rows=True))
        branch = tir.IfOp.make(affine_map(0, (lifted(rows - 2),)), [], orelse=True)
        branch.location = location
        assert branch.orelse is not None
        values: dict[SSAValue, SSAValue] = dict(zip(few.block.args, many.block.args, strict=True))
        for source, target in ((many, branch.block), (few, branch.orelse.block)):
            ops: list[Operation] = list(source.block.ops)
            for op in ops:
                op.detach()
                is_shared = isinstance(op, tir.AllocOp) and op.result.type.scope.data == "global"
                (many.block if is_shared else target).add_op(op)
                if isinstance(op, tir.AllocOp) and is_shared and source is few:
                    _narrow(op, rows)
        for old, new in values.items():
            old.replace_all_uses_with(new)
        many.block.add_op(branch)
    return schedule, many


def _narrow(alloc: tir.AllocOp, rows: Size) -> None:
    """Let a buffer of all rows hold the only one that there is."""
    old = alloc.result.type
    shape = [1 if same(extent, rows) else extent for extent in old.get_shape()]
    new = tir.AllocOp(tir.BufferType.of(shape, old.element_type, old.scope.data))
    new.attributes.update(alloc.attributes)
    new.location, new.result.name_hint = alloc.location, alloc.result.name_hint
    assert alloc.parent is not None
    alloc.parent.insert_op_before(new, alloc)
    alloc.result.replace_all_uses_with(new.result)
    alloc.detach()
    alloc.erase()


def _open_product(func: te.FuncOp) -> tuple[Size, LocationAttr] | None:
    """The rows of a function's only product, or of attention, if there may be one or more, and where it stands."""
    computes = [op for op in func.block.ops if isinstance(op, te.ComputeOp)]
    products = [op for op in computes if op.attributes.get("tag") in _PRODUCTS]
    reductions = [op for op in computes if op.reducer is not None]
    is_attention = len(products) == 2 and any(op.attributes.get("tag") == _WEIGHTS for op in computes)
    if not is_attention and (
        len(products) != 1 or (products[0].attributes["tag"] == _PRODUCTS[0] and len(reductions) != 1)
    ):
        return None
    *_, rows, columns = products[0].shape
    return (rows, products[0].location) if may_be_one(rows) and not same(rows, columns) else None
