"""Tuners that go through the numbers of configurations."""

from __future__ import annotations

from whence.autotvm.task.space import ConfigEntity
from whence.autotvm.task.task import Task
from whence.autotvm.tuner.tuner import Tuner
from whence.support.errors import PipelineError, expectation


class IndexBaseTuner(Tuner):
    """A tuner of the configurations in a range of numbers. range_idx: the first and the last; by default all.

    Raises PipelineError for a range beside the space.
    """

    def __init__(self, task: Task, range_idx: tuple[int, int] | None = None):
        super().__init__(task)
        self.begin_idx, last = range_idx or (0, self.space.range_length - 1)
        self.end_idx = last + 1
        if not 0 <= self.begin_idx < self.end_idx <= self.space.range_length:
            expected = f"a range within 0 to {self.space.range_length - 1}"
            raise PipelineError(expectation(type(self).__name__, expected, str(range_idx)))
        self.range_length = self.end_idx - self.begin_idx
        self.visited_max = self.space.subrange_length(self.begin_idx, self.end_idx)

    def has_next(self) -> bool:
        return len(self.visited) < self.visited_max


class GridSearchTuner(IndexBaseTuner):
    """All configurations in the order of their numbers."""

    def __init__(self, task: Task, range_idx: tuple[int, int] | None = None):
        super().__init__(task, range_idx)
        self.index: int | None = self.space.get_next_index(self.begin_idx - 1, start=self.begin_idx, end=self.end_idx)

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        chosen: list[ConfigEntity] = []
        while self.index is not None and len(chosen) < batch_size:
            if self.index not in self.visited:
                self.visited.add(self.index)
                chosen.append(self.space.get(self.index))
            self.index = self.space.get_next_index(self.index, start=self.begin_idx, end=self.end_idx)
        return chosen


class RandomTuner(IndexBaseTuner):
    """All configurations in a random order, the same in each run."""

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        chosen: list[ConfigEntity] = []
        while len(chosen) < batch_size and self.has_next():
            index = self.space.get_rand_index(self.begin_idx, self.end_idx, self.visited)
            if index is None:
                break
            self.visited.add(index)
            chosen.append(self.space.get(index))
        return chosen
