"""Callbacks of tuners by AutoTVM's names."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from io import TextIOBase
from os import PathLike
from typing import Any

from whence.autotvm.measure.measure import MeasureInput, MeasureResult
from whence.autotvm.record import encode, measured
from whence.support.errors import PipelineError, expectation
from whence.tuning.records import append_lines

Callback = Callable[[Any, Sequence[MeasureInput], Sequence[MeasureResult]], None]
"""Takes a tuner, candidates, and their results."""


def log_to_file(file_out: str | PathLike[str] | TextIOBase, protocol: str = "json") -> Callback:
    """Return a callback that appends lines to a file or an open text: `callback(tuner, inputs, results)`.

    Of kernels only valid measurements are kept. The callback raises PipelineError where the file cannot be written.
    """
    if protocol != "json":
        raise PipelineError(expectation("log_to_file", "protocol json", repr(protocol)))

    def log(tuner: object, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        lines: list[str] = []
        for inp, result in zip(inputs, results, strict=True):
            if inp.record is None:
                lines.append(encode(inp, result))
            elif not result.error_no:
                lines.append(measured(inp.record, result).line)
        if isinstance(file_out, TextIOBase):
            file_out.writelines(f"{line}\n" for line in lines)
        else:
            append_lines(file_out, lines)

    return log


class Monitor:
    """A callback that keeps the speed and time of each trial."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.timestamps: list[float] = []

    def __call__(self, tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, result in zip(inputs, results, strict=True):
            seconds = sum(result.costs) / len(result.costs) if not result.error_no else 0.0
            self.scores.append(inp.task.flop / seconds if seconds else 0.0)
            self.timestamps.append(result.timestamp)

    def reset(self) -> None:
        """Forget all trials."""
        self.scores.clear()
        self.timestamps.clear()

    def trial_scores(self) -> list[float]:
        """Operations per second of each trial, 0 for a failure."""
        return list(self.scores)

    def trial_timestamps(self) -> list[float]:
        """Return the time of each trial, in seconds since 1970."""
        return list(self.timestamps)


def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> Callback:
    """Return a callback that prints a line on stderr for each batch: trials, the best speed, seconds."""
    start, done, best = time.monotonic(), 0, 0.0

    def show(tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        nonlocal done, best
        done += len(inputs)
        for inp, result in zip(inputs, results, strict=True):
            if not result.error_no:
                best = max(best, inp.task.flop * len(result.costs) / sum(result.costs))
        speed = f"{best / SCALES[si_prefix]:.2f} {si_prefix}FLOPS"
        print(f"{prefix} best {speed} | {done}/{total} | {time.monotonic() - start:.2f} s", file=sys.stderr, flush=True)

    return show


SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
"""Prefixes of units."""
