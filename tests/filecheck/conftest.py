"""Runs the `// RUN:` lines of `*.mlir` and `*.relay` as pytest items, the tools in process: no Python starts per test.

A RUN line means what it means to lit: `|`, `&&`, `not`, redirections, `%s` (the file), `%p` (its folder),
`%t` (a scratch path). Other programs, and other shell syntax, run as subprocesses.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest._code.code import ExceptionInfo

_RUN = re.compile(r"\bRUN:(.*)$", re.MULTILINE)
_TOKEN = re.compile(r"""\s*(2>&1|2>|>>|>|<|&&|\|(?!\|)|(?:[^\s|&;<>"'`$()]|"[^"]*"|'[^']*')+)""")
_REDIRECTIONS = ("2>", ">>", ">", "<")
_SHOWN_LINES = 120
CRASH = 134
"""The exit code of a tool that an exception left, which `not` takes for no refusal."""
# These change state of the whole process.
_SUBPROCESS_FLAGS = {"--disable-verify", "--syntax-highlight"}


def _xdsl_opt(args: Sequence[str]) -> int:
    from xdsl.xdsl_opt_main import xDSLOptMain

    xDSLOptMain(args=list(args)).run()
    return 0


def _whence_opt(args: Sequence[str]) -> int:
    from whence.cli.opt import main

    return main(list(args))


def _filecheck(args: Sequence[str]) -> int:
    from filecheck.main import main

    main(["filecheck", *args])
    return 0


_TOOLS: dict[str, Callable[[Sequence[str]], int]] = {
    "filecheck": _filecheck,
    "whence-opt": _whence_opt,
    "xdsl-opt": _xdsl_opt,
}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def _words() -> list[str]:
    return []


@dataclass
class Command:
    """One program of a pipeline."""

    words: list[str] = field(default_factory=_words)
    merge: bool = False
    """Whether stderr goes where stdout goes."""
    files: dict[str, str] = field(default_factory=lambda: dict[str, str]())

    def run(self, stdin: str) -> Outcome:
        words = list(self.words)
        negated = False
        while words and words[0] in ("not", "!"):
            negated, words = not negated, words[1:]
        if "<" in self.files:
            stdin = Path(self.files["<"]).read_text()
        in_process = words[0] in _TOOLS and not _SUBPROCESS_FLAGS.intersection(words)
        code, out, err = _call(words, stdin, self.merge) if in_process else _spawn(words, stdin, self.merge)
        for operator, mode in ((">", "w"), (">>", "a")):
            if operator in self.files:
                with open(self.files[operator], mode) as file:
                    file.write(out)
                out = ""
        if "2>" in self.files:
            Path(self.files["2>"]).write_text(err)
        # A tool that breaks down did not refuse anything.
        return Outcome(int(code == 0) if negated and code != CRASH else code, out, err)


def _call(words: Sequence[str], stdin: str, merge: bool) -> Outcome:
    """Run one of our tools in this process."""
    out = io.StringIO()
    err = out if merge else io.StringIO()
    saved, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin.encode()))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = _TOOLS[words[0]](words[1:])
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
            except Exception:
                traceback.print_exc(file=err)
                # What xdsl-opt finds wrong it raises; ours tells, and gives 1.
                code = CRASH if words[0] == "whence-opt" else 1
    finally:
        sys.stdin = saved
    return Outcome(code, out.getvalue(), "" if merge else err.getvalue())


def _spawn(words: Sequence[str], stdin: str, merge: bool) -> Outcome:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    try:
        done = subprocess.run(
            words,
            input=stdin,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge else subprocess.PIPE,
            env={**os.environ, "PATH": path},
            timeout=120,
        )
    except FileNotFoundError:
        return Outcome(127, "", f"{words[0]}: command not found\n")
    return Outcome(done.returncode, done.stdout, done.stderr or "")


def parse(line: str) -> list[list[Command]] | None:
    """The pipelines of a RUN line, joined by `&&`; None for syntax that only a shell knows."""
    pipelines = [[Command()]]
    position = 0
    while line[position:].strip():
        if (token := _TOKEN.match(line, position)) is None:
            return None
        position = token.end()
        command = pipelines[-1][-1]
        match token[1]:
            case "|":
                pipelines[-1].append(Command())
            case "&&":
                pipelines.append([Command()])
            case "2>&1":
                command.merge = True
            case operator if operator in _REDIRECTIONS:
                if (name := _TOKEN.match(line, position)) is None:
                    return None
                command.files[operator] = shlex.split(name[1])[0]
                position = name.end()
            case word:
                command.words.extend(shlex.split(word))
    complete = all(command.words for pipeline in pipelines for command in pipeline)
    return pipelines if complete else None


def run_lines(text: str) -> list[str]:
    """The RUN lines of a test; one that ends in a backslash goes on in the next."""
    lines: list[str] = []
    continued = False
    for found in _RUN.finditer(text):
        part = found[1].strip()
        more = part.endswith("\\")
        part = part.removesuffix("\\").strip()
        if continued:
            lines[-1] += " " + part
        else:
            lines.append(part)
        continued = more
    return lines


def substitute(line: str, path: Path, scratch: str) -> str:
    table = {"%s": str(path), "%S": str(path.parent), "%p": str(path.parent), "%t": scratch, "%%": "%"}
    return re.sub(r"%[sSpt%]", lambda found: table[found[0]], line)


class RunFailed(Exception):
    """A RUN line failed; the text shows every program of it and what it said."""


def _excerpt(title: str, text: str) -> list[str]:
    lines = text.rstrip().splitlines()
    if not lines:
        return []
    shown = [f"    {line}" for line in lines[:_SHOWN_LINES]]
    if len(lines) > _SHOWN_LINES:
        shown.append(f"    ... {len(lines) - _SHOWN_LINES} more lines")
    return [f"  {title}:", *shown]


def execute(line: str) -> None:
    """Run one substituted RUN line; raises RunFailed when a program of it fails."""
    pipelines = parse(line)
    if pipelines is None:
        pipelines = [[Command(["bash", "-o", "pipefail", "-c", line])]]
    for pipeline in pipelines:
        report: list[str] = [f"RUN: {line}"]
        stdin, failed = "", False
        for command in pipeline:
            outcome = command.run(stdin)
            report.append(f"$ {shlex.join(command.words)}    exit code {outcome.code}")
            report += _excerpt("output", outcome.out) + _excerpt("errors", outcome.err)
            stdin, failed = outcome.out, failed or outcome.code != 0
        if failed:
            raise RunFailed("\n".join(report))


class MlirTest(pytest.Item):
    """The RUN lines of one file."""

    def runtest(self) -> None:
        lines = run_lines(self.path.read_text())
        if not lines:
            raise RunFailed(f"{self.path}: expected a line `// RUN: ...`, found none")
        with tempfile.TemporaryDirectory(prefix="whence-lit-") as folder:
            for line in lines:
                execute(substitute(line, self.path, f"{folder}/{self.path.name}.tmp"))

    def repr_failure(self, excinfo: ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, RunFailed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"lit: {self.path.name}"


class MlirFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield MlirTest.from_parent(self, name="lit")  # pyright: ignore[reportUnknownMemberType]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in (".mlir", ".relay"):
        return None
    return MlirFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]
