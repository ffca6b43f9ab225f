"""The kernel cache: what goes in comes out, unless the file is damaged; a bad folder does no harm."""

from __future__ import annotations

import hashlib
import logging
import os
import random
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest

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


def _damaged(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, cut off, added, a length made huge, or nothing left."""
    match rng.randrange(5):
        case 0:
            changed = bytearray(data)
            for _ in range(rng.randint(1, 8)):
                changed[rng.randrange(len(changed))] ^= rng.randint(1, 255)
            return bytes(changed)
        case 1:
            return data[: rng.randrange(len(data))]
        case 2:
            return data + rng.randbytes(rng.randint(1, 100))
        case 3:
            at = rng.choice((8, 48, rng.randrange(len(data) - 8)))
            return data[:at] + struct.pack("<Q", rng.getrandbits(64) | 1 << 63) + data[at + 8 :]
        case _:
            return b""


_RECORD: dict[str, object] = {
    "symbol": "fused_add",
    "tir": "tir.for " * 40,
    "object": bytes(range(256)),
    "lines": ((0, 1), (), (7,)),
    "ops": {"te": 3, "tir": 9},
}


def test_no_damage_of_a_file_is_ever_read(tmp_path: Path):
    cache, rng = KernelCache(tmp_path), random.Random(1)
    cache.put(_key("a"), encode(_RECORD))
    file = _file(tmp_path)
    whole = file.read_bytes()
    for _ in range(500):
        damaged = _damaged(whole, rng)
        file.write_bytes(damaged)
        assert damaged == whole or cache.get(_key("a")) is None, damaged
    cache.put(_key("a"), encode(_RECORD))
    assert cache.get(_key("a")) == encode(_RECORD)


def test_a_damaged_record_is_a_value_error_at_worst():
    rng, whole, refused = random.Random(2), encode(_RECORD), 0
    for _ in range(500):
        try:
            decode(_damaged(whole, rng))
        except ValueError as error:
            assert str(error).startswith("decode: no record")  # noqa: PT017 (some damage leaves a record)
            refused += 1
    assert refused > 250
    nested = b"[" * 100_000
    with pytest.raises(ValueError, match="decode: no record"):
        decode(struct.pack("<Q", len(nested)) + nested)


def test_a_file_under_the_name_of_another_is_a_miss(tmp_path: Path):
    cache = KernelCache(tmp_path)
    cache.put(_key("a"), b"code")
    _file(tmp_path).rename(_file(tmp_path).with_name(_key("b")))
    assert cache.get(_key("b")) is None


def test_the_folder_and_its_files_are_private(tmp_path: Path):
    before = os.umask(0)
    try:
        KernelCache(tmp_path / "cache").put(_key("a"), b"code")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    assert stat.S_IMODE(_file(tmp_path).stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_write_to_is_not_used(tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture):
    folder = tmp_path / "cache"
    KernelCache(folder).put(_key("a"), b"code")
    folder.chmod(mode)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            cache = KernelCache(folder)
            assert cache.get(_key("a")) is None
            cache.put(_key("b"), b"more")
    assert len(list(folder.iterdir())) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"kernel cache: {folder} is not used: others may write to it (mode {mode:o})"
    ]


def test_a_folder_or_file_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    cache = KernelCache(tmp_path)
    cache.put(_key("a"), b"code")
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    with caplog.at_level(logging.WARNING):
        assert cache.get(_key("a")) is None
    assert f"{tmp_path} is not used: it belongs to user {us}" in caplog.text


def test_a_file_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    cache = KernelCache(tmp_path)
    cache.put(_key("a"), b"code")
    fstat = os.fstat

    def given_away(descriptor: int) -> os.stat_result:
        """As if the file belonged to somebody else; only root can give one away."""
        found = fstat(descriptor)
        return os.stat_result((*found[:4], 65534, *found[5:])) if stat.S_ISREG(found.st_mode) else found

    monkeypatch.setattr(os, "fstat", given_away)
    with caplog.at_level(logging.WARNING):
        assert cache.get(_key("a")) is None
    assert f"{_key('a')} in it: it belongs to user 65534" in caplog.text


def test_a_file_that_others_write_to_is_not_used(tmp_path: Path):
    cache = KernelCache(tmp_path)
    cache.put(_key("a"), b"code")
    _file(tmp_path).chmod(0o622)
    assert cache.get(_key("a")) is None
    cache.put(_key("a"), b"code")
    assert cache.get(_key("a")) == b"code"


def test_links_to_files_are_not_followed_and_links_to_folders_are(tmp_path: Path):
    real = tmp_path / "real"
    KernelCache(real).put(_key("a"), b"code")
    (tmp_path / "link").symlink_to(real)
    assert KernelCache(tmp_path / "link").get(_key("a")) == b"code"
    elsewhere = tmp_path / "elsewhere"
    _file(real).rename(elsewhere)
    (real / _key("a")).symlink_to(elsewhere)
    assert KernelCache(real).get(_key("a")) is None
    KernelCache(real).put(_key("a"), b"newer")
    assert KernelCache(real).get(_key("a")) == b"newer"
    assert not (real / _key("a")).is_symlink()
    assert b"code" in elsewhere.read_bytes()
    (real / _key("a")).unlink()
    os.mkfifo(real / _key("a"))
    assert KernelCache(real).get(_key("a")) is None


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


# Of one to four bytes in UTF-8, quotes and controls among them.
_LETTERS = 'abz "\\\n\x00\x7fé\u2028日\ufffd𐍈'


def _text(dice: random.Random) -> str:
    return "".join(dice.choices(_LETTERS, k=dice.randrange(6)))


def _value(dice: random.Random, depth: int) -> object:
    """A text, bytes, an integer of any size, or a tuple or dict of such."""
    match dice.randrange(5 if depth else 3):
        case 0:
            return _text(dice)
        case 1:
            return dice.randbytes(dice.randrange(9))
        case 2:
            return dice.choice((0, 1, -1, 2**63, -(2**64), dice.getrandbits(80)))
        case 3:
            return tuple(_value(dice, depth - 1) for _ in range(dice.randrange(4)))
        case _:
            return _record(dice, depth - 1)


def _record(dice: random.Random, depth: int) -> dict[str, object]:
    return {_text(dice): _value(dice, depth) for _ in range(dice.randrange(4))}


@pytest.mark.parametrize("seed", range(5))
def test_records_round_trip(seed: int):
    dice = random.Random(seed)
    for _ in range(100):
        record = _record(dice, 3)
        assert decode(encode(record)) == record


def test_what_is_no_record_is_a_value_error():
    dice = random.Random(1)
    whole = encode({"symbol": "f", "object": b"code"})
    for length in (*range(20), 40, 100):
        for data in (dice.randbytes(length), whole[:8] + dice.randbytes(length)):
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
