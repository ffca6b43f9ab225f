"""Heat: the times of a document add up, and are those that `whence profile` tells of the same measurement."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest
from explored_models import bert

import whence
from whence.cli.main import main
from whence.executables.executable import Executable
from whence.explorer.session.document import Session
from whence.explorer.session.text import text_of_stage
from whence.exploring.measuring import Wishes
from whence.exploring.record import record
from whence.reading.arrays import default_inputs


class Measured(NamedTuple):
    """A measurement, told twice."""

    session: Session
    profile: Any


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    path = tmp_path_factory.mktemp("model") / "bert.onnx"
    path.write_bytes(bert(layers=2, tokens=64, width=64, heads=4).SerializeToString())
    executable = whence.compile(path, threads=1)
    inputs = default_inputs(executable.inputs)
    samples = executable.sample(inputs, 0.3)
    times = executable.times(inputs, samples=samples)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Executable, "sample", Mock(return_value=samples))
        patch.setattr(Executable, "times", Mock(return_value=times))
        session = record(path, wishes=Wishes(seconds=1), threads=1)
        with redirect_stdout(StringIO()) as printed:
            assert main(["profile", str(path), "--json"]) == 0
    return Measured(session, json.loads(printed.getvalue()))


def test_parts_add_up(measured: Measured):
    (times,) = measured.session.times
    total = sum(times.calls)
    assert total > 0
    assert sum(seconds for _, seconds, _ in times.layers) == pytest.approx(total, rel=0.01)
    for spent, parts in zip(times.calls, times.parts, strict=True):
        assert sum(seconds for _, seconds in parts) == pytest.approx(spent, rel=0.01)


def test_layers_and_calls_are_those_of_the_profile(measured: Measured):
    session, (times,) = measured.session, measured.session.times
    layers = [(session.layers.name[row] if row >= 0 else None, seconds) for row, seconds, _ in times.layers]
    assert layers == [(entry["layer"], entry["seconds"]) for entry in measured.profile["layers"]]
    calls = zip((call.name for call in session.calls), times.calls, strict=True)
    assert [*calls] == [(entry["call"], entry["seconds"]) for entry in measured.profile["calls"]]
    assert times.runs == measured.profile["runs"]


def test_samples_of_lines_are_those_of_the_profile(measured: Measured):
    session, (times,) = measured.session, measured.session.times
    of_tir: Counter[tuple[str, int]] = Counter()
    of_level: Counter[tuple[str, int]] = Counter()
    for row in times.lines:
        of_level[session.stages[row.stage].level, row.call] += sum(row.samples)
        if session.stages[row.stage].level == "tir":
            name, text = session.calls[row.call].name, text_of_stage(session, row.stage)
            for line, count in zip(row.line, row.samples, strict=True):
                of_tir[name, line] += count
                said = [entry for entry in measured.profile["lines"] if (entry["call"], entry["line"]) == (name, line)]
                assert not line or [entry["tir"] for entry in said] == [text[line - 1].strip()]
    assert of_tir == Counter({(row["call"], row["line"]): row["samples"] for row in measured.profile["lines"]})
    for number, entry in enumerate(measured.profile["calls"]):
        for level in ("tir", "asm"):
            assert of_level[level, number] == pytest.approx(entry["samples"], rel=0.01)
