"""Kernels that somebody wrote, as a build makes them: by records of tuning, by strategies, or as they are written."""

from __future__ import annotations

import logging
from typing import NamedTuple

from ...dialects.tir import PrimFuncOp
from ...support.errors import ScheduleError
from ..llvm_to_native.target import Target
from .block_space import block_space
from .by_strategies import by_strategies
from .printing import printed
from .tuned import Applied, Tuned, workload_key

_log = logging.getLogger(__name__)


class Chosen(NamedTuple):
    """A kernel with the loops that a build compiles."""

    func: PrimFuncOp
    applied: Applied | None
    """The record of tuning about it; None where there is none, or none that fits."""


def chosen(func: PrimFuncOp, target: Target, records: Tuned | None) -> Chosen:
    """The kernel by the decisions of a record about it, else by strategies, else as it is.

    Decisions that its rules do not allow are left out, with a warning that is logged.
    """
    applied = _applied(func, target, records)
    if applied is not None and applied.decisions:
        try:
            return Chosen(block_space(func, target.hardware).decided(applied.decisions), applied)
        except ScheduleError as error:
            _log.warning("%s: what was tuned, %s, is left out: %s", func.sym_name.data, applied.text, error)
            applied = None
    return Chosen(by_strategies(func, target.hardware), applied)


def _applied(func: PrimFuncOp, target: Target, records: Tuned | None) -> Applied | None:
    if records is None:
        return None
    return records.find(workload_key(printed(func)), target, lambda: block_space(func, target.hardware).space.key)
