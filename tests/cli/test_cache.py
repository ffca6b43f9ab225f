"""`whence cache` shows and clears the kernel cache."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whence.lowering.cache import KernelCache

Tool = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WHENCE_CACHE_MB", raising=False)
    return tmp_path / "cache"


def test_the_cache_is_shown_and_cleared(whence: Tool, folder: Path):
    KernelCache().put("0" * 64, bytes(3 << 20))
    assert whence("cache").out.splitlines() == [
        f"folder  {folder}",
        "size    3.0 MiB in 1 files",
        "bound   1024 MiB",
    ]
    assert json.loads(whence("cache", "--json").out)["files"] == 1
    assert "removed 3.0 MiB in 1 files" in whence("cache", "--clear").out
    assert list(folder.iterdir()) == []


def test_a_cache_that_is_not_there_is_empty(whence: Tool, folder: Path):
    assert "0.0 MiB in 0 files" in whence("cache").out
    assert not folder.exists()


def test_a_cache_of_others_is_left_alone(whence: Tool, folder: Path, monkeypatch: pytest.MonkeyPatch):
    folder.mkdir()
    folder.chmod(0o777)
    done = whence("cache", "--clear")
    assert done.code == 1
    assert f"cache: {folder} is not used: others may write to it (mode 777)" in done.err
    monkeypatch.setenv("WHENCE_CACHE_DIR", "")
    assert "WHENCE_CACHE_DIR is empty" in whence("cache").err
