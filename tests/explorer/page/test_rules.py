"""The rules of the page's modules: short, plain, and safe with any name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "explorer" / "page"
MODULES = sorted(PAGE.rglob("*.js"))
MAX_LINES = 250
MAX_BYTES = 480_000
UNSAFE = {
    "text as HTML": r"\b(inner|outer)HTML\b|\binsertAdjacentHTML\b|\bdocument\.write|\bsrcdoc\b|\bDOMParser\b",
    "text as code": r"\beval\(|\bFunction\(|\bset(?:Timeout|Interval)\(\s*[\"'`]",
    "address of another machine": r"\b(?:https?|wss?):",
}


def test_modules_are_short():
    lengths = {path.relative_to(PAGE).as_posix(): path.read_text().count("\n") for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_modules_are_small_together():
    assert sum(path.stat().st_size for path in MODULES) <= MAX_BYTES


@pytest.mark.parametrize("what", UNSAFE)
def test_nothing_unsafe(what: str):
    files = [path for path in PAGE.rglob("*") if path.suffix in (".js", ".css", ".html")]
    lines = [
        f"{path.relative_to(PAGE)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(UNSAFE[what], line.replace("http://www.w3.org/", ""))
    ]
    assert not lines


def test_modules_import_by_name():
    """As the server and the offline file give each module an address of their own."""
    imports = re.compile(
        r"^\s*(?:import|export)\b[^\"'`;]*?\bfrom\s*[\"']([^\"']+)|^\s*import\s*[\"']([^\"']+)", re.MULTILINE
    )
    wrong = {
        f"{path.relative_to(PAGE)} imports {name}"
        for path in MODULES
        for name in (first or second for first, second in imports.findall(path.read_text()))
        if not (name.startswith("whence/") and (PAGE / f"{name.removeprefix('whence/')}.js").is_file())
    }
    assert not wrong


def test_styles_of_one_class_stand_in_one_file():
    """Two views that both call something a bar would dress each other's."""
    homes: dict[str, set[str]] = {}
    for path in PAGE.rglob("*.css"):
        for name in re.findall(r"^(\.[\w-]+) \{", path.read_text(), re.MULTILINE):
            homes.setdefault(name, set()).add(path.name)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
