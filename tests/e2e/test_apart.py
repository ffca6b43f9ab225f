"""Programs for certain sizes that a process of its own compiles."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx.parser
import pytest
from numpy.typing import NDArray

import whence
from whence.executables import apart
from whence.executables import apart_process as compiling
from whence.executables.apart import CompiledApart
from whence.executables.sized import SizedExecutable
from whence.lowering.cache import decode
from whence.planning.archive import PROVENANCE, archived
from whence.planning.artifact import Artifact

Array = NDArray[Any]
RNG = np.random.default_rng(6)
WEIGHT = RNG.standard_normal((12, 10)).astype(np.float32)
MODEL = f"""<ir_version: 8, opset_import: ["": 18]> graph (float[n, 12] x) => (float[n, 10] y)
<float[12, 10] w = {{{", ".join(map(str, WEIGHT.reshape(-1).tolist()))}}}> {{
    [product] p = MatMul (x, w)
    [twice] t = Add (p, p)
    [act] y = Tanh (t)
}}"""


def compiled(often: int) -> SizedExecutable:
    executable = whence.compile(onnx.parser.parse_model(MODEL), threads=1)
    assert isinstance(executable, SizedExecutable)
    executable._often = often  # pyright: ignore[reportPrivateUsage]
    return executable


def check(executable: SizedExecutable, n: int) -> None:
    x = RNG.standard_normal((n, 12)).astype(np.float32)
    np.testing.assert_allclose(cast(Array, executable(x)), np.tanh(2 * (x @ WEIGHT)), rtol=1e-4, atol=1e-5)


def told(artifact: Artifact) -> object:
    """The ledger and the ops that it speaks of, whose numbers count from 1 in a file."""
    tables = json.loads(cast("dict[str, Any]", decode(archived(artifact)[PROVENANCE]))["history"])
    history = tables["history"]
    return history["ledger"]["entries"], history["ledger"]["copies"], history["ops"], tables["locations"]


def test_programs_of_another_process_run_and_answer_as_those_of_this_one(tmp_path: Path):
    executable = compiled(often=3)
    failures: list[Exception] = []

    def call(n: int) -> None:
        try:
            while not executable.specializations:
                check(executable, n)
                time.sleep(0.05)
        except Exception as error:  # told below
            failures.append(error)

    threads = [threading.Thread(target=call, args=(n,)) for n in (5, 5)]
    for thread in threads:
        thread.start()
    assert executable.wait(60)
    for thread in threads:
        thread.join(60)
    assert not failures
    (program,) = executable.specializations
    assert isinstance(program, CompiledApart)
    check(executable, 5)
    assert executable.last is program
    ours = executable._specialised((5,))  # pyright: ignore[reportPrivateUsage]
    assert program.kernels == ours.kernels
    assert [kernel.object for kernel in program.artifact.kernels] == [kernel.object for kernel in ours.artifact.kernels]
    assert told(program.artifact) == told(ours.artifact)
    assert [one.text for one in program.artifact.snapshots] == [one.text for one in ours.artifact.snapshots]
    assert str(program.why(0)) == str(ours.why(0))
    assert (str(program.inputs[0]), str(program.outputs[0])) == ("float32[5, 12] 'x'", "float32[5, 10] 'y'")
    program.export_library(tmp_path / "five.tar")


@pytest.mark.parametrize("script", ["import os; os.kill(os.getpid(), 9)", "import sys; sys.exit(0)"])
def test_no_program_comes_of_a_process_that_is_killed_or_writes_nothing(monkeypatch: pytest.MonkeyPatch, script: str):
    monkeypatch.setattr(apart, "_START", script)
    executable = compiled(often=1)
    for n in (5, 6, 5):
        check(executable, n)
        assert executable.wait(60)
    assert executable.specializations == ()


@pytest.mark.parametrize("place", ["compiled", "before"])
def test_an_error_of_any_kind_frees_who_waits_for_the_thread_that_compiles(monkeypatch: pytest.MonkeyPatch, place: str):
    def broken(*_: Any) -> None:
        raise ValueError("embedded null byte")

    executable = compiled(often=1)
    monkeypatch.setattr(apart.Source, "compiled", broken)
    if place == "before":
        monkeypatch.setattr("whence.executables.sized.portable", broken)
    for n in (5, 6):
        check(executable, n)
        assert executable.wait(60)
        assert f"for n = {n}: no program of their own: ValueError: embedded null byte" in executable.report()


def test_a_process_without_the_compiler_leaves_the_work_to_a_thread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apart, "_START", f"import sys; sys.exit({apart.NO_START})")
    executable = compiled(often=1)
    check(executable, 5)
    assert executable.wait(60)
    assert [type(program) for program in executable.specializations] == [whence.Executable]


def test_a_process_ends_with_its_input_or_with_who_started_it(monkeypatch: pytest.MonkeyPatch):
    watch: Any = compiling.end_with
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    reading, writing = os.pipe()
    with os.fdopen(reading) as reader:
        monkeypatch.setattr(sys, "stdin", reader)
        watch(os.getppid() + 1).join()
        os.close(writing)
        watch(os.getppid()).join()
    watch(os.getppid()).join()  # of an input that is closed
    assert ended == [1, 1, 1]


def test_what_only_this_process_has_is_compiled_here():
    executable = compiled(often=1)
    build = executable._build  # pyright: ignore[reportPrivateUsage]
    assert apart.portable(build) is build
    assert apart.portable(lambda module, ledger: build(module, ledger)) is None
    with whence.PassContext(instruments=[whence.instrument.PassTimingInstrument()]):
        assert apart.portable(build) is None
    with whence.PassContext(config={"tir.instrument_bound_checkers": True}):
        assert apart.portable(build) is None

    @whence.strategy(tag="nobody")
    def schedule(work: Any, stage: Any) -> None:
        """Of this process."""

    try:
        assert apart.portable(build) is None
    finally:
        whence.unregister_schedule("schedule")


def test_a_forked_process_begins_anew(monkeypatch: pytest.MonkeyPatch):
    executable = compiled(often=1)
    monkeypatch.setattr(apart, "_START", "import os; os.kill(os.getpid(), 9)")
    check(executable, 5)
    assert executable.wait(60)
    state = executable._state  # pyright: ignore[reportPrivateUsage]
    with state.lock:
        executable.forked()
    monkeypatch.setattr(apart, "_START", f"import sys; sys.exit({apart.NO_START})")
    check(executable, 5)
    assert executable.wait(60)
    assert len(executable.specializations) == 1
