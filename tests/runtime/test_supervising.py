"""Threads for which others wait: they are freed however the work ends, and all threads are started by one function."""

from __future__ import annotations

import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from whence.lowering.llvm_to_native import compilers
from whence.lowering.llvm_to_native.target import Target
from whence.support.supervising import reason, supervised

ROOT = Path(__file__).parents[2]
SOURCES = ("support", "runtime", "lowering", "planning", "explorer", "tuning", "src/whence")


def _work(error: BaseException | None) -> None:
    if error is not None:
        raise error


def _no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("error", [None, ValueError("torn"), SystemExit(3), KeyboardInterrupt()])
def test_who_waits_is_freed_and_gets_the_error(error: BaseException | None):
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    thread = supervised(lambda: _work(error), ended.put, name="worker")
    assert ended.get(timeout=10) is error
    thread.join()
    assert (thread.name, thread.daemon) == ("worker", True)


def test_a_thread_that_does_not_start_frees_them_too(monkeypatch: pytest.MonkeyPatch):
    ended: list[BaseException | None] = []
    monkeypatch.setattr(threading.Thread, "start", _no_thread)
    with pytest.raises(RuntimeError, match="can't start"):
        supervised(lambda: _work(None), ended.append)
    assert [str(error) for error in ended] == ["can't start new thread"]


def test_a_reason_names_the_kind_of_an_error():
    assert reason(ValueError("torn")) == "ValueError: torn"
    assert reason(KeyboardInterrupt()) == "KeyboardInterrupt"


def test_no_thread_is_started_in_another_way():
    files = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py")) if not path.is_symlink()]
    text = "Thread(target"
    assert {path.name for path in files if text in path.read_text()} == {"supervising.py"}


def _broken(*_: Any) -> Any:
    raise ValueError("embedded null byte")


@pytest.mark.parametrize("broken", ["process", "start"])
def test_kernels_are_compiled_though_a_thread_fails(monkeypatch: pytest.MonkeyPatch, broken: str):
    if broken == "process":
        monkeypatch.setattr(compilers, "_process", _broken)
        monkeypatch.setattr(compilers, "_WAITING", 0)
    else:
        monkeypatch.setattr(threading.Thread, "start", _no_thread)
    with compilers.compilers(Target.native()) as group:
        monkeypatch.setattr(group, "_most", 3)
        futures = [group.submit(lambda _, number=number: number) for number in range(20)]
        assert [future.result(timeout=10) for future in futures] == list(range(20))
