"""A genetic search: the numbers of a configuration's knobs are its genes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whence.autotvm.measure.measure import MeasureInput, MeasureResult
from whence.autotvm.task.space import ConfigEntity
from whence.autotvm.task.task import Task
from whence.autotvm.tuner.tuner import Tuner


class GATuner(Tuner):
    """Generations of configurations: the fastest stay, and others are mixed of two of them, with random changes.

    pop_size: configurations of a generation. elite_num: those of the best so far that are parents, too.
    mutation_prob: the part of genes that change at random.
    """

    def __init__(self, task: Task, pop_size: int = 100, elite_num: int = 3, mutation_prob: float = 0.1):
        super().__init__(task)
        self.pop_size = min(pop_size, len(self.space))
        self.elite_num = min(elite_num, self.pop_size)
        self.mutation_prob = mutation_prob
        self.genes: list[list[int]] = [self.space.point2knob(index) for index in self.space.sample_ints(self.pop_size)]
        self.scores: dict[int, float] = {}
        """Number of a configuration -> its speed."""
        self.trial_pt = 0
        """The next gene of this generation."""
        self._rng = np.random.default_rng(0)
        self.visited.update(map(self.space.knob2point, self.genes))

    def has_next(self) -> bool:
        return self.trial_pt < len(self.genes) or len(self.visited) < len(self.space)

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        if self.trial_pt >= len(self.genes):
            self._breed()
        genes = self.genes[self.trial_pt : self.trial_pt + batch_size]
        self.trial_pt += len(genes)
        return [self.space.get(self.space.knob2point(gene)) for gene in genes]

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, result in zip(inputs, results, strict=True):
            speed = 0.0 if result.error_no else inp.task.flop * len(result.costs) / sum(result.costs)
            self.scores[inp.config.index] = speed

    def _breed(self) -> None:
        """Make the next generation, of configurations that were not measured."""
        ranked = sorted(self.scores, key=lambda index: (-self.scores[index], index))
        pool = [self.space.knob2point(gene) for gene in self.genes]
        parents = [index for index in dict.fromkeys([*ranked[: self.elite_num], *pool]) if index in self.scores]
        weights = np.array([self.scores[index] for index in parents]) + 1e-9
        dims, children = self.space.dims, list[list[int]]()
        for _ in range(min(self.pop_size, len(self.space) - len(self.visited))):
            pair: list[int] = self._rng.choice(len(parents), 2, p=weights / weights.sum()).tolist()
            mixed = zip(*(self.space.point2knob(parents[parent]) for parent in pair), strict=True)
            gene = [genes[int(self._rng.integers(2))] for genes in mixed]
            for at, dim in enumerate(dims):
                if self._rng.random() < self.mutation_prob:
                    gene[at] = int(self._rng.integers(dim))
            index = self.space.knob2point(gene)
            if index in self.visited or not self.space.is_index_valid(index):
                other = self.space.get_rand_index(to_exclude=self.visited)
                if other is None:
                    break
                index = other
            self.visited.add(index)
            children.append(self.space.point2knob(index))
        self.genes, self.trial_pt = children, 0
