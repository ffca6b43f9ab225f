"""The house rules that a machine can hold: packages, direction of imports, one driver, short files."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from imports_of import ROOT, imported, modules, named, package, stated

from whence.passes.registry import PASSES

ORDER = [
    "support",
    "runtime",
    "provenance",
    "dialects",
    "syntax",
    "frontends",
    "passes",
    "te",
    "lowering",
    "planning",
    "explorer",
    "tuning",
]
"""A root folder imports only folders to its left; `src/whence` imports them all."""
FRONT = ["reading", "kernels", "executables", "compiler", "torch", "onnxruntime", "exploring", "cli", "tvm"]
"""A room of `src/whence` imports only rooms to its left, and root folders."""
FOLDERS = [name for name in ORDER if (ROOT / name).is_dir()]
TEXT = {".py", ".mlir", ".md", ".js", ".css", ".html", ".toml"}
MAX_LINES = 500
HEAVY = ["onnx", "onnxruntime", "tflite", "llvmlite", "xdsl", "numpy", "ml_dtypes"]


def sources(*folders: str) -> Iterator[Path]:
    """The text files of these folders; links and caches left out."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            linked = any(parent.is_symlink() for parent in path.parents if parent != ROOT)
            linked = linked or path.is_symlink()
            if path.suffix in TEXT and path.is_file() and not linked and "build" not in path.parts:
                yield path


def python(*folders: str) -> Iterator[Path]:
    return (path for path in sources(*folders) if path.suffix == ".py")


def test_declared_packages_are_the_packages_of_the_tree():
    settings = cast(dict[str, dict[str, dict[str, object]]], tomllib.loads((ROOT / "pyproject.toml").read_text()))
    setuptools = settings["tool"]["setuptools"]
    found = {".".join(package(path)) for path in python(*FOLDERS, "src/whence") if path.name == "__init__.py"}
    assert set(cast(list[str], setuptools["packages"])) == found
    folders = cast(dict[str, str], setuptools["package-dir"])
    assert folders == {"whence": "src/whence", **{f"whence.{name}": name for name in FOLDERS}}


def test_the_files_of_the_page_are_declared():
    settings = cast(dict[str, dict[str, dict[str, object]]], tomllib.loads((ROOT / "pyproject.toml").read_text()))
    patterns = cast(dict[str, list[str]], settings["tool"]["setuptools"]["package-data"])["whence.explorer"]
    page = ROOT / "explorer/page"
    shipped = {path for pattern in patterns for path in (ROOT / "explorer").glob(pattern)}
    left = {path.name for path in page.rglob("*") if path.is_file()} - {path.name for path in shipped}
    assert {Path(name).suffix for name in left} <= {".ts", ".json"}, "only types are of no use to a browser"


def test_every_file_has_its_types_checked():
    settings = cast(dict[str, dict[str, dict[str, object]]], tomllib.loads((ROOT / "pyproject.toml").read_text()))
    rooms = {path.name for path in (ROOT / "src/whence/tvm").iterdir() if (path / "__init__.py").exists()}
    folders = {"src/whence", *(f"src/whence/{name}" for name in {*FOLDERS, *rooms}), "tests", "benchmarks"}
    assert set(cast(list[str], settings["tool"]["pyright"]["include"])) == folders
    assert {path.parent.name for path in ROOT.glob("[!.]*/*.py")} <= {*FOLDERS, "tests", "benchmarks", "build"}


def test_every_root_folder_and_all_with_names_of_tvm_are_linked():
    links = {path.name: path.resolve() for path in (ROOT / "src/whence").iterdir() if path.is_symlink()}
    theirs = {path.name: path for path in (ROOT / "src/whence/tvm").iterdir() if not path.name.startswith("__")}
    assert links == {**theirs, **{name: ROOT / name for name in FOLDERS}}


def test_python_files_lie_in_packages():
    bare = {path.parent for path in python(*FOLDERS, "src/whence") if not (path.parent / "__init__.py").exists()}
    assert not bare


def test_imports_point_up():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for folder in FOLDERS
        for path in python(folder)
        for name in imported(path)
        if name.split(".")[1] not in ORDER[: ORDER.index(folder) + 1]
    ]
    assert not wrong


def _room(name: str) -> str:
    """The room of the front door that a module lies in; "" for one elsewhere."""
    first = [*name.split("."), ""][1]
    if first and (ROOT / "src/whence/tvm" / first).exists():
        return "tvm"
    if first and (ROOT / "src/whence/tvm" / f"{first}.py").exists():
        return "tvm"
    return first if first in FRONT else ""


def test_rooms_of_the_front_door_import_in_one_direction():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for number, room in enumerate(FRONT)
        for path in python(f"src/whence/{room}")
        for name in imported(path)
        if _room(name) in FRONT[number + 1 :]
    ]
    assert not wrong


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan), each sorted."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in number:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == number[node]:
            cut = stack.index(node)
            if len(stack) - cut > 1:
                found.append(sorted(stack[cut:]))
            del stack[cut:]

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def _home(target: str) -> str:
    """Return the module that an import is of: the target itself, or the one that has a name of it; "" for none."""
    return next((name for name in (target, target.rpartition(".")[0]) if name in modules()), "")


def _graph() -> dict[str, set[str]]:
    """Return what each module imports, in whatever way, and the passes that rows of their registry name.

    What the rooms of the front door name for later does not count, as their names stand for what is below them.
    """
    graph: dict[str, set[str]] = {}
    for name, path in modules().items():
        is_room = path.name == "__init__.py" and "src" in path.relative_to(ROOT).parts
        targets = stated(path) if is_room else imported(path)
        graph[name] = {home for target in targets if (home := _home(target)) not in ("", name)}
    graph["whence.passes.classes"] |= {f"whence.{row.home.partition(':')[0]}" for row in PASSES}
    return graph


def test_no_import_circle():
    """Imports for type checkers alone, those inside functions and those by strings count as any other."""
    assert circles(_graph()) == []


def _beside(graph: Mapping[str, set[str]], folder: Path) -> dict[str, set[str]]:
    """Return what the files and folders in a folder import of one another; a folder is one with all in it."""
    paths = modules()
    inside = {name: paths[name].relative_to(folder).parts[0] for name in graph if folder in paths[name].parents}
    beside: dict[str, set[str]] = {part: set() for part in inside.values()}
    for name, part in inside.items():
        # The file of a room's names stands for what is in it.
        if part != "__init__.py":
            beside[part] |= {inside[target] for target in graph[name] if target in inside} - {part, "__init__.py"}
    return beside


def test_folders_and_the_files_beside_them_import_in_one_direction():
    """Within each room as between rooms: no folder stands on a file or a folder that stands on it."""
    graph = _graph()
    folders = {folder for path in modules().values() for folder in path.parents if ROOT in folder.parents}
    found = {str(folder.relative_to(ROOT)): circles(_beside(graph, folder)) for folder in sorted(folders)}
    assert {folder: circle for folder, circle in found.items() if circle} == {}


def test_imports_by_strings_are_read():
    """Also those in tables, in f-strings and in stubs."""
    assert "whence.te.schedule.itervar" in named(ROOT / "te/schedule/__init__.py")
    assert {"whence.te.autodiff", "whence.te.language.math.abs"} <= set(named(ROOT / "te/__init__.py"))
    assert "whence.dialects.llvm_ext" in named(ROOT / "dialects/table.py")
    assert "whence.topi.utils" in named(ROOT / "src/whence/topi/__init__.py")
    assert "whence.relay.vm" in named(ROOT / "src/whence/__init__.py")
    assert "whence.syntax.text" in stated(ROOT / "syntax/__init__.py")


def test_circles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set[str]()}
    assert circles(graph) == [["a", "b", "c"]]
    assert circles({**graph, "c": {"d"}}) == []


def test_imports_between_folders_are_relative():
    """An absolute one would give a type checker each module twice."""
    absolute = re.compile(r"^\s*(from|import) whence\b", re.MULTILINE)
    assert not [str(path.relative_to(ROOT)) for path in python(*FOLDERS) if absolute.search(path.read_text())]


def test_only_the_driver_rewrites():
    raw = re.compile(r"\bPatternRewriteWalker\(|\bRewriter\.")
    found = [path.relative_to(ROOT).as_posix() for path in python(*FOLDERS, "src") if raw.search(path.read_text())]
    assert found in ([], ["provenance/rewrite.py"])


def test_files_are_short():
    lengths = {
        path.relative_to(ROOT).as_posix(): path.read_text().count("\n")
        for path in sources(*FOLDERS, "src", "tests", "benchmarks", "docs")
    }
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_nothing_is_left_for_later():
    marks = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")
    folders = (*FOLDERS, "src", "tests", "benchmarks", "docs")
    assert not [str(path.relative_to(ROOT)) for path in sources(*folders) if marks.search(path.read_text())]


def test_importing_whence_loads_nothing_heavy():
    script = f"import sys, whence; print(*sorted(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
