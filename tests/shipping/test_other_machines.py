"""Models shipped to other machines, run under emulation where a cross compiler and an emulator are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper
from reference_runtime import onnxruntime_outputs

import whence
from whence.planning.c_interface import HEADER
from whence.support.errors import PipelineError

EXAMPLE = Path(__file__).parents[2] / "docs" / "run_model.c"
MACHINES = {
    "aarch64": "-mcpu=neoverse-n1",
    "riscv64": "-mattr=+m,+a,+f,+d,+c",
}


def model() -> tuple[onnx.ModelProto, dict[str, np.ndarray[Any, Any]]]:
    text = """
    <ir_version: 8, opset_import: ["": 17]>
    net (float[1, 3, 20, 20] x) => (float[1, 10] y) {
      [conv] a = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)
      [gelu] b = Sigmoid (a)
      [pool] c = MaxPool <kernel_shape = [5, 5], strides = [1, 1]> (b)
      [mean] d = GlobalAveragePool (c)
      [flat] e = Flatten (d)
      [fc] f = Gemm <transB = 1> (e, v)
      [prob] y = Softmax (f)
    }"""
    proto, draw = onnx.parser.parse_model(text), np.random.default_rng(0)
    for name, shape in (("w", (20, 3, 3, 3)), ("v", (10, 20))):
        proto.graph.initializer.append(numpy_helper.from_array(draw.standard_normal(shape).astype(np.float32), name))
    return proto, {"x": draw.standard_normal((1, 3, 20, 20)).astype(np.float32)}


@pytest.mark.parametrize("machine", MACHINES)
def test_a_shared_library_runs_there(machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compiler, emulator = f"{machine}-linux-gnu-gcc", f"qemu-{machine}"
    for tool in (compiler, emulator):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    monkeypatch.delenv("CC", raising=False)
    proto, inputs = model()
    exe = whence.compile(proto, target=f"llvm -mtriple={machine}-linux-gnu {MACHINES[machine]}")
    exe.export_library(tmp_path / "libnet.so")
    shutil.copy(HEADER, tmp_path)
    words = [compiler, EXAMPLE, f"-I{tmp_path}", tmp_path / "libnet.so", "-lm", "-pthread", "-o", tmp_path / "run"]
    subprocess.run(words, check=True, capture_output=True)
    command = [emulator, "-L", f"/usr/{machine}-linux-gnu", "-E", f"LD_LIBRARY_PATH={tmp_path}", tmp_path / "run", "2"]
    done = subprocess.run(command, input=inputs["x"].tobytes(), capture_output=True, check=True, timeout=100)
    (expected,) = onnxruntime_outputs(proto, inputs)
    np.testing.assert_allclose(np.frombuffer(done.stdout, np.float32), expected[0], rtol=1e-4, atol=1e-5)


def test_an_archive_for_a_machine_that_is_not_linked_here_says_what_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    proto, _ = model()
    path = tmp_path / "net.tar"
    whence.compile(proto, target="llvm -mtriple=riscv64-linux-gnu").export_library(path)
    with pytest.raises(PipelineError, match=r"expected code for x86_64, got some for riscv64"):
        whence.runtime.load_module(path)
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(PipelineError, match=r"expected a \.so, which the system links, got objects for riscv64"):
        whence.runtime.load_module(path)
