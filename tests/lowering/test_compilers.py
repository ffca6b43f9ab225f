"""LLVM in several processes: the same machine code as in this one, whatever becomes of them."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any, cast

import pytest

from whence.lowering.llvm_to_native import compilers as module
from whence.lowering.llvm_to_native.compile import Native, compile_text
from whence.lowering.llvm_to_native.compilers import Compile, compilers
from whence.lowering.llvm_to_native.target import Target
from whence.support.errors import PipelineError

TARGET = Target.native()
TEXTS = [f"define i32 @f(i32 %x) {{\n  %y = mul i32 %x, {n}\n  ret i32 %y\n}}\n" for n in (10, 13, 20)]
DEAD = "import sys; sys.stdin.buffer.read(8)"


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The processes that were started; one starts for whatever waits."""
    started: list[Any] = []

    class Process(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(module.subprocess, "Popen", Process)
    monkeypatch.setattr(module, "available_cpus", lambda: 2)
    monkeypatch.setattr(module, "_WAITING", 0)
    return started


def compiled_apart(texts: list[str], target: Target = TARGET) -> list[Native]:
    """The machine code of texts that a thread beside the first one has compiled."""
    busy = threading.Event()
    with compilers(target) as group:
        # The first thread compiles in this process: it waits meanwhile.
        first = group.submit(lambda compile: busy.wait(60))
        jobs = [group.submit(lambda compile, text=text: compile(text, target)) for text in texts]
        try:
            results = [job.result(60) for job in jobs]
        finally:
            busy.set()
        assert first.result(60)
    return results


def test_a_process_makes_the_same_machine_code(processes: list[Any]) -> None:
    assert compiled_apart(TEXTS) == [compile_text(text, TARGET) for text in TEXTS]
    assert [process.returncode for process in processes] == [0]


def test_a_process_makes_code_for_its_target(processes: list[Any]) -> None:
    target = Target.parse("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-n1")
    assert compiled_apart(TEXTS[:1], target) == [compile_text(TEXTS[0], target)]
    assert len(processes) == 1


@pytest.mark.parametrize("start", [DEAD, "import sys; sys.exit(1)", "print('no record')", "import os; os.abort()"])
def test_without_a_process_that_answers_code_is_made_here(
    processes: list[Any], monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setattr(module, "_START", start)
    assert compiled_apart(TEXTS) == [compile_text(text, TARGET) for text in TEXTS]
    assert len(processes) == 1


def test_without_an_interpreter_code_is_made_here(processes: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert compiled_apart(TEXTS) == [compile_text(text, TARGET) for text in TEXTS]
    assert not processes


def test_errors_are_those_of_compiling_here(processes: list[Any]) -> None:
    with pytest.raises(PipelineError, match="llvm: expected a valid module"):
        compiled_apart(["define nonsense"])
    assert len(processes) == 1


def test_few_kernels_start_no_process(processes: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(module.subprocess, "Popen", cast(Any, None))
    with compilers(TARGET) as group:
        jobs = [group.submit(lambda compile: compile(TEXTS[0], TARGET)) for _ in range(6)]
    assert len({job.result().object for job in jobs}) == 1


def test_after_an_error_what_waits_is_forgotten() -> None:
    busy = threading.Event()
    done: list[int] = []

    def job(compile: Compile) -> None:
        done.append(1)
        busy.wait(60)

    def fail() -> None:
        with compilers(TARGET) as group:
            group.submit(job)
            while not done:
                pass
            group.submit(job)
            threading.Timer(0.05, busy.set).start()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert done == [1]
