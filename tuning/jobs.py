"""Jobs for measuring: candidates for a kernel, the default one, and inputs; and what comes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..lowering.llvm_to_native.thread_pool import pool_object
from ..runtime.loading.measuring import CODE, POOL
from ..runtime.loading.outcomes import Failed as Failed
from ..runtime.loading.outcomes import JobHead, JobKernel
from ..runtime.loading.outcomes import Measured as Measured
from ..runtime.loading.outcomes import Outcome as Outcome
from ..runtime.loading.outcomes import Protocol as Protocol
from ..runtime.loading.package import packed
from ..runtime.loading.sealed import seal
from ..runtime.values.tensors import TensorSpec
from ..support.dtypes import Array
from .machines import Facts, target_of

_LEAST = 4
"""Candidates of a part: each part runs the default kernel anew."""


@dataclass(frozen=True)
class Code:
    """A compiled kernel: `void @symbol(ptr inputs.., ptr outputs.., i64 sizes.., ptr workspace, ptr pool)`."""

    symbol: str
    object: bytes
    workspace: int = 0
    """Bytes of scratch that a call needs."""
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Job:
    """Candidates for one kernel, to be measured with the same inputs."""

    inputs: tuple[Array, ...]
    """In the order of the kernel's arguments."""
    weights: tuple[int, ...]
    """The numbers of inputs that are weights: their values are those of every call."""
    outputs: tuple[TensorSpec, ...]
    default: Code
    candidates: tuple[Code, ...]
    protocol: Protocol
    machine: Facts
    """The machine that the kernels are for: `machines.machine_here()`, or one of a pool (`Pool.machines`)."""

    def packed(self) -> bytes:
        """Return the job as sealed bytes (see `runtime.loading`). Raises PipelineError for an unknown machine."""
        codes = (self.default, *self.candidates)
        head = JobHead(
            codes=tuple(JobKernel(code.symbol, code.workspace, code.sizes) for code in codes),
            weights=self.weights,
            outputs=tuple((spec.shape, spec.dtype) for spec in self.outputs),
            protocol=self.protocol,
            machine=dict(self.machine),
        )
        objects = {f"{CODE}{number}": code.object for number, code in enumerate(codes)}
        arrays = [np.asarray(array, order="C") for array in self.inputs]
        specs = [TensorSpec("", array.shape, array.dtype) for array in arrays]
        parts = {POOL: pool_object(target_of(self.machine)), **objects}
        content = b"".join(packed(head, parts, specs, arrays))
        return content + seal(memoryview(content))


class Part(NamedTuple):
    """Candidates of a job, from `first` to before `end`, that are measured in one go."""

    job: int
    first: int
    end: int


def parts(jobs: Sequence[Job], workers: int) -> list[Part]:
    """Divide jobs so that `workers` share each of them."""
    divided: list[Part] = []
    for number, job in enumerate(jobs):
        count = len(job.candidates)
        size = max(_LEAST, -(-count // max(workers, 1)))
        divided += [Part(number, first, min(first + size, count)) for first in range(0, count, size)]
    return divided


class Collection:
    """The outcomes of jobs as they come in, part by part."""

    def __init__(self, jobs: Sequence[Job]):
        self._outcomes: list[list[Outcome | None]] = [[None] * len(job.candidates) for job in jobs]

    def add(self, part: Part, outcomes: Sequence[Outcome]) -> tuple[int, tuple[Outcome, ...]] | None:
        """Take in what came of a part; returns the number and all outcomes of its job when that is done."""
        row = self._outcomes[part.job]
        row[part.first : part.end] = outcomes
        done = tuple(outcome for outcome in row if outcome is not None)
        return (part.job, done) if len(done) == len(row) else None
