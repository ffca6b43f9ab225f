"""gdb finds a kernel, and its TIR."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import ModelProto

import whence
from whence.lowering.kernel.record import Kernel

_RUN = """
import sys
import numpy as np
import whence
compiled = whence.compile(sys.argv[1], threads=1)
compiled.run({spec.name: np.zeros(spec.shape, spec.dtype) for spec in compiled.inputs})
"""


@pytest.fixture
def model(small_network: ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network in a file, and an empty cache folder."""
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "small.onnx").write_bytes(small_network.SerializeToString())
    return tmp_path / "small.onnx"


def first_kernel(model: Path) -> Kernel:
    kernel = whence.compile(model, threads=1).artifact.kernels[0]
    assert isinstance(kernel, Kernel)
    return kernel


def test_the_tir_of_a_kernel_lies_where_its_code_says(model: Path, tmp_path: Path) -> None:
    kernel = first_kernel(model)
    path = tmp_path / "cache/tir" / f"{kernel.symbol}.tir"
    assert path.read_text() == kernel.tir
    # Debug information keeps folder and name apart.
    assert str(path.parent).encode() in kernel.object
    assert path.name.encode() in kernel.object


@pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb")
def test_gdb_shows_the_tir_of_a_kernel(model: Path, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(_RUN)
    kernel = first_kernel(model)
    steps = ["set breakpoint pending on", f"break {kernel.symbol}", "run", "info source", "list 1,3"]
    command = ["gdb", "-q", "-nx", "-batch", *(word for step in steps for word in ("-ex", step))]
    done = subprocess.run(
        [*command, "--args", sys.executable, str(script), str(model)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=dict(os.environ),
    )
    if re.search(r"ptrace: Operation not permitted|Could not trace the inferior process", done.stderr):
        pytest.skip("no tracing of processes here")
    assert re.search(rf"hit Breakpoint 1, {kernel.symbol} \(.*\) at {kernel.symbol}\.tir:\d+", done.stdout)
    assert f"Located in {tmp_path}/cache/tir/{kernel.symbol}.tir" in done.stdout
    assert re.search(rf"^1\t{re.escape(kernel.tir.splitlines()[0])}$", done.stdout, re.MULTILINE)
