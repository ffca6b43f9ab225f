"""Files of records: written by many at once, and read by compiling, which never measures.

A file is a line per measured candidate (`record.py`). Whoever compiles takes of a kernel the newest winner

- *exact*: of the same kernel, machine and compiler; else
- *borrowed*: of the same kernel and the same knobs, by another compiler, or on a machine with vectors as wide and a
  second-level cache that is half to twice as large; of several those of this machine first; else
- the default.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import IO, cast

from ..lowering.kernel.tuned import TUNED, Applied, Source, Tuned
from ..lowering.llvm_to_native.target import Target
from ..support.errors import FrontendError, PipelineError, expectation
from ..support.machine import Machine
from .record import THEIRS, BadLine, Record, compiler_key, machine_key, record_of

try:
    import fcntl
except ImportError:  # no such system
    fcntl = None

_log = logging.getLogger(__name__)

SUFFIXES = (".json", ".jsonl")
"""The files of a folder that are read."""
_LONGEST = 1 << 20
"""Bytes of the longest line that is read."""


class Records:
    """Records of tuning, in the order in which they were written; they are what `whence.compile` takes as `tuned`.

    records: from a program. skipped: reason -> the number of lines that are no records.
    """

    def __init__(self, records: Iterable[Record] = (), skipped: Mapping[str, int] | None = None):
        self.records = tuple(records)
        self.reasons = dict(skipped or {})
        """Why lines were skipped, `broken` or `of AutoTVM`, and how many of each."""
        self.other_machine = 0
        """The number of records of another machine than they were loaded for."""
        self._winners: dict[str, list[Record]] = {}
        for record in self.records:
            if record.kind == "winner":
                self._winners.setdefault(record.workload, []).append(record)

    @property
    def skipped(self) -> int:
        """The number of lines that are no records."""
        return sum(self.reasons.values())

    def __len__(self) -> int:
        return len(self.records)

    def __bool__(self) -> bool:
        return True

    @property
    def winners(self) -> tuple[Record, ...]:
        """The records that decide something."""
        return tuple(record for record in self.records if record.kind == "winner")

    @staticmethod
    def load(path: str | PathLike[str], target: Target | None = None) -> Records:
        """The records of a file, or of all .json and .jsonl files of a folder, in the order of their names.

        target: the machine that others are counted beside, `other_machine`; this one by default.
        Lines that are no records are skipped, counted in `reasons`, and one warning is logged about all of them.
        Raises FrontendError for what is not there or cannot be read.
        """
        place, reasons = Path(path), Counter[str]()
        records = Records(
            _parsed_all((line for file in files_of(place) for line in read_lines(file, reasons)), reasons), reasons
        )
        target = target or Target.native()
        here = machine_key(target.hardware, target)
        records.other_machine = sum(record.machine != here for record in records.records)
        warn_skipped(place, records)
        return records

    @staticmethod
    def of_lines(lines: Iterable[str]) -> Records:
        """The records of lines; errors are counted, as `load` does."""
        reasons = Counter[str]()
        return Records(_parsed_all(lines, reasons), reasons)

    def find(self, workload: str, target: Target, space: Callable[[], str]) -> Applied | None:
        """Return the decisions of the newest winner of the best source; None: the default. Arguments as in `Tuned`."""
        if not (winners := self._winners.get(workload)):
            return None
        machine = target.hardware
        here, compiler = machine_key(machine, target), compiler_key()
        exact = [record for record in winners if record.machine == here and record.compiler == compiler]
        if exact:
            return _applied(_newest(exact), "exact")
        usable = [record for record in winners if record.machine == here or _is_like(record, machine)]
        if not usable:
            return None
        key = space()
        usable = [record for record in usable if record.space == key]
        own = [record for record in usable if record.machine == here]
        return _applied(_newest(own or usable), "borrowed") if usable else None

    def lines(self) -> list[str]:
        """The winners as lines of a file: all that `find` looks at."""
        return [record.line for record in self.winners]

    def __str__(self) -> str:
        """`12 records, 3 lines skipped (2 broken, 1 of AutoTVM), 4 of another machine`."""
        texts = [f"{len(self)} record{'s' * (len(self) != 1)}", *([skipping(self.reasons)] if self.reasons else [])]
        if self.other_machine:
            texts.append(f"{self.other_machine} of another machine")
        return ", ".join(texts)


def records_of(tuned: object, target: Target, what: str) -> Tuned | None:
    """The records that an argument `tuned` of `what` means; of None those of the scope, if any.

    Raises PipelineError for what is no file, folder or records.
    """
    if tuned is None:
        return TUNED.get()
    if isinstance(tuned, str | PathLike):
        return Records.load(cast("str | PathLike[str]", tuned), target)
    if not isinstance(tuned, Tuned):
        raise PipelineError(f"{what}: expected a file, a folder or Records as tuned, got {tuned!r}")
    return tuned


def skipping(reasons: Mapping[str, int]) -> str:
    """`3 lines skipped (2 broken, 1 of AutoTVM)`."""
    total, texts = sum(reasons.values()), (f"{number} {reason}" for reason, number in sorted(reasons.items()))
    return f"{total} line{'s' * (total != 1)} skipped ({', '.join(texts)})"


def warn_skipped(place: Path, records: Records) -> None:
    """Log one warning about the lines of a file or folder that are no records; none where all are."""
    if records.skipped:
        theirs = "; TVM's records are of its own schedules, and decide nothing here"
        _log.warning("%s: %s%s", place, records, theirs if records.reasons.keys() & THEIRS else "")


def append(path: str | PathLike[str], records: Sequence[Record]) -> None:
    """Write records at the end of a file, as `append_lines` does. Raises PipelineError for one that makes no line."""
    append_lines(path, [record.line for record in records])


def append_lines(path: str | PathLike[str], texts: Sequence[str]) -> None:
    """Write lines at the end of a file, all or, where that fails, none; a new file is made.

    Any number of processes may write to one file: each line is one write, in turn. Of a writer that is killed the line
    that it was at may be torn; the next one begins its own on another line. Raises PipelineError where the file cannot
    be written.
    """
    lines = [text.encode() for text in texts]
    if not lines:
        return
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        try:
            _write(handle, lines)
        finally:
            os.close(handle)
    except OSError as error:
        raise PipelineError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}") from error


def _write(handle: int, lines: Sequence[bytes]) -> None:
    """Write lines at the end of an open file, or none. Raises OSError."""
    is_alone = False
    if fcntl is not None:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
            is_alone = True
    end = os.fstat(handle).st_size
    is_torn = end > 0 and os.pread(handle, 1, end - 1) != b"\n"
    try:
        for number, line in enumerate(lines):
            left = b"\n" * (is_torn and not number) + line + b"\n"
            while left:
                left = left[os.write(handle, left) :]
    except OSError:
        if is_alone:
            with suppress(OSError):
                os.ftruncate(handle, end)
        raise


def files_of(path: Path) -> list[Path]:
    """The files of a path. Raises FrontendError where there are none."""
    try:
        if not path.is_dir():
            return [path]
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    except OSError as error:
        raise _unreadable(path, error) from error
    if not files:
        expected = f"a file of records, or a folder with such in {' or '.join(SUFFIXES)}"
        raise FrontendError(expectation(str(path), expected, "a folder without"))
    return files


def read_lines(path: Path, reasons: Counter[str]) -> Iterator[bytes]:
    """The lines of a file but empty ones and comments, `#`; those that are too long are counted instead.

    Raises FrontendError where it cannot be read.
    """
    try:
        # Not blocking: one that is a pipe must not hold us up.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise OSError(errno.EINVAL, "a device or pipe")
            for line in _lines(stream):
                if line is None:
                    reasons["too long"] += 1
                elif (text := line.strip()) and not text.startswith(b"#"):
                    yield text
    except OSError as error:
        raise _unreadable(path, error) from error


def _lines(stream: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of a file; None for one that is too long."""
    while line := stream.readline(_LONGEST):
        if len(line) < _LONGEST or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(_LONGEST)
        yield None


def _parsed_all(lines: Iterable[str | bytes], reasons: Counter[str]) -> list[Record]:
    """The records of lines; lines that are none are counted."""
    records: list[Record] = []
    for line in lines:
        try:
            records.append(record_of(line))
        except BadLine as error:
            reasons[str(error)] += 1
    return records


def _unreadable(path: Path, error: OSError) -> FrontendError:
    return FrontendError(expectation(str(path), "a file of records of tuning", error.strerror or str(error)))


def _is_like(record: Record, machine: Machine) -> bool:
    """Return whether a machine is like that of a record in what tiles and blocks are made for."""
    return record.facts["vector_bits"] == machine.vector_bits and (
        machine.l2 <= 2 * record.facts["l2"] and record.facts["l2"] <= 2 * machine.l2
    )


def _newest(records: Sequence[Record]) -> Record:
    """The newest record; of equals that written last."""
    return max(reversed(records), key=lambda record: record.timestamp)


def _applied(record: Record, source: Source) -> Applied:
    return Applied(record.decisions, source, record.ratio)
