"""Candidates measured by workers of a cluster, which are killed, come late, or lose their scheduler."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from dask_cluster import Cluster, kill
from distributed import Security
from planted_kernels import QUICK, product_job

from whence.support.errors import PipelineError
from whence.tuning.cluster import ClusterPool
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
    paths = {name: str(tmp_path / name) for name in files}
    security = Security(
        tls_ca_file=paths["ca-file"],
        tls_client_cert=paths["cert"],
        tls_client_key=paths["key"],
        require_encryption=True,
    )
    with Cluster(tmp_path, *options, protocol="tls") as cluster:
        cluster.worker()
        with ClusterPool(cluster.address, security) as pool:
            assert [kinds(outcomes) for _, outcomes in pool.measure([product_job("good")])] == [["measured"]]
        with pytest.raises(PipelineError, match=r"cluster tls://.*: expected a scheduler that answers within 1 s, got"):
            ClusterPool(cluster.address, seconds=1.0)


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
