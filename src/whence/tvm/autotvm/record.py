"""Records of tuning as AutoTVM's programs handle them: lines there and back, the best of a file, scopes."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from contextvars import Token
from dataclasses import replace
from io import TextIOBase
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

from whence.autotvm.measure.measure import MeasureErrorNo, MeasureInput, MeasureResult
from whence.autotvm.task.dispatcher import DispatchContext
from whence.autotvm.task.space import Config, ConfigEntity
from whence.autotvm.task.task import Task, is_template, workload_key
from whence.lowering.kernel.tuned import TUNED, Tuned
from whence.lowering.llvm_to_native.target import Target
from whence.support.doors import door, doors
from whence.support.errors import PipelineError, expectation
from whence.support.files import replacing
from whence.tuning.record import LOG_VERSION, BadLine, Record, record_of, target_text
from whence.tuning.records import Records, files_of, read_lines, skipping, warn_skipped

_log = logging.getLogger(__name__)
_FAILED = 1e9
"""Seconds of a failure in a line."""
FilePath: TypeAlias = str | PathLike[str]
History: TypeAlias = "FilePath | Records | TextIOBase | Iterable[Any] | None"


@door()
def decode(row: str | bytes, protocol: str = "json") -> tuple[MeasureInput, MeasureResult] | None:
    """Return the candidate and the result in a line; None unless it is a record of AutoTVM 0.2 or one of ours."""
    _check_protocol(protocol)
    try:
        return _decoded(row)
    except BadLine:
        return None


def _decoded(row: str | bytes) -> tuple[MeasureInput, MeasureResult]:
    """Return the record in a line of AutoTVM; raises the errors of `record_of`."""
    record: Record | None = None
    try:
        record = record_of(row)
    except BadLine as error:
        if str(error) != "of AutoTVM":
            raise
    try:
        data = cast("dict[str, Any]", json.loads(row))
        if data["version"] != LOG_VERSION:
            raise BadLine("of another version")
        target, name, args, kwargs = data["input"]
        costs, error_no, all_cost, timestamp = data["result"]
        config = data["config"]
        entity = ConfigEntity.from_json_dict(config)
        result = MeasureResult(tuple(map(float, costs)), int(error_no), float(all_cost), float(timestamp))
        return MeasureInput(str(target), Task(str(name), tuple(args), dict(kwargs)), entity, record), result
    except (LookupError, TypeError, ValueError) as error:
        raise BadLine("incomplete") from error


@door()
def encode(inp: MeasureInput, result: MeasureResult, protocol: str = "json") -> str:
    """The line of a candidate and its result. Raises PipelineError for values that no line has."""
    _check_protocol(protocol)
    if inp.record is not None:
        return measured(inp.record, result).line
    task = inp.task
    costs = [_FAILED] if result.error_no else list(result.costs)
    row = {
        "input": [_target(inp.target), task.name, task.args, task.kwargs],
        "config": inp.config.to_json_dict(),
        "result": [costs, *result[1:]],
        "version": LOG_VERSION,
        "tvm_version": "0.14.0",
    }
    try:
        return json.dumps(row)
    except (TypeError, ValueError) as error:
        raise PipelineError(expectation("autotvm.record", "arguments that JSON has", str(error))) from error


@door()
def measure_str_key(inp: MeasureInput, include_config: bool = True) -> str:
    """The text of a candidate by which it is told from others."""
    config = str(inp.config) if include_config else ""
    return f"{_target(inp.target)}{inp.task.name}{workload_key(inp.task.args)}{inp.task.kwargs}{config}"


def _target(target: Any) -> str:
    return target_text(target) if isinstance(target, Target) else str(target)


def measured(record: Record, result: MeasureResult) -> Record:
    """A record with the numbers of a result."""
    return replace(record, costs=result.costs, all_cost=result.all_cost, timestamp=result.timestamp)


@door()
def load_from_file(filepath: str | PathLike[str]) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """Return the candidates and results of a file; a warning counts other lines.

    Raises FrontendError if the file cannot be read.
    """
    return iter([(inp, result) for _, inp, result in _loaded(Path(filepath))])


def _loaded(path: Path) -> list[tuple[bytes, MeasureInput, MeasureResult]]:
    """Yield the lines of a file with their records; raises the errors of `load_from_file`."""
    reasons, loaded = Counter[str](), list[tuple[bytes, MeasureInput, MeasureResult]]()
    for line in read_lines(path, reasons):
        try:
            loaded.append((line, *_decoded(line)))
        except BadLine as error:
            reasons[str(error)] += 1
    if reasons:
        _log.warning("%s: %d records, %s", path, len(loaded), skipping(reasons))
    return loaded


@door()
def pick_best(in_file: str | PathLike[str], out_file: str | PathLike[str]) -> None:
    """Write the lines of a file that decide something to another, which is replaced.

    Of each kernel, machine and compiler that is the newest winner; of AutoTVM's lines, of each target and task the
    fastest. Raises FrontendError where the file cannot be read, PipelineError where the other cannot be written.
    """
    best: dict[object, tuple[float, bytes]] = {}
    for line, inp, result in _loaded(Path(in_file)):
        record = inp.record
        if record is None:
            if result.error_no or not result.costs:
                continue
            key, rank = (inp.target, *inp.task.workload), -sum(result.costs) / len(result.costs)
        elif record.kind == "winner":
            key, rank = (record.workload, record.space, record.machine, record.compiler), record.timestamp
        else:
            continue
        if key not in best or rank >= best[key][0]:
            best[key] = rank, line
    with replacing(Path(out_file)) as stream:
        stream.writelines(line + b"\n" for _, line in best.values())


@doors()
class ApplyHistoryBest(DispatchContext):
    """A scope for `relay.build`, `whence.compile` and others, and for templates, which take decisions from records.

    records: a file or folder, `Records`, an open text, pairs of MeasureInput and MeasureResult, or several of these.
    Kernels take what the innermost scope has. Templates take the fastest line of their arguments, of this target
    before others. tasks: names of tasks beside the templates whose lines are asked for. Raises FrontendError for an
    unreadable file, and PipelineError for anything else.
    """

    def __init__(self, records: History = None, tasks: Iterable[str] = ()):
        super().__init__()
        self._tasks = frozenset(tasks)
        self.records = Records()
        self._best: dict[Any, dict[str, tuple[float, ConfigEntity]]] = {}
        self._kernels: list[Token[Tuned | None]] = []
        self.load(records)

    def load(self, records: History) -> None:
        """Add records. Errors as for the class."""
        more: list[Record] = []
        for inp, result in _pairs(records, more, self._tasks):
            if inp.record is not None:
                more.append(inp.record)
            elif not result.error_no and result.costs:
                best = self._best.setdefault(inp.task.workload, {})
                seconds, target = sum(result.costs) / len(result.costs), _target(inp.target)
                if target not in best or seconds < best[target][0]:
                    best[target] = seconds, inp.config
        self.records = Records([*self.records.records, *more])

    def query(self, target: Target | None, workload: Any) -> Config | None:
        """Return the fastest configuration of a template's workload; None where there is none."""
        if (own := super().query(target, workload)) is not None:
            return own
        best = self._best.get(workload_key(workload))
        if not best:
            return None
        _, config = best.get(_target(target), min(best.values(), key=lambda each: each[0]))
        return config

    def __enter__(self) -> ApplyHistoryBest:
        super().__enter__()
        self._kernels.append(TUNED.set(self.records))
        return self

    def __exit__(self, *exception: object) -> None:
        TUNED.reset(self._kernels.pop())
        super().__exit__(*exception)


apply_history_best = ApplyHistoryBest


def _pairs(history: Any, records: list[Record], tasks: Set[str]) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """The candidates and results of a history; `records` takes in what is no line."""
    match history:
        case None:
            return
        case Records():
            records += history.records
        case str() | PathLike():
            yield from _of_file(Path(cast("FilePath", history)), tasks)
        case TextIOBase():
            yield from (pair for line in history if (pair := decode(line)) is not None)
        case (MeasureInput() as inp, MeasureResult() as result):
            yield inp, result
        case _:
            try:
                parts = iter(history)
            except TypeError as error:
                expected = "files, or pairs of MeasureInput and MeasureResult"
                raise PipelineError(expectation("apply_history_best", expected, repr(history))) from error
            for part in parts:
                yield from _pairs(part, records, tasks)


def _of_file(path: Path, tasks: Set[str]) -> list[tuple[MeasureInput, MeasureResult]]:
    """The lines of a file or folder; one warning counts those that decide nothing."""
    reasons, pairs = Counter[str](), list[tuple[MeasureInput, MeasureResult]]()
    for file in files_of(path):
        for line in read_lines(file, reasons):
            try:
                pair = _decoded(line)
            except BadLine as error:
                reasons[str(error)] += 1
                continue
            pairs.append(pair)
            if pair[0].record is None and not (pair[0].task.name in tasks or is_template(pair[0].task.name)):
                reasons["of AutoTVM"] += 1
    warn_skipped(path, Records([inp.record for inp, _ in pairs if inp.record is not None], reasons))
    return pairs


def _check_protocol(protocol: str) -> None:
    if protocol != "json":
        raise PipelineError(expectation("autotvm.record", "protocol json", repr(protocol)))


__all__ = ["ApplyHistoryBest", "MeasureErrorNo", "MeasureInput", "MeasureResult", "apply_history_best"]
