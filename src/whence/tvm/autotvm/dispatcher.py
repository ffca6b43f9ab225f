"""The scope in which compiling takes decisions from records: `autotvm.apply_history_best`."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import Token
from os import PathLike
from typing import TypeAlias, cast

from whence.autotvm.record import MeasureInput, MeasureResult
from whence.lowering.kernel.tuned import TUNED, Tuned
from whence.support.doors import doors
from whence.support.errors import PipelineError, expectation
from whence.tuning.record import Record
from whence.tuning.records import Records

FilePath: TypeAlias = str | PathLike[str]
History: TypeAlias = FilePath | Records | Iterable[FilePath | tuple[MeasureInput, MeasureResult]] | None


@doors()
class ApplyHistoryBest:
    """A scope for `relay.build`, `whence.compile` and others; only the innermost scope counts.

    records: a file or folder, `Records`, several files, or pairs from `record.load_from_file`. Raises FrontendError for
    an unreadable file, and PipelineError for anything else.
    """

    def __init__(self, records: History = None):
        self.records = Records()
        self._tokens: list[Token[Tuned | None]] = []
        self.load(records)

    def load(self, records: History) -> None:
        """Add records. Errors as for the class."""
        more = [record for part in _parts(records) for record in part]
        self.records = Records([*self.records.records, *more])

    def __enter__(self) -> ApplyHistoryBest:
        self._tokens.append(TUNED.set(self.records))
        return self

    def __exit__(self, *_exception: object) -> None:
        TUNED.reset(self._tokens.pop())


apply_history_best = ApplyHistoryBest


def _parts(records: History) -> Iterable[Iterable[Record]]:
    """The records of each part of a history."""
    if records is None:
        return
    if isinstance(records, Records):
        yield records.records
    elif isinstance(records, str | PathLike):
        yield Records.load(records).records
    else:
        for each in cast("Iterable[object]", records):
            match each:
                case str() | PathLike():
                    yield Records.load(cast("FilePath", each)).records
                case (MeasureInput() as measured, MeasureResult()):
                    yield [measured.record] if measured.record is not None else []
                case _:
                    expected = "files, or pairs of MeasureInput and MeasureResult"
                    raise PipelineError(expectation("apply_history_best", expected, repr(each)))
