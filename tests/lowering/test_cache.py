"""The kernel cache: what goes in comes out, unless the file is damaged; a bad folder does no harm."""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.lowering.cache import KernelCache, decode, default_folder, encode


def _key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _file(folder: Path) -> Path:
    (file,) = (path for path in folder.rglob("*") if path.is_file())
    return file


def test_put_then_get(tmp_path: Path):
    cache = KernelCache(tmp_path / "new" / "folder")
    assert cache.get(_key("a")) is None
    cache.put(_key("a"), b"")
    cache.put(_key("b"), bytes(range(256)))
    cache.put(_key("b"), b"newer")
    again = KernelCache(tmp_path / "new" / "folder")
    assert again.get(_key("a")) == b""
    assert again.get(_key("b")) == b"newer"
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("length", [0, 1, 10, 47, 48, 50, 147])
def test_a_truncated_file_is_a_miss_and_is_replaced(tmp_path: Path, length: int):
    cache = KernelCache(tmp_path)
    cache.put(_key("a"), b"x" * 100)
    file = _file(tmp_path)
    file.write_bytes(file.read_bytes()[:length])
    assert cache.get(_key("a")) is None
    cache.put(_key("a"), b"x" * 100)
    assert cache.get(_key("a")) == b"x" * 100


@pytest.mark.parametrize("at", [0, 7, 8, 20, 47, 48, 100])
def test_a_changed_byte_is_a_miss(tmp_path: Path, at: int):
    cache = KernelCache(tmp_path)
    cache.put(_key("a"), b"x" * 100)
    content = bytearray(_file(tmp_path).read_bytes())
    content[at] ^= 1
    _file(tmp_path).write_bytes(content)
    assert cache.get(_key("a")) is None


_CONTENDER = """
import sys
from whence.lowering.cache import KernelCache
cache, seed = KernelCache(sys.argv[1]), int(sys.argv[2])
for turn in range(200):
    cache.put(sys.argv[3], bytes([seed]) * (10_000 + 1000 * seed))
    found = cache.get(sys.argv[3])
    assert found is not None and found == found[:1] * (10_000 + 1000 * found[0]), turn
"""


def test_processes_share_a_folder(tmp_path: Path):
    command = [sys.executable, "-c", _CONTENDER, str(tmp_path)]
    processes = [subprocess.Popen([*command, seed, _key("shared")]) for seed in ("1", "2")]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert _file(tmp_path)


def test_an_unwritable_folder_is_reported_once_and_does_no_harm(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    occupied = tmp_path / "file"
    occupied.write_text("no folder")
    cache = KernelCache(occupied)
    with caplog.at_level(logging.WARNING):
        cache.put(_key("a"), b"data")
        cache.put(_key("b"), b"data")
    assert cache.get(_key("a")) is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "cannot write" in caplog.text


def test_the_folder_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path / "mine"))
    assert KernelCache().folder == tmp_path / "mine"
    monkeypatch.delenv("WHENCE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "xdg" / "whence"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "whence"


def test_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHENCE_CACHE_DIR", "")
    for cache in (KernelCache(), KernelCache(tmp_path, enabled=False)):
        cache.put(_key("a"), b"data")
        assert cache.get(_key("a")) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", ["", "abc", "../" * 22, "A" * 64, "a" * 65])
def test_a_key_is_a_sha256(tmp_path: Path, key: str):
    with pytest.raises(ValueError, match="64 hex digits"):
        KernelCache(tmp_path).get(key)


_VALUES = st.recursive(
    st.text() | st.binary() | st.integers(),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _VALUES))
def test_records_round_trip(record: dict[str, object]):
    assert decode(encode(record)) == record


@given(st.binary())
def test_what_is_no_record_is_a_value_error(data: bytes):
    with pytest.raises(ValueError, match="decode: no record"):
        decode(data)


def test_a_truncated_record_is_a_value_error():
    data = encode({"symbol": "fused_add", "object": b"\x7fELF" * 10, "lines": ((0, 1), ()), "ops": {"te": 3}})
    for length in range(len(data)):
        with pytest.raises(ValueError, match="decode: no record"):
            decode(data[:length])


def test_texts_are_compressed_and_other_types_refused():
    assert len(encode({"tir": "tir.for " * 10_000})) < 2000
    with pytest.raises(TypeError, match="got list"):
        encode({"lines": [1, 2]})
    with pytest.raises(TypeError, match="got bool"):
        encode({"flag": True})
