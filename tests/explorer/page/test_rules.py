"""The rules of the page's modules: short, plain, and safe with any name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whence.explorer.page_files import page_files

PAGE = Path(__file__).parents[3] / "explorer" / "page"
MODULES = sorted(PAGE.rglob("*.js"))
MAX_LINES = 250
MAX_BYTES = 450_000
"""Of modules and styles, as they are delivered."""
UNSAFE = {
    "text as HTML": r"\b(inner|outer)HTML\b|\binsertAdjacentHTML\b|\bdocument\.write|\bsrcdoc\b|\bDOMParser\b",
    "text as code": r"\beval\(|\bFunction\(|\bset(?:Timeout|Interval)\(\s*[\"'`]",
    "address of another machine": r"\b(?:https?|wss?):",
}


def test_modules_are_short():
    lengths = {path.relative_to(PAGE).as_posix(): path.read_text().count("\n") for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_the_page_is_small():
    assert sum(len(text.encode()) for text in page_files().values()) <= MAX_BYTES


def test_modules_are_delivered_without_comments_and_else_as_they_are():
    delivered = page_files()
    for path in MODULES:
        old, new = path.read_text().split("\n"), delivered[path.relative_to(PAGE).as_posix()].split("\n")
        assert len(old) == len(new), path
        gone = [line.strip() for line, left in zip(old, new, strict=True) if line != left]
        assert all(line.startswith(("//", "/*", "*")) for line in gone), path
        assert not any(line.lstrip().startswith("//") for line in new), path


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
