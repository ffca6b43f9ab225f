"""The modules of ours that a file imports, in whatever way: statements, strings, tables and stubs of names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LOADERS = ("import_module", "__import__")
"""Functions that import what a string names."""


def package(path: Path) -> list[str]:
    """Return the package of a file: `dialects/relay/nn.py` -> whence, dialects, relay."""
    parts = list(path.relative_to(ROOT).parent.parts)
    if parts[:3] == ["src", "whence", "tvm"] and path != ROOT / "src/whence/tvm/__init__.py":
        return ["whence", *parts[3:]]
    return parts[1:] if parts[0] == "src" else ["whence", *parts]


def imported(path: Path) -> list[str]:
    """Return the full names that a file imports, at once or later."""
    return [*stated(path), *named(path)]


@cache
def stated(path: Path) -> list[str]:
    """Return the full names in `import` statements, those of inner functions and for type checkers included."""
    return list(_statements(path))


@cache
def named(path: Path) -> list[str]:
    """Return the full names of what a file imports by a string, or has its stub name.

    A string that is the full name of a module (`whence.relay.vm`, or `whence.objects:convert` with a name in it) counts
    in any file. Where `import_module` is called, each string of the file counts that names a module relative to the
    package, or that completes an f-string such as `f"whence.relay.{name}"`.
    """
    stub = path.with_suffix(".pyi")
    return [*_strings(path), *(_statements(stub) if stub.exists() else ())]


def _statements(path: Path) -> Iterator[str]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "whence")
        elif isinstance(node, ast.ImportFrom):
            module = [*_base(path, node.level), *(node.module.split(".") if node.module else [])]
            if module and module[0] == "whence":
                yield from (".".join([*module, alias.name]) for alias in node.names)


def _strings(path: Path) -> Iterator[str]:
    texts = {
        node.value.partition(":")[0]
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    beginnings = {"", *_beginnings(path)}
    for text in sorted(texts):
        for beginning in sorted(beginnings):
            if name := _full_name(path, beginning + text):
                yield name


def _full_name(path: Path, text: str) -> str:
    """Return the name of the module that a text names, seen from a file; "" if there is no such module."""
    level = len(text) - len(text.lstrip("."))
    if level == len(text) or (level and not _calls(path)):
        return ""
    name = ".".join([*_base(path, level), text[level:]]).strip(".")
    return name if "." in name and name in modules() else ""


def _base(path: Path, level: int) -> list[str]:
    """Return the package that so many leading dots mean."""
    return package(path)[: 1 - level or None] if level else []


def _beginnings(path: Path) -> Iterator[str]:
    """Return what f-strings that are imported begin with."""
    own = ".".join([*package(path), *([] if path.stem == "__init__" else [path.stem])])
    values = {"__name__": own, "__package__": ".".join(package(path))}
    for call in _calls(path):
        if call.args and isinstance(text := call.args[0], ast.JoinedStr):
            beginning = ""
            for part in text.values:
                if isinstance(part, ast.Constant):
                    beginning += str(part.value)
                elif isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
                    if part.value.id not in values:
                        break
                    beginning += values[part.value.id]
                else:
                    break
            yield beginning


def _calls(path: Path) -> list[ast.Call]:
    """Return the calls of functions that import what a string names."""
    return [
        node
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call)
        and (node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")) in _LOADERS
    ]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def modules() -> Mapping[str, Path]:
    """Return the files of all modules by full names; a package is its `__init__.py`."""
    files = [path for folder in (*_folders(), "src/whence") for path in sorted((ROOT / folder).rglob("*.py"))]
    inside = [path for path in files if not any(part.is_symlink() for part in (path, *path.parents) if part != ROOT)]
    return {".".join([*package(path), *([] if path.stem == "__init__" else [path.stem])]): path for path in inside}


def _folders() -> list[str]:
    """Return the root folders: those that `src/whence` links to."""
    return [path.name for path in (ROOT / "src/whence").iterdir() if path.resolve().parent == ROOT]
