"""How many CPUs there are to use: never more than the process is bound to, or its control groups grant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from whence.runtime.program.cpus import available_cpus


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 64 CPUs."""

    def affinity(_pid: int) -> set[int]:
        return set(range(64))

    monkeypatch.setattr(os, "sched_getaffinity", affinity)


def test_a_process_bound_to_one_cpu_has_one():
    cpu = min(os.sched_getaffinity(0))
    script = (
        f"import os; os.sched_setaffinity(0, {{{cpu}}}); from whence.runtime.program.threads import thread_count; "
        "print(thread_count())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "WHENCE_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "1\n"


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("limit", "cpus"),
    [
        ("max 100000", 64),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("6400000 1000", 64),
        ("", 64),
    ],
)
def test_a_quota_of_the_unified_hierarchy(tmp_path: Path, limit: str, cpus: int):
    write(tmp_path / "own", "0::/outer/inner\n")
    write(tmp_path / "groups/outer/cpu.max", limit)
    write(tmp_path / "groups/outer/inner/cpu.max", "max 100000\n")
    assert available_cpus(tmp_path / "groups", tmp_path / "own") == cpus


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(("quota", "cpus"), [("-1", 64), ("300000", 3)])
def test_a_quota_of_the_old_hierarchy(tmp_path: Path, quota: str, cpus: int):
    write(tmp_path / "own", "5:memory:/m\n4:cpu,cpuacct:/job\n")
    write(tmp_path / "groups/cpu,cpuacct/job/cpu.cfs_quota_us", quota)
    write(tmp_path / "groups/cpu,cpuacct/job/cpu.cfs_period_us", "100000")
    assert available_cpus(tmp_path / "groups", tmp_path / "own") == cpus


@pytest.mark.usefixtures("many")
def test_a_container_sees_its_group_at_the_root(tmp_path: Path):
    """Where the path of the group is the host's, and is not there."""
    write(tmp_path / "own", "0::/../../somewhere\n")
    write(tmp_path / "groups/cpu.max", "400000 100000\n")
    assert available_cpus(tmp_path / "groups", tmp_path / "own") == 4
    assert available_cpus(tmp_path / "none", tmp_path / "none") == 64
