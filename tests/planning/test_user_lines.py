"""Objects whose line tables name the Python that asked for their code."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import whence
from whence.lowering.kernel.record import Kernel
from whence.lowering.llvm_to_native.assembly import located_at
from whence.lowering.llvm_to_native.line_table import rows
from whence.lowering.llvm_to_native.perf_map import functions
from whence.planning.user_lines import kernel_object, user_lines
from whence.provenance.span import fuse, layer_location, leaves, positions

CNN = Path(__file__).parents[1] / "exports" / "pytorch" / "cnn.pt2"
SHAPES = {"image": (1, 3, 16, 16)}


def test_an_object_names_the_lines_of_the_layers_that_it_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("needs readelf (binutils)")
    artifact = whence.compile(CNN, input_shapes=SHAPES).artifact
    monkeypatch.setenv("WHENCE_SOURCE_LINES", "1")
    named: set[int] = set()
    for index, kernel in enumerate(artifact.kernels):
        path = tmp_path / f"{index}.o"
        path.write_bytes(kernel_object(artifact, index))
        table = subprocess.run([readelf, "--debug-dump=decodedline", path], capture_output=True, text=True, check=True)
        lines = {int(line) for line in re.findall(r"^networks\.py +(\d+)", table.stdout, re.MULTILINE)}
        served = [leaf for call in artifact.calls if call.kernel == index for leaf in leaves(fuse(call.layers))]
        assert lines <= {positions(leaf)[0].line for leaf in served}
        assert f"{kernel.symbol[-20:]}.tir" in table.stdout
        named |= lines
    # The convolutions, and the pool and the classifier.
    assert {19, 34} <= named


def test_the_code_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    executable = whence.compile(CNN, input_shapes=SHAPES)
    monkeypatch.setenv("WHENCE_SOURCE_LINES", "1")
    for index, kernel in enumerate(executable.artifact.kernels):
        own = kernel_object(executable.artifact, index)
        assert list(functions(own)) == list(functions(kernel.object))
        # Rows stand at the same places.
        assert [row.offset for row in rows(own)] == [row.offset for row in rows(kernel.object)]
    whence.compile(CNN, input_shapes=SHAPES).export_library(tmp_path / "cnn.tar")
    with tarfile.open(tmp_path / "cnn.tar") as archive:
        objects = {name: cast(Any, archive.extractfile(name)).read() for name in archive.getnames()}
    kernels = [objects[f"{kernel.symbol}.o"] for kernel in executable.artifact.kernels]
    assert sum(b"networks.py" in data for data in kernels) == len(kernels)
    image = np.random.default_rng(0).standard_normal(SHAPES["image"]).astype(np.float32)
    np.testing.assert_array_equal(whence.compile(CNN, input_shapes=SHAPES)(image), executable(image))


def test_what_calls_do_not_agree_on_stays_the_line_of_the_loops():
    artifact = whence.compile(CNN, input_shapes=SHAPES).artifact
    kernel = next(kernel for kernel in artifact.kernels if isinstance(kernel, Kernel) and len(kernel.lines) > 5)
    slots = 1 + max(slot for line in kernel.lines for slot in line)
    here, there = ([layer_location(name, "net.py", line)] * slots for name, line in (("a", 7), ("b", 8)))
    assert set(user_lines(kernel, [here, here]).values()) == {("net.py", 7)}
    assert user_lines(kernel, [here, there]) == {}
    assert user_lines(kernel, [[layer_location("a", "net.onnx", 7)] * slots]) == {}


def test_lines_without_a_place_keep_theirs():
    text = '\t.file\t1 "d" "k.tir"\n\t.loc\t1 4 1 prologue_end\n\t.loc\t1 5 1\n\tret\n'
    assert located_at(text, {5: ('a"b.py', 12)}) == (
        '\t.file\t1 "d" "k.tir"\n\t.file\t2 "a\\"b.py"\n\t.loc\t1 4 1 prologue_end\n\t.loc\t2 12 1\n\tret\n'
    )
