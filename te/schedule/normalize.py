"""A schedule ready for lowering: without inlined stages, and with each stage attached to an existing loop."""

from __future__ import annotations

from .inline import inline_stages
from .stage_state import Attach, StageState
from .stage_table import StageTable


def normalize(schedule: StageTable[StageState]) -> None:
    """Inline the stages marked so and attach each to the loop that its axis became; in place.

    An axis that was split since is its inner part, one that was fused the fused loop.
    """
    inline_stages(schedule)
    for stage in schedule.stages:
        if stage.attach is not None:
            stage.placed = Attach(stage.attach.stage, stage.attach.loop)
