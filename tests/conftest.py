"""What every test shares: a cache folder of the run's own, and golden files."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Protocol

import pytest
from children import adopt_orphans, children, end_children, guard
from cpu_seconds import CpuSeconds

_CACHE = "WHENCE_CACHE_DIR"
_made: list[str] = []
_guards: list[subprocess.Popen[bytes]] = []


class Golden(Protocol):
    def __call__(self, name: str, text: str) -> None:
        """Compare `text` with the file `golden/<name>` beside the test."""
        ...


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write the golden files instead of comparing them")
    parser.addoption("--compile-all", action="store_true", help="compile each form of the exported networks")
    parser.addoption("--pictures", action="store_true", help="write the pictures of the docs (tests/browser)")
    parser.addoption("--cpu-seconds", type=int, metavar="N", help="report the CPU seconds, and the N longest tests")


def pytest_configure(config: pytest.Config) -> None:
    """Point the cache to a temporary folder, which the workers of xdist inherit and share."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="whence-tests-")
        os.environ[_CACHE] = folder
        _made.append(folder)
        _guards.append(guard())
    adopt_orphans()
    if longest := config.getoption("--cpu-seconds"):
        config.pluginmanager.register(CpuSeconds(longest))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Have every second worker begin at the last file: so it rewrites the assertions of half of the files, others do
    those of the other half, and each finds on the disk what it did not do."""
    report = yield
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    if isinstance(collector, pytest.Directory) and int(worker.removeprefix("gw")) % 2:
        report.result.reverse()
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring tests into one order, as xdist asks."""
    items.sort(key=lambda item: item.path)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from walking over all tests and modules again and again, and have it walk less."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """End the processes that a test leaves behind."""
    before = children()
    result = yield
    end_children(before)
    return result


def pytest_unconfigure() -> None:
    while _guards:
        _guards.pop().communicate()
    while _made:
        shutil.rmtree(_made.pop(), ignore_errors=True)


@pytest.fixture(scope="session")
def cache_dir() -> Path:
    """The cache folder of this test run."""
    return Path(os.environ[_CACHE])


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares a text that a user sees with a stored one; `--rewrite-golden` stores it."""

    def compare(name: str, text: str) -> None:
        path = request.path.parent / "golden" / name
        if request.config.getoption("--rewrite-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{path} is missing: run with --rewrite-golden"
        assert text == path.read_text(), f"{path} differs: if that is meant, run with --rewrite-golden"

    return compare
