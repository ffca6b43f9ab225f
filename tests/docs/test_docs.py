"""The examples in README and docs run, and print what the page says.

Each page is run from top to bottom in a folder of its own: `pycon` blocks are doctests, `python` blocks are executed
(one namespace per page), and of a `console` block each `$` command runs and its output has to match what follows, `...`
standing for anything; our own tools run in this process, but for the first one of README. The lines that a `diff` takes
away are where it says. A `text` block is a table of
measurements: the paragraph above it names the script in benchmarks/ that prints such a one, with those rows.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import distribution
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from whence.cli import main as whence_command
from whence.cli import opt

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs/README.md"
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").glob("*.md") if path != INDEX)]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOOLS: dict[str, Callable[[Sequence[str]], int]] = {"whence": whence_command.main, "whence-opt": opt.main}
FIRST = "whence run light_resnet50"
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    kind: str
    text: str
    above: int
    """Number of lines above its first."""
    paragraph: str
    """The text before it, back to the block before."""


def blocks(page: Path) -> list[Block]:
    source = page.read_text()
    found: list[Block] = []
    end = 0
    for match in _BLOCK.finditer(source):
        found.append(Block(match[1], match[2], source.count("\n", 0, match.start(2)), source[end : match.start()]))
        end = match.end()
    return found


def called(tool: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> str:
    """What one of our tools prints."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = tool(arguments)
    assert code == 0, err.getvalue()
    return out.getvalue()


class Page:
    """One page as it runs."""

    def __init__(self, path: Path, folder: Path):
        self.path, self.folder = path, folder
        self.names: dict[str, object] = {"__name__": "docs"}

    def python(self, block: Block) -> None:
        # On its own lines, where `inspect` looks for the source of a function.
        exec(compile("\n" * block.above + block.text, str(self.path), "exec"), self.names)

    def pycon(self, block: Block) -> None:
        name = f"{self.path.name}:{block.above}"
        test = doctest.DocTestParser().get_doctest(block.text, self.names, name, str(self.path), block.above)
        report: list[str] = []
        doctest.DocTestRunner(optionflags=_FLAGS).run(test, out=report.append, clear_globs=False)
        self.names.update(test.globs)
        assert not report, "".join(report)

    def console(self, block: Block) -> None:
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            tool, *arguments = shlex.split(command)
            alone = tool not in TOOLS or command == FIRST
            out = self.started(tool, arguments) if alone else called(TOOLS[tool], arguments)
            checker, example = doctest.OutputChecker(), doctest.Example(command, expected)
            assert checker.check_output(expected, out, _FLAGS), checker.output_difference(example, out, _FLAGS)

    def started(self, tool: str, arguments: Sequence[str]) -> str:
        """What a program prints."""
        program = sys.executable if tool == "python" else Path(sys.executable).with_name(tool)
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, cwd=self.folder, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def diff(self, block: Block) -> None:
        """The lines that a patch of an installed package takes away are where it says."""
        name, package = re.findall(r"^--- a/((\w+)/\S+)$", block.text, re.MULTILINE)[0]
        lines = Path(str(distribution(package).locate_file(name))).read_text().splitlines()
        hunks = re.findall(r"^@@ -(\d+)\S* \S+ @@.*\n((?:[-+].*\n)*)", block.text, re.MULTILINE)
        assert hunks
        for start, changes in hunks:
            gone = [line[1:] for line in changes.splitlines() if line[0] == "-"]
            assert lines[int(start) - 1 :][: len(gone)] == gone, f"{name}:{start}"

    def text(self, block: Block) -> None:
        """Rows of measurements begin with what they are of; the script has to know those words."""
        scripts = re.findall(r"benchmarks/\w+\.py", block.paragraph)
        assert scripts, (
            f"{self.path.name}:{block.above}: expected the script that prints this table to be named above it"
        )
        known = "".join((ROOT / script).read_text() for script in scripts)
        for row in filter(None, block.text.splitlines()):
            words = re.findall(r"[A-Za-z]\w+", row.split("   ")[0])
            assert all(word in known for word in words), f"{scripts}: expected a script that prints {row!r}"


def test_all_kinds_of_blocks_are_run():
    """A block of a kind that nothing looks at would be a promise that nobody keeps."""
    kinds = {block.kind for page in PAGES for block in blocks(page)}
    assert kinds <= {"python", "pycon", "console", "diff", "text"}


def test_the_index_answers_its_questions_on_pages_that_exist():
    rows = re.findall(r"^\| (.*\?) \| `(.*)` \| \[.*?\]\((.*?)\) \|$", INDEX.read_text(), re.MULTILINE)
    assert len(rows) == 17
    pages = re.findall(r"\]\(([\w-]+\.md)(?:#([\w-]+))?\)", INDEX.read_text())
    for page, section in pages:
        titles = re.findall(r"^#+ (.*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
        assert not section or section in anchors, f"{page}#{section}"
    assert {page for page, _ in pages} == {path.name for path in PAGES[1:]}


def test_commands_of_the_index_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"\| `(whence .*?)` \|", INDEX.read_text())
    page = Page(ROOT / "docs/commands.md", tmp_path)
    # The network of that page.
    page.python(next(block for block in blocks(page.path) if block.kind == "python"))
    for command in commands:
        tool, *arguments = shlex.split(command.replace("MODEL", "net.onnx").replace("10m", "1"))
        out = called(TOOLS[tool], [*arguments, "--no-times"] if arguments[0] == "report" else arguments)
        assert out or arguments[0] in ("compile", "report"), command


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Readers are in a checkout, and take files of its tests.
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    page = Page(path, tmp_path)
    for block in blocks(path):
        getattr(page, block.kind)(block)
