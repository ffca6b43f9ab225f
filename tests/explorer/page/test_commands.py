"""Commands, Python and FileCheck tests that the page copies run: made of a recorded session, as the page makes them."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from explored_models import twins
from filecheck.main import main as filecheck
from node import node

from whence.cli.main import main as whence
from whence.cli.opt import main as whence_opt
from whence.explorer.session.document import Session
from whence.explorer.session.file import write
from whence.explorer.session.text import column, text_of_stage
from whence.exploring.record import record

_TOOLS: dict[str, Callable[[list[str]], int]] = {"whence": whence, "whence-opt": whence_opt}
_COPIED = """
import { readFileSync } from "node:fs";
import { commandsOf, fileCheck, stageBefore } from "whence/copying/commands";
const { session, subject, added, before } = JSON.parse(readFileSync(process.argv[1], "utf8"));
const all = JSON.parse(readFileSync(session, "utf8"));
const commands = Object.fromEntries(commandsOf(all, subject).map(({ id, text }) => [id, text]));
console.log(JSON.stringify(added ? { test: fileCheck(all, subject.stage, before, added) } : commands));
"""


class Copied:
    """A session in a file, and what the page copies of it."""

    def __init__(self, folder: Path):
        self.folder = folder
        model = folder / "net.onnx"
        model.write_bytes(twins().SerializeToString())
        self.session: Session = record(model)
        write(folder / "net.json", self.session)

    def of(self, stage: int, line: int = 0, layer: str = "", **texts: list[str]) -> dict[str, str]:
        """Return what is copied of a subject, by kind."""
        asked = self.folder / "asked.json"
        subject = {"stage": stage, "line": line, "layer": layer}
        asked.write_text(json.dumps({"session": str(self.folder / "net.json"), "subject": subject, **texts}))
        return cast(dict[str, str], json.loads(node(asked, source=_COPIED)))

    def stage(self, level: str, *, last: bool = True) -> int:
        """Return the last stage of a level, or the first that a pass made."""
        rows = [k for k, row in enumerate(self.session.stages) if row.level == level]
        return rows[-1] if last else next(k for k in rows if self.session.stages[k].diff)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Copied:
    return Copied(tmp_path_factory.mktemp("it's a model"))


def _output(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    tool, *arguments = shlex.split(command)
    capsys.readouterr()
    assert not _TOOLS[tool](arguments)
    return capsys.readouterr().out.splitlines()


def _plain(text: str) -> str:
    """A text whatever its values are called, and wherever it breaks."""
    return " ".join(re.sub(r"%\w+", "%", text).split())


@pytest.mark.parametrize("last", [True, False])
def test_the_passes_up_to_a_stage_make_its_text(copied: Copied, last: bool, capsys: pytest.CaptureFixture[str]):
    stage = copied.stage("relay", last=last)
    printed = "\n".join(_output(copied.of(stage)["opt"], capsys))
    assert _plain(printed) == _plain("\n".join(text_of_stage(copied.session, stage)))


def test_the_passes_of_a_kernel_run(copied: Copied, capsys: pytest.CaptureFixture[str]):
    printed = _output(copied.of(copied.stage("tir", last=False))["opt"], capsys)
    assert any("tir.prim_func" in line for line in printed)


def test_a_line_and_a_layer_are_asked_for(copied: Copied, capsys: pytest.CaptureFixture[str]):
    stage = copied.stage("tir")
    commands = copied.of(stage, 3, "bn1")
    text = _plain(f"line 3: {text_of_stage(copied.session, stage)[2]}")
    assert any(_plain(line)[:30] == text[:30] for line in _output(commands["why"], capsys))
    assert _output(commands["where"], capsys)[0].startswith("layer bn1 ")
    assert any("relu2" in line for line in _output(copied.of(stage)["where"], capsys))


@pytest.mark.parametrize("level", ["te", "schedule", "tir", "llvm", "asm"])
def test_the_code_of_a_kernel_is_shown(copied: Copied, level: str, capsys: pytest.CaptureFixture[str]):
    stage = copied.stage(level)
    printed = _plain(" ".join(_output(copied.of(stage)["show"], capsys)))
    assert _plain(text_of_stage(copied.session, stage)[2]) in printed


@pytest.mark.parametrize(("level", "last"), [("relay", False), ("tir", False), ("asm", True)])
def test_python_prints_the_text(copied: Copied, level: str, last: bool):
    stage = copied.stage(level, last=last)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(copied.of(stage)["python"], cast(dict[str, Any], {}))
    assert _plain(text_of_stage(copied.session, stage)[3]) in _plain(out.getvalue())


@pytest.mark.parametrize("level", ["relay", "tir"])
def test_a_test_of_a_pass_passes(copied: Copied, level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    session, stage = copied.session, copied.stage(level, last=False)
    row, lines = session.stages[stage], text_of_stage(session, stage)
    assert row.diff is not None
    new = set(row.diff.new)
    added = [text for text, op in zip(lines, column(row.body.ops), strict=True) if op in new]
    text = copied.of(stage, before=text_of_stage(session, row.before), added=added)["test"]
    path = tmp_path / "test.mlir"
    path.write_text(text)
    command, _, checked = text.splitlines()[0].removeprefix("// RUN: ").replace("%s", str(path)).partition(" | ")
    printed = tmp_path / "printed.mlir"
    printed.write_text("\n".join(_output(command, capsys)))
    assert added
    with pytest.raises(SystemExit) as end:
        filecheck([*shlex.split(checked), "--input-file", str(printed)])
    assert end.value.code == 0
