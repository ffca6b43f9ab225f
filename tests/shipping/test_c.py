"""A program in C that runs an exported model: docs/run_model.c and the header."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whence.planning.c_interface import HEADER
from whence.relay.build_module import GraphExecutorFactoryModule

Array = NDArray[Any]
EXAMPLE = Path(__file__).parents[2] / "docs" / "run_model.c"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler of C")


def outputs_of(program: Path, callers: int, image: Array) -> dict[str, Array]:
    environment = os.environ | {"LD_LIBRARY_PATH": str(program.parent)}
    done = subprocess.run(
        [program, str(callers)], input=image.tobytes(), capture_output=True, env=environment, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    y, a = np.frombuffer(done.stdout, np.float32, 5), np.frombuffer(done.stdout, np.float32, -1, 20)
    return {"y": y.reshape(1, 5), "a": a.reshape(1, 8, 32, 32)}


@pytest.fixture(scope="module")
def folder(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, the header and the archive, unpacked."""
    found = tmp_path_factory.mktemp("c")
    shutil.copy(files["so"], found / "libnet.so")
    shutil.copy(files["o"], found / "net.o")
    shutil.unpack_archive(files["tar"], found / "objects")
    return found


def build(folder: Path, name: str, *words: str | Path) -> Path:
    command = [
        "cc",
        *WARNINGS,
        "-O1",
        EXAMPLE,
        f"-I{folder / 'objects'}",
        *words,
        "-lm",
        "-pthread",
        "-o",
        folder / name,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / name


def test_the_shared_library(folder: Path, image: Array, reference: dict[str, Array]):
    program = build(folder, "shared", folder / "libnet.so")
    for callers in (1, 4):
        found = outputs_of(program, callers, image)
        for name, array in found.items():
            np.testing.assert_allclose(array, reference[name], rtol=1e-4, atol=1e-4)
    short = subprocess.run([program], input=b"12", capture_output=True, check=False)
    assert short.returncode == 1


def test_objects_of_the_archive_and_the_single_object(folder: Path, image: Array, reference: dict[str, Array]):
    objects = sorted((folder / "objects").glob("*.o"))
    for name, linked in (("archive", objects), ("object", [folder / "net.o"])):
        found = outputs_of(build(folder, name, *linked), 2, image)
        np.testing.assert_allclose(found["y"], reference["y"], rtol=1e-4, atol=1e-4)


def test_the_header_is_the_archives_and_is_one_of_cpp_too(folder: Path):
    assert (folder / "objects" / "whence.h").read_bytes() == HEADER.read_bytes()
    source = folder / "check.cpp"
    source.write_text('#include "whence.h"\nint main() { return whence_pool_create(1) != nullptr; }\n')
    command = ["c++", *WARNINGS, "-c", source, f"-I{folder / 'objects'}", "-o", folder / "check.o"]
    if shutil.which("c++") is not None:
        subprocess.run(command, check=True)


def test_a_library_without_parameters_has_no_run(lib: GraphExecutorFactoryModule, tmp_path: Path):
    path = Path(lib.remove_params().export_library(tmp_path / "bare.so"))
    symbols = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in symbols.splitlines()}
    assert {"whence_main", "whence_params", "whence_inputs", "whence_arena_bytes", "whence_pool_create"} <= names
    assert "whence_run" not in names
