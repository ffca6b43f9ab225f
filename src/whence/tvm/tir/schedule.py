"""Schedules of blocks by TVM's names: handles and the error of a primitive that does not fit."""

from __future__ import annotations

from typing import Any

from whence.support.errors import ScheduleError as ScheduleError
from whence.support.rooms import homes_in, name_in
from whence.te.blocks.state import BlockRV as BlockRV
from whence.te.blocks.state import LoopRV as LoopRV
from whence.te.blocks.trace import Trace as Trace
from whence.te.schedule.choices import Choice

SBlockRV = BlockRV
ExprRV = Choice


def __getattr__(name: str) -> Any:
    return name_in(__name__, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *homes_in(__name__)])
