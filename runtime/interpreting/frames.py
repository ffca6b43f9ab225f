"""A stack of frames, as plain data, on which regions run: Python does not recurse, however deep a program nests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator

from .flow import Environment, Region, Run, Step, Value


class Frame:
    """A running region.

    depth: the number of calls that wait for it.
    """

    __slots__ = ("at", "control", "depth", "region", "values")

    def __init__(self, region: Region, values: Environment, depth: int = 0):
        self.region = region
        self.values = values
        self.at = 0
        """The position of the next step; while another region runs for a step, of that step."""
        self.control: Generator[Environment, list[Value], list[Value]] | None = None
        """The continuation of a step that runs several regions in turn, which receives their outputs."""
        self.depth = depth

    def results(self) -> list[Value]:
        near, values = self.values.values, self.values
        return [near[name] if name in near else values[name] for name in self.region.outputs]


class Machine(ABC):
    """A machine that runs regions; subclasses define what a step does."""

    @abstractmethod
    def advance(self, frame: Frame, step: Step, run: Run) -> Frame | None:
        """Do `step`, the next one of `frame`; return the frame of a region that has to run for it, if there is one."""

    @abstractmethod
    def resume(self, frame: Frame, results: list[Value]) -> Frame | None:
        """Pass the current step the outputs of the region that ran for it; return the frame of another, if any."""

    def execute(self, frame: Frame, run: Run) -> list[Value]:
        """Run a region and return its outputs."""
        waiting: list[Frame] = []
        while True:
            steps = frame.region.steps
            if frame.at < len(steps):
                inner = self.advance(frame, step := steps[frame.at], run)
                tail = step.tail
            elif not waiting:
                return frame.results()
            else:
                results = frame.results()
                frame = waiting.pop()
                inner, tail = self.resume(frame, results), False
            if inner is not None:
                if not tail:
                    waiting.append(frame)
                frame = inner
