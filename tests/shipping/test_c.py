"""A program in C that runs an exported model: docs/run_model.c and the header."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from numpy.typing import NDArray

import whence
from whence.planning.c_interface import HEADER
from whence.relay.build_module import GraphExecutorFactoryModule
from whence.runtime import load_module

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
    shutil.unpack_archive(files["tar"], found / "objects", filter="data")
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


SIZED = """
#include <stdio.h>
#include <stdlib.h>
#include <whence.h>

static int64_t extent(const whence_tensor *one, int axis, const int64_t *values) {
  int64_t at = one->shape[axis];
  return at < 0 ? values[-1 - at] : at;
}

int main(int count, char **words) {
  int64_t *values = calloc((size_t)whence_num_values, sizeof *values);
  for (int at = 0; at < whence_num_sizes && at + 1 < count; ++at) values[at] = atoll(words[at + 1]);
  whence_sizes(values);
  size_t elements = 1, results = 1;
  for (int axis = 0; axis < whence_inputs[0].rank; ++axis) elements *= (size_t)extent(&whence_inputs[0], axis, values);
  for (int axis = 0; axis < whence_outputs[0].rank; ++axis) results *= (size_t)extent(&whence_outputs[0], axis, values);
  float *x = malloc(elements * sizeof *x), *y = aligned_alloc(64, (results * sizeof *y + 63) / 64 * 64);
  void *arena = aligned_alloc(64, (size_t)values[whence_arena_value] / 64 * 64 + 64);
  if (fread(x, sizeof *x, elements, stdin) != elements) return 1;
  const void *inputs[] = {x};
  void *outputs[] = {y};
  whence_run_sized(inputs, outputs, arena, NULL, values);
  fwrite(y, sizeof *y, results, stdout);
  return whence_refused[0] != 0;
}
"""


def test_a_model_of_any_sizes(tmp_path: Path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
    graph (float[rows, cols] x) => (float[cols, double] y) {
        t = Transpose <perm = [1, 0]> (x)
        s = Softmax <axis = 1> (t)
        y = Concat <axis = 1> (s, t)
    }""")
    executable = whence.compile(model, tier="symbolic", threads=1)
    (tmp_path / "main.c").write_text(SIZED)
    executable.export_library(tmp_path / "libnet.so")
    executable.export_library(tmp_path / "net.o")
    rng = np.random.default_rng(1)
    for kind, words in (("so", [f"-L{tmp_path}", "-lnet"]), ("o", [tmp_path / "net.o"])):
        command = ["cc", *WARNINGS, f"-I{HEADER.parent}", tmp_path / "main.c", *words, "-lm", "-pthread"]
        subprocess.run([*command, "-o", tmp_path / kind], check=True)
        module = load_module(tmp_path / ("libnet.so" if kind == "so" else "net.o"))
        for rows, cols in ((1, 1), (3, 17), (8, 5)):
            x = rng.standard_normal((rows, cols)).astype(np.float32)
            done = subprocess.run(
                [tmp_path / kind, str(rows), str(cols)],
                input=x.tobytes(),
                capture_output=True,
                env=os.environ | {"LD_LIBRARY_PATH": str(tmp_path)},
                check=True,
            )
            odds = np.exp(x.T) / np.exp(x.T).sum(1, keepdims=True)
            wanted = np.concatenate([odds, x.T], 1)
            np.testing.assert_allclose(np.frombuffer(done.stdout, np.float32).reshape(wanted.shape), wanted, rtol=1e-5)
            np.testing.assert_allclose(module.run({"x": x})["y"], wanted, rtol=1e-5)
