"""The knobs of the compiler's own schedules as a space of configurations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from whence.autotvm.task.space import ConfigEntity, ConfigSpace
from whence.lowering.relay_to_te.knobs import Space


class KernelSpace(ConfigSpace):
    """The space of a kernel's knobs; its legal points are the valid configurations."""

    def __init__(self, own: Space):
        super().__init__()
        for knob in own.knobs:
            self.define_knob(knob.name, knob.candidates)
        self._own = own
        self.multi_filter(self._goes)

    @cached_property
    def space(self) -> Space:
        return self._own

    def subrange_length(self, start: int, end: int) -> int:
        if (start, end) == (0, self.range_length):
            return len(self.space.points())
        return super().subrange_length(start, end)

    def decisions(self, config: ConfigEntity) -> dict[str, int]:
        """The decisions of a configuration that are other than by default."""
        knobs = self._own.knobs
        return {knob.name: config[knob.name].val for knob in knobs if config[knob.name].val != knob.default}

    def _goes(self, values: Mapping[str, Any]) -> bool:
        numbers = {name: entity.val for name, entity in values.items()}
        knobs = self._own.knobs
        if all(numbers[knob.name] == knob.default for knob in knobs):
            return True
        return all(bool(knob.allows(numbers)) for knob in knobs)
