"""Products of open rows: code of its own for one row, as a decoder has at every step.

A tile of several rows is broadcast numbers times few vectors of weights; one row keeps the machine busy with vectors
of more columns instead. Which code runs, the call's sizes say.
"""

from __future__ import annotations

from xdsl.dialects.builtin import LocationAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import te, tir
from ...dialects.sizes import Size, SizeExpr
from ...dialects.sizes.kernel import affine_map, at_least, lifted
from ...support.machine import Machine
from ...te.schedule.schedule import Schedule
from ..relay_to_te.knobs import Decisions
from ..relay_to_te.strategy import schedule_function
from ..te_to_tir.lower import lower_schedule


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
        few = lower_schedule(schedule_function(single, machine, few_rows=True))
        branch = tir.IfOp.make(affine_map(0, (lifted(rows - 2),)), [], orelse=True)
        branch.location = location
        assert branch.orelse is not None
        values: dict[SSAValue, SSAValue] = dict(zip(few.block.args, many.block.args, strict=True))
        for source, target in ((many, branch.block), (few, branch.orelse.block)):
            ops: list[Operation] = list(source.block.ops)
            for op in ops:
                op.detach()
            target.add_ops(ops)
        for old, new in values.items():
            old.replace_all_uses_with(new)
        many.block.add_op(branch)
    return schedule, many


def _open_product(func: te.FuncOp) -> tuple[Size, LocationAttr] | None:
    """The rows of a product with a packed weight, if there may be one or more of them, and where it stands."""
    for op in func.block.ops:
        if isinstance(op, te.ComputeOp) and op.attributes.get("tag") == StringAttr("dense_pack"):
            rows = op.shape[0]
            return (rows, op.location) if isinstance(rows, SizeExpr) and not at_least(rows, 2) else None
    return None
