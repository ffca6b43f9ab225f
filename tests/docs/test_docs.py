"""The examples in README and docs run, and print what the page says.

`pycon` blocks are doctests, `python` blocks are executed before them (one namespace per page), and of a `console` block
each `$` command runs and its output has to match what follows, `...` standing for anything.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path, *kinds: str) -> list[tuple[str, str, int]]:
    """Kind, text and number of lines above, of each block of some kinds."""
    source = page.read_text()
    found = [(match[1], match[2], source.count("\n", 0, match.start(2))) for match in _BLOCK.finditer(source)]
    return [block for block in found if block[0] in kinds]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python(page: Path) -> None:
    names: dict[str, object] = {"__name__": "docs"}
    runner = doctest.DocTestRunner(optionflags=_FLAGS)
    for kind, text, above in blocks(page, "python", "pycon"):
        if kind == "python":
            # On its own lines, where `inspect` looks for the source of a function.
            exec(compile("\n" * above + text, str(page), "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(text, names, f"{page.name}:{above}", str(page), above)
        report: list[str] = []
        runner.run(test, out=report.append, clear_globs=False)
        names.update(test.globs)
        assert not report, "".join(report)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param(page, text, id=f"{page.name}-{i}")
        for page in PAGES
        for i, (_, text, _) in enumerate(blocks(page, "console"))
    ],
)
def test_console(page: Path, text: str) -> None:
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        tool, *arguments = shlex.split(command)
        program = Path(sys.executable).with_name(tool)
        result = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=300)
        assert result.returncode == 0, result.stderr
        checker = doctest.OutputChecker()
        example = doctest.Example(command, expected)
        assert checker.check_output(expected, result.stdout, _FLAGS), checker.output_difference(
            example, result.stdout, _FLAGS
        )
