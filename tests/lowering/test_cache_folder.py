"""The bound of the kernel cache, and what killed writers left in it."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from whence.lowering.cache import KernelCache
from whence.lowering.cache_folder import clear, entries, limit_bytes, opened, trim

HOUR = 3600.0


def _key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _aged(path: Path, hours: float) -> None:
    then = time.time() - hours * HOUR
    os.utime(path, (then, then))


def test_the_bound_is_what_the_environment_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WHENCE_CACHE_MB", raising=False)
    assert limit_bytes() == 1 << 30
    monkeypatch.setenv("WHENCE_CACHE_MB", "3")
    assert limit_bytes() == 3 << 20
    monkeypatch.setenv("WHENCE_CACHE_MB", "much")
    assert limit_bytes() == 1 << 30


def test_what_was_not_used_for_longest_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHENCE_CACHE_MB", "1")
    cache = KernelCache(tmp_path)
    names = ("a", "b", "c")
    for hours, name in zip((3, 2, 1), names, strict=True):
        cache.put(_key(name), bytes(300_000))
        _aged(tmp_path / _key(name), hours)
    source = tmp_path / "tir" / "old.tir"
    source.parent.mkdir()
    source.write_text("text")
    _aged(source, 4)
    assert cache.get(_key("a")) is not None
    cache.put(_key("d"), bytes(300_000))
    left = [name for name in (*names, "d") if (tmp_path / _key(name)).exists()]
    assert left == ["a", "d"]
    assert not source.exists()


def test_a_new_process_counts_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHENCE_CACHE_MB", "1")
    KernelCache(tmp_path).put(_key("a"), bytes(700_000))
    _aged(tmp_path / _key("a"), 1)
    KernelCache(tmp_path).put(_key("b"), bytes(700_000))
    assert [path.name for path in tmp_path.iterdir()] == [_key("b")]


def test_many_writers_of_small_files_keep_the_bound_without_a_look_at_all_files_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WHENCE_CACHE_MB", "1")
    looks: list[int] = []

    def look(folder: int, most: int) -> None:
        looks.append(folder)
        trim(folder, most)

    monkeypatch.setattr("whence.lowering.cache.trim", look)
    for index in range(700):
        KernelCache(tmp_path).put(_key(str(index)), bytes(2_000))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 1.1 * (1 << 20)
    assert 40 < len(looks) < 140


def test_without_a_bound_nothing_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHENCE_CACHE_MB", "0")
    for name in "ab":
        KernelCache(tmp_path).put(_key(name), bytes(700_000))
    assert len(list(tmp_path.iterdir())) == 2


def test_files_of_killed_writers_go_and_those_being_written_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHENCE_CACHE_MB", "1")
    tmp_path.joinpath(".old.tmp").write_bytes(b"half")
    tmp_path.joinpath(".new.tmp").write_bytes(b"half")
    _aged(tmp_path / ".old.tmp", 2)
    KernelCache(tmp_path).put(_key("a"), bytes(1 << 15))
    assert not (tmp_path / ".old.tmp").exists()
    assert (tmp_path / ".new.tmp").exists()


def test_clearing_leaves_what_is_not_ours(tmp_path: Path):
    cache = KernelCache(tmp_path / "cache")
    cache.put(_key("a"), b"code")
    other, elsewhere = tmp_path / "cache" / "notes.txt", tmp_path / "elsewhere"
    other.write_text("mine")
    elsewhere.mkdir()
    (elsewhere / "x.tir").write_text("mine")
    (tmp_path / "cache" / "tir").symlink_to(elsewhere)
    (tmp_path / "cache" / _key("link")).symlink_to(other)
    with opened(tmp_path / "cache") as folder:
        assert [entry.name for entry in clear(folder)] == [_key("a")]
        assert entries(folder) == []
    assert other.read_text() == "mine"
    assert (elsewhere / "x.tir").exists()
