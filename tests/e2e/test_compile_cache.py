"""The kernel cache under whole compilations: other processes use it, damage is repaired, two may write at once."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import whence
from whence.lowering.kernel.record import Kernel

_COMPILE = """
import hashlib, sys
import whence
whence.compile, whence.load
print([name for name in ("whence.dialects.tir", "whence.te", "xdsl.dialects.arith", "email") if name in sys.modules])
import whence.planning.build

def refuse(*_, **__):
    raise AssertionError("LLVM was called")

if sys.argv[2] == "cached":
    whence.planning.build.compile_text = refuse
exe = whence.compile(sys.argv[1], threads=1)
print("whence.lowering.kernel.draft" in sys.modules)
for kernel in exe.artifact.kernels:
    print(kernel.symbol, hashlib.sha256(kernel.object).hexdigest())
print("main", hashlib.sha256(exe.artifact.main).hexdigest())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, which this process and its children use."""
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three kernels."""
    path = tmp_path / "small.onnx"
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 13]> graph (float[3, 7] x) => (float[1, 3] y)
        { [act] a = Relu (x) [prob] b = Softmax (a)
          [turned] c = Transpose (b) [most] y = ReduceMax <axes = [0]> (c) }"""
    )
    path.write_bytes(model.SerializeToString())
    return path


def start(path: Path, mode: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _COMPILE, str(path), mode]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))


def finished(process: subprocess.Popen[str]) -> list[str]:
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return output.splitlines()


def digests(exe: whence.Executable) -> list[str]:
    kernels = [kernel for kernel in exe.artifact.kernels if isinstance(kernel, Kernel)]
    found = [f"{kernel.symbol} {hashlib.sha256(kernel.object).hexdigest()}" for kernel in kernels]
    return [*found, f"main {hashlib.sha256(exe.artifact.main).hexdigest()}"]


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_found_is_what_was_made(folder: Path, path: Path):
    first, second = whence.compile(path, threads=1), whence.compile(path, threads=1)
    assert first.artifact.kernels == second.artifact.kernels
    x = np.random.default_rng(0).standard_normal((3, 7)).astype(np.float32)
    np.testing.assert_array_equal(first(x), second(x))


def test_damaged_files_are_compiled_again(folder: Path, path: Path):
    exe = whence.compile(path, threads=1)
    whole = files(folder)
    for number, (file, content) in enumerate(sorted(whole.items())):
        # Cut short, empty, or with one byte changed.
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        file.write_bytes((content[:middle], b"", changed)[number % 3])
    again = whence.compile(path, threads=1)
    assert digests(again) == digests(exe)
    assert files(folder) == whole


def test_processes_share_a_folder(folder: Path, path: Path):
    """Two that write at once; and a fresh one, which finds every kernel, and does not load what lowers."""
    other = start(path, "cold")
    first = digests(whence.compile(path, threads=1))
    loaded, lowers, *code = finished(other)
    assert (loaded, code) == ("[]", first)
    # It may have found them all, as the two began together.
    assert lowers in ("True", "False")
    assert len(files(folder)) >= len(first) > 3
    assert finished(start(path, "cached")) == ["[]", "False", *first]
    assert not [file for file in files(folder) if file.name.endswith(".tmp")]


def test_without_a_folder_nothing_is_kept(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHENCE_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    whence.compile(path, threads=1)
    assert not (tmp_path / "xdg").exists()


def test_a_target_has_kernels_of_its_own(folder: Path, path: Path):
    whence.compile(path, threads=1)
    native = set(files(folder))
    whence.compile(path, threads=1, target="llvm -mcpu=x86-64-v3")
    # Names of kernels hold their key, and so main programs differ as well.
    assert len(set(files(folder)) - native) == len(native)


def test_options_have_kernels_of_their_own(folder: Path, path: Path):
    """In one folder, whichever comes first: what was made under other options is not taken."""

    def texts(config: dict[str, bool]) -> list[str]:
        with whence.PassContext(3, config=config):
            artifact = whence.compile(path, threads=1).artifact
        return [kernel.tir for kernel in artifact.kernels if isinstance(kernel, Kernel)]

    plain = texts({})
    scalar = texts({"tir.disable_vectorize": True})
    assert any("vector<" in text for text in plain)
    assert not any("vector<" in text for text in scalar)
    assert texts({}) == plain


@pytest.mark.usefixtures("folder")
def test_what_lowers_is_loaded_where_there_is_something_to_lower(path: Path) -> None:
    """That it is not where there is nothing, `test_processes_share_a_folder` says."""
    loaded, lowers, *_ = finished(start(path, "cold"))
    assert (loaded, lowers) == ("[]", "True")
