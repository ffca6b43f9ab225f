"""What can happen to files: damage, full disks, folders that cannot be written, death while they are written."""

from __future__ import annotations

import os
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whence.executables.restoring import read_artifact
from whence.relay.build_module import GraphExecutorFactoryModule
from whence.runtime import load_module
from whence.runtime.loading.sealed import open_sealed, seal
from whence.support import files as files_module
from whence.support.errors import FrontendError, PipelineError, WhenceError

Array = NDArray[Any]
KINDS = ("tar", "so", "o")


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_byte_is_always_told(kind: str, files: dict[str, Path], tmp_path: Path):
    whole = files[kind].read_bytes()
    path = tmp_path / files[kind].name
    rng = np.random.default_rng(7)
    # Anywhere, and everywhere in the seal.
    places = [*rng.integers(0, len(whole), 200), *range(len(whole) - 64, len(whole))]
    for place in map(int, places):
        data = bytearray(whole)
        data[place] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        with pytest.raises(FrontendError, match=rf"net\.{kind}: expected a model that export_library wrote, got a"):
            load_module(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_file_is_told(kind: str, files: dict[str, Path], tmp_path: Path):
    whole = files[kind].read_bytes()
    path = tmp_path / files[kind].name
    for length in (0, 1, 63, 64, 65, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FrontendError):
            load_module(path)
        with pytest.raises(FrontendError):
            read_artifact(path)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_sealed_and_is_no_model_is_told(kind: str, files: dict[str, Path], tmp_path: Path):
    """Damage that somebody sealed anew: an error of ours, wherever it is noticed."""
    whole = bytes(open_sealed(files[kind]))
    path = tmp_path / files[kind].name
    rng = np.random.default_rng(8)
    for length in rng.integers(0, len(whole) // 2, 12):
        data = whole[: int(length)]
        path.write_bytes(data + seal(memoryview(data)))
        with pytest.raises(WhenceError):
            load_module(path)


def test_files_that_are_not_there_or_of_no_kind(tmp_path: Path, files: dict[str, Path]):
    with pytest.raises(FrontendError, match=r"none\.tar: expected a readable file, got No such file or directory"):
        load_module(tmp_path / "none.tar")
    with pytest.raises(PipelineError, match=r"expected a file in tar, so, o, got onnx"):
        load_module(tmp_path / "model.onnx")
    with pytest.raises(FrontendError, match=r"net\.tar: expected an ELF file of 64 bits, got something else"):
        load_module(files["tar"], "so")


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_told(kind: str, lib: GraphExecutorFactoryModule, tmp_path: Path):
    path = tmp_path / f"full.{kind}"
    path.symlink_to("/dev/full")
    with pytest.raises(PipelineError, match=rf"full\.{kind}: cannot be written: No space left on device"):
        lib.export_library(path)


def test_folders_that_cannot_be_written(lib: GraphExecutorFactoryModule, tmp_path: Path):
    with pytest.raises(PipelineError, match=r"cannot be written: (Permission denied|No such file or directory)"):
        lib.export_library("/proc/net.tar")
    with pytest.raises(PipelineError, match=r"none/net\.so: cannot be written: No such file or directory"):
        lib.export_library(tmp_path / "none" / "net.so")
    with pytest.raises(PipelineError, match=r"expected a file in .tar, .so, .o, .c, .zip, got .rar"):
        lib.export_library(tmp_path / "net.rar")


def test_a_compiler_that_fails_is_told(
    lib: GraphExecutorFactoryModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = tmp_path / "net.so"
    before.write_bytes(b"what was there")
    monkeypatch.setenv("CC", "false")
    with pytest.raises(PipelineError, match=r"expected a compiler that links a .so file .*, got false: exit code 1"):
        lib.export_library(before)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(PipelineError, match=r"no-such-compiler: No such file or directory; a .tar needs none"):
        lib.export_library(before)
    assert before.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [before]


@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("moment", ["os.replace", "os.fchmod", "whence.planning.export.seal"])
def test_killed_while_exporting(
    moment: str,
    nameless: bool,
    lib: GraphExecutorFactoryModule,
    files: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    path = tmp_path / "net.tar"
    path.write_bytes(files["tar"].read_bytes())

    if not nameless:  # as on a file system that has no files without names
        monkeypatch.setattr(files_module, "_ANONYMOUS", 0)

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if not child:
        monkeypatch.setattr(moment, die)
        lib.export_library(path)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert path.read_bytes() == files["tar"].read_bytes()
    # A file without a name goes with its writer; the next one takes another away, but not that of one who writes.
    left = [one for one in tmp_path.iterdir() if one != path]
    assert len(left) == (not nameless or moment == "os.replace")
    assert all(one.name.startswith(".net.tar.") for one in left)
    with files_module.replacing(path) as stream:
        stream.write(b"new")
        with files_module.replacing(path) as other:
            other.write(b"newer")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_who_has_loaded_a_file_keeps_what_he_loaded(
    lib: GraphExecutorFactoryModule,
    files: dict[str, Path],
    image: np.ndarray,
    reference: dict[str, np.ndarray],
    tmp_path: Path,
):
    path = tmp_path / "net.tar"
    path.write_bytes(files["tar"].read_bytes())
    module = load_module(path)
    lib.remove_params().export_library(path)
    np.testing.assert_allclose(module.run({"x": image})["y"], reference["y"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("cpus", [1, 4])
def test_large_files_are_checked_to_their_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpus: int):
    """From 8 MiB on threads share the work; the seal is the same, and each of the pieces counts."""
    content = bytearray(np.random.default_rng(0).bytes((9 << 20) + 17))
    monkeypatch.setattr("whence.runtime.loading.sealed.available_cpus", lambda: 1)
    end, path = seal(memoryview(content)), tmp_path / "large.tar"
    monkeypatch.setattr("whence.runtime.loading.sealed.available_cpus", lambda: cpus)
    path.write_bytes(content + end)
    assert open_sealed(path) == content
    for place in (0, (1 << 20) - 1, 4 << 20, (8 << 20) - 1, 8 << 20, 9 << 20, len(content) - 1):
        content[place] ^= 1
        path.write_bytes(content + end)
        with pytest.raises(FrontendError, match="its checksum does not fit"):
            open_sealed(path)
        content[place] ^= 1
    content[: 2 << 20] = content[1 << 20 : 2 << 20] + content[: 1 << 20]
    path.write_bytes(content + end)
    with pytest.raises(FrontendError, match="its checksum does not fit"):
        open_sealed(path)


@pytest.mark.parametrize("kind", KINDS)
def test_code_of_another_machine_is_refused(
    kind: str, files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Before the system, or our linker, sees any of it."""
    path = tmp_path / files[kind].name
    path.write_bytes(files[kind].read_bytes())
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(PipelineError, match=rf"net\.{kind}: expected code for riscv64, got some for"):
        load_module(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_an_earlier_format_is_told(kind: str, files: dict[str, Path], tmp_path: Path):
    content = bytes(open_sealed(files[kind])).replace(b'{"format":3,', b'{"format":2,')
    path = tmp_path / files[kind].name
    path.write_bytes(content + seal(memoryview(content)))
    for read in (load_module, read_artifact):
        with pytest.raises(FrontendError, match=rf"net\.{kind}: expected a model in format 3, got format 2"):
            read(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_field_is_told(kind: str, files: dict[str, Path], tmp_path: Path):
    content = bytes(open_sealed(files[kind])).replace(b'"arena_bytes":', b'"arena_bites":')
    path = tmp_path / files[kind].name
    path.write_bytes(content + seal(memoryview(content)))
    message = rf"net\.{kind}: program\.arena_bytes: expected a whole number, got nothing"
    with pytest.raises(FrontendError, match=message):
        load_module(path)
