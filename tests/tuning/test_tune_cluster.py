"""`whence tune` with workers of dask, as it is typed."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import onnx.numpy_helper
import onnx.parser
import pytest
from dask_cluster import Cluster

import whence
from whence.cli.main import main
from whence.driver import tvmc
from whence.tuning import tuner
from whence.tuning.cluster import ClusterPool

MODEL = """
<ir_version: 8, opset_import: ["": 17]>
net (float[24, 96] x) => (float[24, 80] y) { [fc] a = MatMul (x, w) [act] y = Relu (a) }"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tuner, "_LEAST", -1.0)
    net = onnx.parser.parse_model(MODEL)
    weight = np.random.default_rng(0).standard_normal((96, 80), np.float32)
    net.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    path = tmp_path / "net.onnx"
    path.write_bytes(net.SerializeToString())
    return path


def test_workers_measure(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with Cluster(tmp_path) as cluster:
        cluster.worker()
        cluster.worker()
        words = ["--trials", "8", "--threads", "1", "-o", str(tmp_path / "tuned"), "--json"]
        assert main(["tune", str(model), "--scheduler", cluster.address, *words]) == 0
    ((report,),) = [json.loads(capsys.readouterr().out)]
    assert report["measured"] == 8
    tuned = whence.compile(model, tuned=tmp_path / "tuned", threads=1)
    x = np.random.default_rng(1).standard_normal((24, 96), np.float32)
    weight = np.random.default_rng(0).standard_normal((96, 80), np.float32)
    np.testing.assert_allclose(tuned.run({"x": x})["y"], np.maximum(x @ weight, 0), rtol=1e-4, atol=1e-4)


def test_a_scheduler_that_does_not_answer(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("whence.tuning.cluster.ClusterPool", partial(ClusterPool, seconds=1.0))
    assert main(["tune", str(model), "--scheduler", "tcp://127.0.0.1:1", "-o", str(tmp_path / "tuned")]) == 1
    error = capsys.readouterr().err
    assert "cluster tcp://127.0.0.1:1: expected a scheduler that answers within" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "tuned").exists()


def test_tvmc_tunes_and_compiles(model: Path, tmp_path: Path):
    records = tvmc.tune(tvmc.load(model), target="llvm", tuning_records=tmp_path / "net.json", trials=4, threads=1)
    assert records == str(tmp_path / "net.json")
    package = tvmc.compile(tvmc.load(model), target="llvm", tuning_records=records, package_path=tmp_path / "net.tar")
    assert tvmc.run(package, device="cpu", number=1).get_output("output_0").shape == (24, 80)
    with pytest.raises(whence.support.errors.PipelineError, match=r"tuner formula, as there is one way to tune"):
        tvmc.tune(tvmc.load(model), tuner="xgb")


def test_the_command_has_tvmcs_words(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    records, package = tmp_path / "records.json", tmp_path / "net.tar"
    assert main(["tune", "--target", "llvm", "--trials", "4", "--output", str(records), str(model)]) == 0
    assert (
        main(["compile", "--target", "llvm", "--tuning-records", str(records), "--output", str(package), str(model)])
        == 0
    )
    assert package.exists()
    assert "Traceback" not in capsys.readouterr().err
