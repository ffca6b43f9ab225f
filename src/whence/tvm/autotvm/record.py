"""Lines of tuning records as AutoTVM's programs handle them: decoded, encoded, and the best of a file."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, cast

from whence.support.doors import door
from whence.support.errors import PipelineError, expectation
from whence.support.files import replacing
from whence.tuning.record import LOG_VERSION, BadLine, Record, record_of
from whence.tuning.records import read_lines, skipping

_log = logging.getLogger(__name__)


class Task(NamedTuple):
    """A kernel."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class ConfigEntity:
    """Numbers of knobs."""

    index: int
    code_hash: str | None
    entity: list[list[Any]]
    """Knob, AutoTVM's kind of it (`ot`: a number out of several), and its value."""


class MeasureInput(NamedTuple):
    """A candidate."""

    target: str
    task: Task
    config: ConfigEntity
    record: Record | None = None
    """All of the line; None for one of AutoTVM's own."""


class MeasureResult(NamedTuple):
    """The result of measuring a candidate."""

    costs: tuple[float, ...]
    """Seconds of a call."""
    error_no: int
    all_cost: float
    timestamp: float


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
        entity = ConfigEntity(config["index"], config["code_hash"], config["entity"])
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
    row = {
        "input": [inp.target, *inp.task],
        "config": asdict(inp.config),
        "result": list(result),
        "version": LOG_VERSION,
        "tvm_version": "0.14.0",
    }
    return json.dumps(row)


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
            key, rank = json.dumps([inp.target, *inp.task]), -sum(result.costs) / len(result.costs)
        elif record.kind == "winner":
            key, rank = (record.workload, record.space, record.machine, record.compiler), record.timestamp
        else:
            continue
        if key not in best or rank >= best[key][0]:
            best[key] = rank, line
    with replacing(Path(out_file)) as stream:
        stream.writelines(line + b"\n" for _, line in best.values())


def _check_protocol(protocol: str) -> None:
    if protocol != "json":
        raise PipelineError(expectation("autotvm.record", "protocol json", repr(protocol)))
