"""The key of a kernel changes with all that shapes its code."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.dialects.builtin import TensorType, f32

from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.lowering import fingerprint
from whence.lowering.kernel import key
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.llvm_to_native.thread_pool import pool_object

ROOT = Path(__file__).parents[2]


def _is_ours(path: Path) -> bool:
    return path.is_file() and path.is_relative_to(ROOT)


def imports(path: Path) -> Iterator[Path]:
    """The files of ours that a file imports, wherever in it, and those of the packages around them."""
    left: list[ast.AST] = [ast.parse(path.read_text())]
    while left:
        node = left.pop()
        # Statements alone: no expression holds an import.
        left += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for place in (base, *(base / alias.name for alias in node.names)):
                yield from (p for p in (place.with_suffix(".py"), place / "__init__.py") if _is_ours(p))


def reached(start: Path) -> set[Path]:
    # What compilers of others make is not kept.
    found, left = set[Path](), [path for path in start.rglob("*.py") if "external" not in path.parts]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += imports(path)
    return found


def test_all_that_lowering_imports_is_hashed() -> None:
    folders = {path.relative_to(ROOT).parts[0] for path in reached(ROOT / "lowering")}
    assert "passes" in folders
    assert folders <= set(fingerprint.FOLDERS)


@pytest.mark.parametrize(
    "changed", ["passes/relay/blocking.py", "passes/tir/pipeline.py", "lowering/kernel/draft.py", "support/context.py"]
)
def test_a_changed_source_changes_the_fingerprint(tmp_path: Path, changed: str) -> None:
    for folder in fingerprint.FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = fingerprint.fingerprint(tmp_path)
    assert before == fingerprint.fingerprint(ROOT)
    path = tmp_path / changed
    path.write_text(path.read_text() + "\n# changed\n")
    assert fingerprint.fingerprint(tmp_path) != before


def test_text_that_moves_to_another_file_changes_the_fingerprint(tmp_path: Path) -> None:
    for folder in fingerprint.FOLDERS:
        (tmp_path / folder).mkdir()
    first, second = tmp_path / "te/a.py", tmp_path / "te/b.py"
    first.write_text("x = 1\n")
    second.write_text("")
    before = fingerprint.fingerprint(tmp_path)
    first.write_text("")
    second.write_text("x = 1\n")
    assert fingerprint.fingerprint(tmp_path) != before


def test_what_is_registered_from_outside_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    func = FuncOp("f", [TensorType(f32, [1])], [TensorType(f32, [1])])
    func.block.add_op(ReturnOp(func.block.args[0]))
    target = Target("x86_64-unknown-linux-gnu")
    before = key.kernel_key(func, target)
    monkeypatch.setattr(key, "outside_fingerprint", lambda: "dense: my_strategy 1")
    with_one = key.kernel_key(func, target)
    monkeypatch.setattr(key, "outside_fingerprint", lambda: "dense: my_strategy 2")
    assert len({before, with_one, key.kernel_key(func, target)}) == 3


def test_the_thread_pool_is_compiled_anew_by_a_changed_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path))
    target = Target.native()
    assert pool_object(target) == pool_object(target)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(fingerprint, "compiler_fingerprint", lambda: "of another compiler")
    pool_object(target)
    assert len(list(tmp_path.iterdir())) == 2
