"""`--tuned`: where models are compiled, by both its names, and what answers say of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tuning_records import winners

import whence as compiler
from whence.explorer.session.file import read
from whence.tuning.records import append


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]


@pytest.fixture
def tuned(tiny: Path, tmp_path: Path) -> tuple[Path, dict[str, int]]:
    """Records for the tiny model, and the decisions about its kernel."""
    (record,) = winners(compiler.compile(tiny, threads=1))
    append(tmp_path / "tuned.jsonl", [record])
    return tmp_path / "tuned.jsonl", dict(record.decisions)


def test_why_says_what_was_decided(whence: Tool, tiny: Path, tuned: tuple[Path, dict[str, int]]):
    path, decisions = tuned
    text = ", ".join(f"{name} = {number}" for name, number in sorted(decisions.items()))
    line = f"\ntuned: {text} (exact, 1.25 times as fast as the default when measured)\n"
    for option in ("--tuned", "--tuning-records"):
        done = whence("why", tiny, option, path, "--kernel", 0)
        assert done.code == 0, done.err
        assert line in done.out
    data = json.loads(whence("why", tiny, "--tuned", path, "--kernel", 0, "--json").out)
    assert data["tuned"] == {"decisions": decisions, "source": "exact", "ratio": 1.25}
    assert "\ntuned" not in whence("why", tiny, "--kernel", 0).out


def test_a_file_keeps_what_was_decided(whence: Tool, tiny: Path, tmp_path: Path, tuned: tuple[Path, dict[str, int]]):
    file = tmp_path / "tiny.tar"
    done = whence("compile", tiny, "--tuned", tuned[0], "-o", file)
    assert done.code == 0, done.err
    assert "1 distinct kernel, 1 tuned and 0 borrowed; compiled in" in done.out
    assert "(exact, 1.25 times as fast" in whence("why", file, "--kernel", 0).out
    late = whence("why", file, "--tuned", tuned[0])
    assert late.code == 1
    assert "--tuned: expected a model that is not compiled yet, got" in late.err


@pytest.mark.parametrize("command", [["run"], ["bench", "--repeat", 1], ["profile", "--seconds", 0]])
def test_every_command_that_compiles_takes_it(
    whence: Tool, tiny: Path, tuned: tuple[Path, dict[str, int]], command: list[Any]
):
    done = whence(*command, tiny, "--tuned", tuned[0])
    assert done.code == 0, done.err


def test_a_report_has_it(whence: Tool, tiny: Path, tmp_path: Path, tuned: tuple[Path, dict[str, int]]):
    done = whence("report", tiny, "--tuned", tuned[0], "--no-times", "-o", tmp_path / "session.json")
    assert done.code == 0, done.err
    (kernel,) = read(tmp_path / "session.json").kernels
    assert "(exact, 1.25 times as fast as the default when measured)" in kernel.tuned


def test_what_is_no_file_is_one_line(whence: Tool, tiny: Path, tmp_path: Path):
    done = whence("run", tiny, "--tuned", tmp_path / "none")
    assert done.code == 1
    assert done.err.splitlines()[-1].endswith(
        "none: expected a file of records of tuning, got No such file or directory"
    )
