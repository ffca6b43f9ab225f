"""Candidates measured by workers of a cluster, which are killed, come late, or lose their scheduler."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from dask_cluster import Cluster, kill
from distributed import Security
from onnx import TensorProto, helper, numpy_helper
from planted_kernels import QUICK, product_job

from whence.cli.main import main
from whence.support.errors import PipelineError
from whence.tuning.cluster import ClusterPool
from whence.tuning.connection import certificates
from whence.tuning.jobs import Failed, Job, Outcome
from whence.tuning.machines import machine_here

_SLOW = replace(QUICK, seconds=1.5)
"""A candidate that hangs takes so long."""


def kinds(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.kind if isinstance(outcome, Failed) else "measured" for outcome in outcomes]


def test_candidates_are_judged_as_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with Cluster(tmp_path) as cluster:
        worker = cluster.worker()
        with ClusterPool(cluster.address, patience=1.0) as pool:
            (machines,) = pool.machines()
            assert (machines.facts, machines.workers) == (machine_here(), 1)
            job = product_job("good", "off", "segfault", "good", "hang", protocol=_SLOW)
            equal = product_job("good")
            strange = replace(equal, machine={**machines.facts, "processor": "Another 9000"})
            results = dict(pool.measure([job, strange, product_job(), equal, equal]))
        _check(results)
        # Candidates run in a child of the worker.
        assert worker.poll() is None
        with monkeypatch.context() as context:
            context.setattr("whence.tuning.connection.RESOURCE", "another")
            with pytest.raises(PipelineError, match=r"expected a worker that measures .*no such resource"):
                ClusterPool(cluster.address)
        with ClusterPool(cluster.address, patience=0.2) as pool:
            _check_lost(pool, monkeypatch)


def _check(results: Mapping[int, Sequence[Outcome]]) -> None:
    assert kinds(results[0]) == ["measured", "wrong", "crash", "measured", "hang"]
    (refused,) = results[1]
    assert isinstance(refused, Failed)
    assert refused.why.endswith("within 1 s, got none")
    assert "expected a worker on Another 9000" in refused.why
    assert results[2] == ()
    # Equal jobs are measured each.
    assert kinds(results[3]) == kinds(results[4]) == ["measured"]
    assert results[3] != results[4]


def _check_lost(pool: ClusterPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that never answers is given up."""
    monkeypatch.setattr("whence.tuning.cluster.START_SECONDS", 0.1)
    # The worker is told another limit than is waited for.
    job = product_job("hang", protocol=replace(QUICK, seconds=600.0))
    packed = job.packed()

    def same(_job: Job) -> bytes:
        return packed

    monkeypatch.setattr(Job, "packed", same)
    ((_, (outcome,)),) = pool.measure([replace(job, protocol=replace(QUICK, seconds=0.1))])
    assert isinstance(outcome, Failed)
    assert outcome.why.endswith("expected an answer, got none at 3 attempts")


def test_workers_and_schedulers_may_die_and_others_come(tmp_path: Path):
    jobs = [product_job("good", "hang", "off", protocol=_SLOW) for _ in range(4)]
    with Cluster(tmp_path) as cluster:
        first = cluster.worker()
        with ClusterPool(cluster.address, seconds=1.0) as pool:
            results = pool.measure(jobs)
            done = dict([next(results)])
            kill(first)
            second = cluster.worker()
            done.update([next(results)])
            kill(cluster.scheduler)
            kill(second)
            cluster.start_scheduler()
            third = cluster.worker()
            done.update(results)
            assert [kinds(done[number]) for number in range(4)] == [["measured", "hang", "wrong"]] * 4
            assert pool.machines()[0].workers == 1
        with ClusterPool(cluster.address, seconds=0.5, patience=1.0) as pool:
            kill(cluster.scheduler)
            kill(third)
            ((_, (outcome,)),) = pool.measure([product_job("good")])
            with pytest.raises(PipelineError, match=r"expected a scheduler that answers within 0\.5 s, got none"):
                pool.machines()
    assert isinstance(outcome, Failed)
    assert outcome.why.endswith("within 1 s, got no scheduler")


def test_connections_may_be_encrypted(tmp_path: Path):
    temporary = cast(Any, Security).temporary()
    files = {"ca-file": "tls_ca_file", "cert": "tls_worker_cert", "key": "tls_worker_key"}
    options: list[str] = []
    for option, field in files.items():
        (tmp_path / option).write_text(getattr(temporary, field))
        options += [f"--tls-{option}", str(tmp_path / option)]
    names = [str(tmp_path / name) for name in files]
    with Cluster(tmp_path, *options, protocol="tls") as cluster:
        cluster.worker()
        with ClusterPool(cluster.address, certificates(*names)) as pool:
            assert [kinds(outcomes) for _, outcomes in pool.measure([product_job("good")])] == [["measured"]]
        for other in (None, certificates(*_strangers(tmp_path))):
            expected = r"cluster tls://.*: expected a scheduler that answers within 1 s, got"
            with pytest.raises(PipelineError, match=expected):
                ClusterPool(cluster.address, other, seconds=1.0)
        _check_command(cluster.address, names, tmp_path)


def _strangers(folder: Path) -> list[str]:
    """Certificates that the scheduler does not trust."""
    security = cast(Any, Security).temporary()
    files = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
    for name, field in files.items():
        (folder / f"strange-{name}").write_text(getattr(security, field))
    return [str(folder / f"strange-{name}") for name in files]


def _check_command(address: str, names: Sequence[str], folder: Path) -> None:
    """The command line measures on a cluster."""
    shapes = {"x": [32, 48], "y": [32, 64]}
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items())
    weight = numpy_helper.from_array(np.ones((48, 64), np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "dense", [x], [y], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    options = [word for pair in zip(("--tls-ca-file", "--tls-cert", "--tls-key"), names, strict=True) for word in pair]
    words = ["tune", str(folder / "net.onnx"), "--scheduler", address, "--trials", "2", "-o", str(folder / "records")]
    assert main([*words, *options]) == 0
    (records,) = (folder / "records").rglob("*.jsonl")
    # What a worker measured of the default, at least.
    assert all(json.loads(line) for line in records.read_text().splitlines())
    assert records.stat().st_size > 0


def test_certificates_are_files():
    with pytest.raises(PipelineError, match="certificate /nothing/ca: expected a file, got No such file"):
        certificates("/nothing/ca", "/nothing/cert", "/nothing/key")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://127.0.0.1", "127.0.0.1:1"])
def test_no_scheduler_is_an_error(address: str):
    with pytest.raises(PipelineError, match=f"cluster {address}: expected a scheduler that answers within 0.3 s, got"):
        ClusterPool(address, seconds=0.3)


def test_without_dask_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        PipelineError, match=r'cluster: expected .*pip install "whence-compiler\[cluster\]"\), got none'
    ):
        ClusterPool("tcp://127.0.0.1:8786")
