"""Damaged files of programs in which values decide: an error of ours for each, and nothing else."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import language_programs as programs
import numpy as np
import pytest
from shipped_programs import CACHE, LANGUAGE, MODELS, parsed

import whence
from whence.executables.restoring import read_executable
from whence.runtime import load_program
from whence.runtime.loading.sealed import open_sealed, seal
from whence.support.errors import FrontendError, WhenceError


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, list[Any]]]:
    """The contents of a model and of a program of the language, without the seal, and calls of each."""
    folder = tmp_path_factory.mktemp("shipped")
    text, calls = LANGUAGE["shapes that values decide"]
    exes: list[tuple[str, Any, list[Any]]] = [
        ("model", whence.compile(parsed(CACHE)), list(MODELS["cache that grows"][1])),
        ("language", whence.compile(programs.module_of(text, folder)), list(calls)),
    ]
    contents: dict[str, tuple[bytes, list[Any]]] = {}
    for name, exe, given in exes:
        for call in given:
            run(exe, call)
        exe.export_library(folder / f"{name}.tar")
        contents[name] = bytes(open_sealed(folder / f"{name}.tar")), given
    return contents


def run(program: Any, call: Any) -> Any:
    return program.run(call) if isinstance(call, dict) else program.invoke("main", *call)


def sealed(path: Path, data: bytes) -> Path:
    path.write_bytes(data + seal(memoryview(data)))
    return path


@pytest.mark.parametrize("name", ["model", "language"])
def test_changed_bytes_and_cut_files_are_always_told(name: str, shipped: Any, tmp_path: Path):
    content, _ = shipped[name]
    whole, path, rng = sealed(tmp_path / "x.tar", content).read_bytes(), tmp_path / "y.tar", np.random.default_rng(1)
    for place in map(int, [*rng.integers(0, len(whole), 500), *range(len(whole) - 64, len(whole))]):
        data = bytearray(whole)
        data[place] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        with pytest.raises(FrontendError, match=r"y\.tar: expected a model that export_library wrote, got"):
            load_program(path)
    for length in map(int, [0, 1, 63, 64, len(whole) - 1, *rng.integers(0, len(whole), 200)]):
        path.write_bytes(whole[:length])
        with pytest.raises(FrontendError, match=r"y\.tar: expected"):
            load_program(path)


@pytest.mark.parametrize("name", ["model", "language"])
def test_parts_of_another_name_and_other_formats_are_told(name: str, shipped: Any, tmp_path: Path):
    content, _ = shipped[name]
    renamed = 0
    for member in (b"whence_program", b"whence_pool.o", b"0.tar", b"whence_package.o", b"model.o"):
        for found in re.finditer(rb"(?<![a-z_0-9])" + re.escape(member) + rb"\0", content):
            data = bytearray(content)
            data[found.start()] ^= 1
            for read in (load_program, read_executable):
                with pytest.raises(WhenceError, match=r"x\.tar.*: expected"):
                    read(sealed(tmp_path / "x.tar", bytes(data)))
            renamed += 1
    assert renamed >= 3
    path = sealed(tmp_path / "x.tar", content.replace(b'{"format":3,', b'{"format":2,'))
    for read in (load_program, read_executable):
        with pytest.raises(FrontendError, match=r"x\.tar: expected a model in format 3, got format 2"):
            read(path)


def test_a_file_names_nothing_but_parts_and_operators_of_this_version(shipped: Any, tmp_path: Path):
    content, _ = shipped["language"]
    for before, after in ((b"Computed", b"Callable"), (b"Literal", b"Closure"), (b"dyn.arange", b"os.getcwd_")):
        assert b'"%s"' % before in content
        data = content.replace(b'"%s"' % before, b'"%s"' % after)
        with pytest.raises(FrontendError, match=f"expected an? .* that this version has, got '{after.decode()}'"):
            load_program(sealed(tmp_path / "x.tar", data))


def _flipped(text: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(text)
    data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 128))
    return bytes(data)


def _renumbered(text: bytes, rng: np.random.Generator) -> bytes:
    """The text with another digit somewhere."""
    digits = [found.start() for found in re.finditer(rb"[0-9]", text)]
    at = digits[int(rng.integers(len(digits)))]
    return text[:at] + b"%d" % rng.integers(10) + text[at + 1 :]


def _reworded(text: bytes, rng: np.random.Generator) -> bytes:
    """The text with a word in the place of another that is not shorter."""
    words = list(re.finditer(rb'"[A-Za-z_.]+"', text))
    old, new = (words[int(at)] for at in rng.integers(len(words), size=2))
    if len(new.group()) > len(old.group()):
        old, new = new, old
    return text[: old.start()] + new.group().ljust(len(old.group())) + text[old.end() :]


@pytest.mark.parametrize("change", [_flipped, _renumbered, _reworded])
@pytest.mark.parametrize("name", ["model", "language"])
def test_what_somebody_sealed_anew_is_told_or_runs(
    name: str, change: Callable[[bytes, np.random.Generator], bytes], shipped: Any, tmp_path: Path
):
    content, calls = shipped[name]
    start = content.index(b'{"format"')
    end, rng, told = content.index(b"\0", start), np.random.default_rng(4), list[str]()
    for _ in range(110):
        data = content[:start] + change(content[start:end], rng) + content[end:]
        with warnings.catch_warnings():
            # numpy warns of names of dtypes that are to go.
            warnings.simplefilter("ignore")
            try:
                program = load_program(sealed(tmp_path / "x.tar", data))
                for call in calls:
                    run(program, call)
            except WhenceError as error:
                told.append(str(error))
    assert len(told) >= 20
    assert not [message for message in told if "internal error" in message]
    assert all(re.search("expected|missing|unknown", message) for message in told)
