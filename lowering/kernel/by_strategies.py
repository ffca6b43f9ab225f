"""Kernels that somebody wrote and no schedule made, with loops by the compiler's strategies."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr

from ...dialects.sizes import UndecidedSize
from ...dialects.tir import SCHEDULED, PrimFuncOp
from ...support.context import PassContext
from ...support.errors import ScheduleError
from ...support.machine import Machine
from ...te.schedule.schedule import Schedule
from ..relay_to_te.packing import prepare
from ..relay_to_te.strategy import CHOSEN, schedule_by_rows
from ..te_to_tir.lower import lower_schedule
from ..tir_to_te.nests import NotRaised
from ..tir_to_te.raising import raised

_AS_WRITTEN = ("tir.instrument_bound_checkers", "tir.add_lower_pass", "tir.debug_keep_trivial_loop")
"""Options under which passes of one's own, or checks of bounds, expect the loops as written."""


def by_strategies(func: PrimFuncOp, machine: Machine) -> PrimFuncOp:
    """A kernel with loops by the compiler's strategies, if its loops are surely tensor expressions; else itself.

    The rows that its stages are scheduled by are its attribute `raised`.
    """
    option = PassContext.current().option
    if SCHEDULED in func.attributes or not option("tir.raise_kernels") or any(map(option, _AS_WRITTEN)):
        return func
    try:
        schedule = schedule_by_rows(Schedule(prepare(raised(func))), machine)
        rows = schedule.sequence.attributes.get(CHOSEN)
        lowered = lower_schedule(schedule)
    except (NotRaised, ScheduleError, UndecidedSize):
        # The loops as written are right, whatever no strategy can schedule.
        return func
    lowered.attributes.update(func.attributes)
    lowered.attributes["raised"] = rows if rows is not None else DictionaryAttr({})
    return lowered
