"""Programs in which values decide: exported after calls, and run where there is no compiler."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import language_programs as programs
import numpy as np
import pytest
from numpy.typing import NDArray
from shipped_programs import CACHE, DRAWN, EXPORTS, FILES, IF, LANGUAGE, MODELS, SCAN, drawn, floats, parsed, whole

import whence
from whence import relay
from whence.executables.interpreted import InterpretedExecutable
from whence.executables.restoring import read_artifact
from whence.runtime import load_module, load_program
from whence.runtime.interpreting.flow import Adt
from whence.support.errors import FrontendError, FrontendWarning, PipelineError

Array = NDArray[Any]
_DEPLOYED = """
import pickle, sys
BARRED = {"xdsl", "llvmlite", "onnx", "lark", "tflite"}
class Bar:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BARRED:
            raise ImportError(f"{name} is barred")
sys.meta_path.insert(0, Bar())
from whence.runtime import load_program
with open(sys.argv[1], "rb") as file:
    tasks = pickle.load(file)
results = []
for path, calls in tasks:
    program = load_program(path)
    results.append([program.run(c) if isinstance(c, dict) else program.invoke("main", *c) for c in calls])
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("whence.")}
with open(sys.argv[2], "wb") as file:
    pickle.dump((results, rooms), file)
"""


def plain(value: Any) -> Any:
    """A value of which numpy compares all."""
    return [value.name, *map(plain, value.fields)] if isinstance(value, Adt) else value


def test_programs_run_without_the_compiler_and_give_the_same(tmp_path: Path):
    tasks: list[tuple[Path, Sequence[Any]]] = []
    expected: list[list[Any]] = []

    def ship(name: str, exe: Any, calls: Sequence[Any]) -> None:
        assert isinstance(exe, InterpretedExecutable), name
        expected.append([exe.run(c) if isinstance(c, dict) else exe(*c) for c in calls])
        tasks.append((tmp_path / f"{len(tasks)}.tar", calls))
        with warnings.catch_warnings():
            # Some branches of exported models are for others than these inputs.
            warnings.simplefilter("ignore", FrontendWarning)
            exe.export_library(tasks[-1][0])

    for name, (text, calls) in MODELS.items():
        ship(name, whence.compile(parsed(text)), list(calls))
    for name in FILES:
        exe = whence.compile(EXPORTS / name)
        ship(name, exe, [drawn(exe.inputs, 4 + k // 2, k) for k in range(3)])
    for name, (text, calls) in LANGUAGE.items():
        ship(name, whence.compile(programs.module_of(text, tmp_path)), list(calls))
    assert len(tasks) >= 12
    (tmp_path / "tasks").write_bytes(pickle.dumps(tasks))
    words = [sys.executable, "-c", _DEPLOYED, tmp_path / "tasks", tmp_path / "results"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results, rooms = pickle.loads((tmp_path / "results").read_bytes())
    assert rooms == {"runtime", "support"}
    for (path, _), got, wanted in zip(tasks, results, expected, strict=True):
        for mine, theirs in zip(got, wanted, strict=True):
            np.testing.assert_equal(plain(mine), plain(theirs), err_msg=str(path))


def test_a_file_takes_sizes_that_no_call_had(tmp_path: Path):
    exe = whence.compile(parsed(CACHE))
    calls = [{"n": np.array(n), "past": floats(1, p, 4), "q": floats(1, 1, 4)} for n, p in ((2, 3), (4, 11), (1, 40))]
    exe.run(calls[0])
    exe.export_library(tmp_path / "x.tar")
    loaded = load_program(tmp_path / "x.tar")
    assert loaded.limited == ()
    for call in calls:
        np.testing.assert_equal(loaded.run(call), whence.compile(parsed(CACHE)).run(call))
    assert [str(spec) for spec in loaded.inputs] == [str(spec) for spec in exe.inputs]
    assert [spec.name for spec in loaded.outputs] == ["all", "last"]


def test_what_no_call_came_to_is_named_when_it_is_exported_and_when_it_is_met(tmp_path: Path):
    exe, path = whence.compile(parsed(IF)), tmp_path / "x.tar"
    with pytest.raises(PipelineError, match="expected a call before it, as calls decide what is compiled, got none"):
        exe.export_library(path)
    assert not path.exists()
    first = {"c": np.array(True), "x": floats(2, 3)}
    exe.run(first)
    with pytest.warns(FrontendWarning, match=r"layer 'choice/second': none, as no call came to it"):
        exe.export_library(path)
    loaded = load_program(path)
    assert loaded.limited == ("layer 'choice/second': none, as no call came to it",)
    np.testing.assert_array_equal(loaded.run(first)["y"], exe.run(first)["y"])
    with pytest.raises(FrontendError, match=r"values that the file has code for.*float32\[2, 3\] 'x' \(layer 'choice/"):
        loaded.run({**first, "c": np.array(False)})


def test_what_is_specialised_is_named(tmp_path: Path):
    exe = whence.compile(parsed(CACHE), tier="static")
    exe.run({"n": np.array(1), "past": floats(1, 3, 4), "q": floats(1, 1, 4)})
    with pytest.warns(FrontendWarning, match=r"from layer 'decode/Identity_0' on: for .*float32\[1, 3, 4\] 'keys'"):
        exe.export_library(tmp_path / "x.tar")


def test_random_numbers_of_a_seed_are_the_same(tmp_path: Path):
    exe, call = whence.compile(parsed(DRAWN), seed=7), {"n": np.array(3), "x": floats(3)}
    expected = [exe.run(call)["y"] for _ in range(2)]
    exe.export_library(tmp_path / "x.tar")
    loaded = load_program(tmp_path / "x.tar")
    for _ in range(2):
        np.testing.assert_array_equal([loaded.run(call)["y"] for _ in range(2)], expected)
        loaded.reset()
    assert not np.array_equal(expected[0], expected[1])


def test_threads_share_a_program(tmp_path: Path):
    exe = whence.compile(parsed(SCAN))
    calls = [{"start": floats(2), "rows": floats(n, 2)} for n in range(1, 9)]
    expected = [exe.run(call)["sums"] for call in calls]
    exe.export_library(tmp_path / "x.tar")
    loaded = load_program(tmp_path / "x.tar", threads=2)
    with ThreadPoolExecutor(4) as workers:
        for mine, theirs in zip(workers.map(loaded.run, calls * 8), expected * 8, strict=True):
            np.testing.assert_array_equal(mine["sums"], theirs)


def test_functions_and_values_of_the_language(tmp_path: Path):
    exe = whence.compile(programs.module_of(programs.REVERSE, tmp_path))
    # No call came: types tell all.
    exe.export_library(tmp_path / "x.tar")
    loaded: Any = load_program(tmp_path / "x.tar")
    cons, value = loaded.constructor("Cons"), loaded.constructor("Nil")()
    for number in whole(1, 2, 3):
        value = cons(number, value)
    assert plain(loaded(value)) == plain(exe(value))
    assert plain(loaded.invoke("copy", value)) == plain(value)
    with pytest.raises(FrontendError, match="expected a constructor among Cons, Nil, got 'Conz'"):
        loaded.constructor("Conz")
    with pytest.raises(FrontendError, match="expected a value of data type List for 'xs', got a list"):
        loaded([1, 2])
    with pytest.raises(FrontendError, match=r"expected a function among .*, got 'cpy'"):
        loaded.invoke("cpy", value)


def test_functions_that_a_program_returns_are_called_and_given_back(tmp_path: Path):
    exe = whence.compile(programs.module_of(programs.CLOSURES, tmp_path))
    exe.export_library(tmp_path / "x.tar")
    loaded: Any = load_program(tmp_path / "x.tar")
    found, both = loaded(*whole(3, 4))
    assert int(found) == 3 + 7 * (3 + 7 * 4)
    assert int(both(10)) == 3 + 7 * 10
    assert int(loaded.invoke("compose", both, both)(np.int32(1))) == 3 + 7 * (3 + 7)
    with pytest.raises(FrontendError, match="expected a function of the program for 'f', got a Function"):
        loaded.invoke("compose", exe(*whole(3, 4))[1], both)


def test_tvms_machine_writes_the_same_file(tmp_path: Path):
    mod = relay.parse(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32], %c: bool) { if (%c) { %x * %x } else { %x } }'
    )
    exe = relay.vm.compile(mod, "llvm")
    loaded: Any = load_program(exe.export_library(tmp_path / "x.tar"))
    np.testing.assert_array_equal(loaded(np.array([2, 3], np.float32), True), [4, 9])


def test_each_door_names_the_other(tmp_path: Path, files: dict[str, Path]):
    exe, path = whence.compile(parsed(SCAN)), tmp_path / "x.tar"
    exe.run({"start": floats(2), "rows": floats(3, 2)})
    exe.export_library(path)
    again = tmp_path / "again.tar"
    exe.export_library(again)
    assert path.read_bytes() == again.read_bytes()
    with pytest.raises(PipelineError, match=r"one in which values decide, which whence.runtime.load_program loads"):
        load_module(path)
    with pytest.raises(FrontendError, match="expected a model that is one native call, got one in which values decide"):
        read_artifact(path)
    with pytest.raises(FrontendError, match=r"a single native call, which whence.runtime.load_module loads"):
        load_program(files["tar"])
    with pytest.raises(PipelineError, match=r"expected a file in .tar, got .so: values decide the steps"):
        exe.export_library(tmp_path / "x.so")
    with pytest.raises(PipelineError, match="expected the file that export_library wrote"):
        pickle.dumps(load_program(path))
    with pytest.raises(PipelineError, match="pickle, copy: expected a model that is one native call"):
        pickle.dumps(exe)
