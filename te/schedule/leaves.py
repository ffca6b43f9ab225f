"""The loops of a stage as a list."""

from __future__ import annotations

from typing import SupportsIndex, cast

from ..language.expr import Axis
from .itervar import IterVar
from .stage_state import StageState
from .stage_table import StageTable


class LeafIterVars(list[IterVar]):
    """The loops of a stage. An axis of the te operation counts as the loop that it is."""

    def __init__(self, stage: StageState, table: StageTable[StageState]):
        super().__init__(stage.leaf)
        self.stage, self.table = stage, table

    def _loop(self, axis: object) -> object:
        position = self.table.place_of(axis) if isinstance(axis, Axis) else None
        if position is None or position[0] is not self.stage:
            return axis
        roots = [*self.stage.axes, *self.stage.reduce_axes]
        return roots[position[1]] if position[1] < len(roots) else axis

    def __contains__(self, axis: object) -> bool:
        return super().__contains__(self._loop(axis))

    def index(self, axis: object, *bounds: SupportsIndex) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The position of a loop; raises ValueError for what is none."""
        return super().index(cast(IterVar, self._loop(axis)), *bounds)
