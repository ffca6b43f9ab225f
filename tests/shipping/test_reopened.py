"""Files of programs in which values decide explain themselves, as the compilation does."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import language_programs as programs
import numpy as np
import pytest
from shipped_programs import BOXES, CACHE, DRAWN, IF, boxes, floats, parsed

import whence
from whence.cli.main import main
from whence.executables.interpreted import InterpretedExecutable
from whence.executables.profiling import profiled
from whence.executables.restoring import read_executable
from whence.support.errors import FrontendWarning, PipelineError


def exported(exe: Any, path: Path) -> Any:
    with warnings.catch_warnings():
        # What no call came to is told in a test of its own.
        warnings.simplefilter("ignore", FrontendWarning)
        exe.export_library(path)
    reopened = read_executable(path)
    assert isinstance(reopened, InterpretedExecutable)
    return reopened


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]):
    """A call of the command line: what it printed."""

    def run(*words: object) -> str:
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    return run


CACHE_CALL = {"n": np.array(2), "past": floats(1, 3, 4), "q": floats(1, 1, 4)}
BRANCH_CALL = {"c": np.array(True), "x": floats(2, 3)}


@pytest.mark.parametrize(
    ("text", "call"),
    [(IF, BRANCH_CALL), (CACHE, CACHE_CALL), (BOXES, boxes(6)), (DRAWN, {"n": np.array(3), "x": floats(3)})],
)
def test_a_model_gives_the_answers_of_its_compilation(text: str, call: Any, tmp_path: Path):
    exe = whence.compile(parsed(text), seed=3)
    exe.run(call)
    reopened = exported(exe, tmp_path / "x.tar")
    assert reopened.layers == exe.layers
    assert list(map(str, reopened.wheres())) == list(map(str, exe.wheres()))
    assert [str(why) for why in reopened.whys()] == [str(why) for why in exe.whys()]
    assert reopened.choice == exe.choice
    assert [str(spec) for spec in (*reopened.inputs, *reopened.outputs)] == [
        str(s) for s in (*exe.inputs, *exe.outputs)
    ]
    assert reopened.coverage() == exe.coverage()
    exe.reset()
    np.testing.assert_equal(reopened.run(call), exe.run(call))
    # Then it is about the stretches of that call.
    assert reopened.kernels == exe.kernels


@pytest.mark.parametrize("name", ["GROWING", "ARITHMETIC", "CLOSURES", "LSTM", "DECIDED", "REVERSE", "PATTERNS"])
def test_a_program_of_the_language_gives_the_answers_of_its_compilation(name: str, tmp_path: Path):
    exe: Any = whence.compile(programs.module_of(getattr(programs, name), tmp_path))
    reopened = exported(exe, tmp_path / "x.tar")
    assert reopened.layers == exe.layers
    assert list(map(str, reopened.wheres())) == list(map(str, exe.wheres()))
    kernels = [call.name for part in exe.specializations for call in part.artifact.calls]
    assert sorted(reopened.kernels) == sorted(kernels)
    assert {str(reopened.why(kernel)) for kernel in kernels} == {str(exe.why(kernel)) for kernel in kernels}


def test_a_branch_that_was_never_called_has_its_layers(tmp_path: Path):
    exe = whence.compile(parsed(IF))
    exe.run(BRANCH_CALL)
    reopened = exported(exe, tmp_path / "x.tar")
    assert reopened.layers == ("choice", "choice/first", "choice/second")
    assert str(reopened.where("choice")) == "layer choice (If, <memory>:0): If, done by the interpreter"
    assert reopened.where("choice/first").kernels[0].call == "fused_exp"
    unseen = reopened.where("choice/second")
    assert str(unseen) == "layer choice/second (Abs, <memory>:0): not compiled, as no call came to it"
    assert (unseen.uncompiled, unseen.kernels) == (True, ())
    assert "layer 'choice/second': none, as no call came to it" in reopened.report()
    with pytest.raises(PipelineError, match=r"expected a program that was compiled here; copy .*x.tar, got one of a"):
        reopened.export_library(tmp_path / "y.tar")


def test_the_command_line_takes_such_files(tmp_path: Path, said: Any):
    exe = whence.compile(parsed(IF))
    exe.run(BRANCH_CALL)
    exported(exe, path := tmp_path / "if.tar")
    assert said("why", path) == said("tir", path)
    assert "fused_exp" in said("why", path)
    assert "choice/first" in said("why", path, "--kernel", "fused_exp")
    assert [row["name"] for row in json.loads(said("where", path, "--json"))] == list(exe.layers)
    assert "not compiled" in said("where", path, "--layer", "choice/second")
    rows = {line.split()[0]: line for line in said("where", path, "--all").splitlines() if line.startswith("choice")}
    assert [rows[name].split("  ")[-1].strip() for name in exe.layers] == [
        "the interpreter",
        "fused_exp",
        "not compiled",
    ]
    np.savez(inputs := tmp_path / "x.npz", allow_pickle=False, **BRANCH_CALL)
    out = said("run", path, "-i", inputs, "-o", tmp_path / "y.npz")
    assert "3 layers; the call decides: 1 stretch, 1 kernel call" in out
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["y"], exe.run(BRANCH_CALL)["y"])
    data = json.loads(said("profile", path, "-i", inputs, "--json"))
    assert list(data["layers"]) == ["choice/first"]
    assert "choice/first" in said("profile", path, "-i", inputs)


def test_the_profiler_sees_each_turn_of_a_loop(tmp_path: Path):
    exe = whence.compile(parsed(CACHE))
    exe.run(CACHE_CALL)
    reopened = exported(exe, tmp_path / "x.tar")
    arguments = [CACHE_CALL[spec.name] for spec in reopened.inputs]
    for one in (exe, reopened):
        report = profiled(one, "main", arguments)
        assert [call["Name"] for call in report.calls] == 2 * list(exe.kernels)
        assert "decode/grow" in report.by_layer()
    results = reopened.invoke("main", *arguments)
    np.testing.assert_equal(results, exe(*arguments))
