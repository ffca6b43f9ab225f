"""Callbacks of tuners by AutoTVM's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike

from whence.autotvm.record import MeasureInput, MeasureResult, measured
from whence.support.errors import PipelineError, expectation
from whence.tuning.record import Record
from whence.tuning.records import append

Callback = Callable[[object, Sequence[MeasureInput], Sequence[MeasureResult]], None]
"""Takes a tuner, which is not asked anything, candidates, and their results."""


def log_to_file(file_out: str | PathLike[str], protocol: str = "json") -> Callback:
    """Return a callback that appends valid measurements to a file: `callback(tuner, inputs, results)`.

    The callback raises PipelineError where the file cannot be written, and for candidates of TVM's own schedules.
    """
    if protocol != "json":
        raise PipelineError(expectation("log_to_file", "protocol json", repr(protocol)))

    def log(tuner: object, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        records: list[Record] = []
        for inp, result in zip(inputs, results, strict=True):
            if result.error_no:
                continue
            if inp.record is None:
                actual = f"one of AutoTVM's, '{inp.task.name}'"
                raise PipelineError(expectation("log_to_file", "candidates of whence", actual))
            records.append(measured(inp.record, result))
        append(file_out, records)

    return log
