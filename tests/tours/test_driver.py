"""TVM's tutorials on its driver, told anew: in Python and in the shell, with numpy as the judge."""

# pyright: basic

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx.numpy_helper
import onnx.parser
import pytest

from whence.driver import tvmc
from whence.support.errors import WhenceError

RNG = np.random.default_rng(9)
X = RNG.standard_normal((1, 3, 16, 16)).astype(np.float32)
W = (RNG.standard_normal((64, 3, 3, 3)) / 5).astype(np.float32)
V = (RNG.standard_normal((10, 64)) / 8).astype(np.float32)


def expected() -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(X, (3, 3), (2, 3))
    hidden = np.maximum(np.einsum("nchwij,ocij->nohw", windows, W), 0).mean((2, 3))
    e = np.exp(hidden @ V.T - (hidden @ V.T).max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 13]>
    net (float[1, 3, 16, 16] data) => (float[1, 10] scores) {
        [conv] a = Conv <kernel_shape = [3, 3]> (data, w)
        [act] b = Relu (a)
        [pool] c = GlobalAveragePool (b)
        [flat] d = Flatten (c)
        [fc] e = Gemm <transB = 1> (d, v)
        [prob] scores = Softmax (e)
    }""")
    model.graph.initializer.extend([onnx.numpy_helper.from_array(W, "w"), onnx.numpy_helper.from_array(V, "v")])
    path = tmp_path_factory.mktemp("tvmc") / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_tvmc_in_python(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tvmc.load(str(path))
    model.summary()
    assert "nn.conv2d" in capsys.readouterr().out
    log = tvmc.tune(model, target="llvm", tuning_records=str(tmp_path / "records.json"), trials=2)
    package = tvmc.compile(model, target="llvm", tuning_records=log, package_path=str(tmp_path / "net.tar"))
    result = tvmc.run(package, device="cpu", inputs={"data": X}, repeat=2, number=1)
    np.testing.assert_allclose(result.get_output("output_0"), expected(), rtol=1e-4, atol=1e-6)
    assert "Execution time summary" in str(result)
    model.save(str(tmp_path / "desired.tar"))
    saved = tvmc.TVMCModel(model_path=str(tmp_path / "desired.tar"))
    loaded = tvmc.TVMCPackage(package_path=tvmc.compile(saved, "llvm", package_path=tmp_path / "b.tar").package_path)
    again = tvmc.run(loaded, device="cpu", inputs={"data": X}, repeat=1, number=1)
    np.testing.assert_allclose(again.get_output("output_0"), expected(), rtol=1e-4, atol=1e-6)
    with pytest.raises(WhenceError, match="runs here"):
        tvmc.run(package, device="cpu", rpc_key="rasp", hostname="127.0.0.1", port=9090)


def shell(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "whence.driver.tvmc", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_tvmc_in_the_shell(path: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "image.npz", data=X)
    for command in ("tune", "compile", "run"):
        assert "--target" in shell(tmp_path, command, "--help")
    tuned = ["--tuning-records", "records.json"]
    shell(tmp_path, "tune", "--target", "llvm", "--trials", "2", "--output", "records.json", str(path))
    shell(
        tmp_path,
        *("compile", "--target", "llvm", "--input-shapes", "data:[1,3,16,16]", *tuned, "--output", "net.tar"),
        *("--desired-layout", "NHWC", str(path)),
    )
    said = shell(
        tmp_path,
        *("run", "--inputs", "image.npz", "--output", "scores.npz", "--print-time", "--repeat", "2", "net.tar"),
    )
    assert "mean (ms)" in said
    with np.load(tmp_path / "scores.npz") as scores:
        (array,) = (scores[name] for name in scores.files)
    np.testing.assert_allclose(array, expected(), rtol=1e-4, atol=1e-6)
    half = ["--mixed-precision"]
    shell(tmp_path, "compile", "--target", "llvm", *half, "--output", "half.tar", str(path))
    shell(tmp_path, "run", "--inputs", "image.npz", "--output", "half.npz", "half.tar")
    with np.load(tmp_path / "half.npz") as scores:
        (array,) = (scores[name] for name in scores.files)
    np.testing.assert_allclose(array.astype(np.float32), expected(), rtol=2e-2, atol=1e-3)
