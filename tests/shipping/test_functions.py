"""Built functions as files, and what TVM's users ask of a function beside calling it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as tvm
from whence import te
from whence.contrib import graph_executor
from whence.executables.executable import Executable
from whence.executables.restoring import read_artifact
from whence.explorer.loops import loops
from whence.kernels.functions import Function
from whence.kernels.open_functions import OpenFunction
from whence.runtime import load_module
from whence.runtime.program.timing import BenchmarkResult
from whence.support.errors import WhenceError


@pytest.fixture(scope="module")
def add() -> Function:
    """c = a + b; the output is the second of three arguments, and it is named as a function of C is."""
    a, b = te.placeholder((130,), name="a"), te.placeholder((130,), name="b")
    c = te.compute((130,), lambda i: a[i] + b[i], name="c")
    schedule = te.create_schedule(c.op)
    schedule[c].parallel(schedule[c].split(c.op.axis[0], factor=16)[0])
    return tvm.build(schedule, [a, c, b], name="write")


@pytest.fixture
def arrays() -> Sequence[Any]:
    rng = np.random.default_rng(0)
    return rng.standard_normal(130, np.float32), np.zeros(130, np.float32), rng.standard_normal(130, np.float32)


@pytest.mark.parametrize("kind", ["tar", "so", "o"])
def test_a_file_is_the_function(kind: str, add: Function, arrays: Sequence[Any], tmp_path: Path):
    a, c, b = arrays
    module = load_module(add.export_library(tmp_path / f"add.{kind}"))
    for call in (module["write"], module, module.entry_func, module.get_function("write")):
        c[...] = 0
        assert call(a, c, b) is None
        np.testing.assert_array_equal(c, a + b)
    np.testing.assert_array_equal(module["write"](a, b), a + b)
    timed = module.time_evaluator("write", tvm.cpu(), number=2, repeat=3)(a, c, b)
    assert isinstance(timed, BenchmarkResult)
    assert len(timed.results) == 3
    graph = graph_executor.create(module.get_graph_json(), module, tvm.cpu())
    graph.run(a=a, b=b)
    np.testing.assert_array_equal(graph.get_output(0).numpy(), a + b)
    assert len(graph.module.time_evaluator("run", number=1, repeat=2)().results) == 2
    for wrong in ((a,), (a, c[:3], b), (a, c.astype(np.float64), b), (a, np.broadcast_to(c[:1], 130), b)):
        with pytest.raises(WhenceError, match="function 'write': expected"):
            module["write"](*wrong)
    with pytest.raises(WhenceError, match="expected a function among write"):
        module["read"]


def test_a_file_knows_the_lines_of_a_function(add: Function, tmp_path: Path):
    found = read_artifact(add.export_library(tmp_path / "add.tar"))
    stores = [line for line in loops(found, "write").lines if "tir.store" in line.text]
    assert {line.layers for line in stores} == {("c",)}
    assert sum(line.native for line in stores)
    assert {*Executable(found).layers} == {"a", "b", "c"}


def test_source_and_names(add: Function, arrays: Sequence[Any], tmp_path: Path):
    for suffix, text in (("ll", add.llvm), ("s", add.assembly), ("tir", add.tir)):
        add.save(tmp_path / f"f.{suffix}")
        assert (tmp_path / f"f.{suffix}").read_text() == text == add.get_source(suffix)
    assert add.get_source() == add.llvm
    assert add["write"] is add.entry_func is add
    timed = add.time_evaluator(add.entry_name, tvm.cpu(), number=1, repeat=2)(*arrays)
    np.testing.assert_array_equal(arrays[1], arrays[0] + arrays[2])
    assert len(timed.results) == 2
    for wrong in (lambda: add["read"], lambda: add.get_source("ptx"), lambda: add.save("f.tar", "ll2")):
        with pytest.raises(WhenceError, match="expected"):
            wrong()


def test_what_cannot_leave_the_process_is_refused(tmp_path: Path):
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="b")
    double = tvm.build(te.create_schedule(b.op), [a, b], name="double")
    assert isinstance(double, OpenFunction)
    fixed = load_module(double.specialized(n=3).export_library(tmp_path / "f.tar"))
    np.testing.assert_array_equal(fixed["double"](np.ones(3, np.float32)), np.full(3, 2, np.float32))
    x = te.placeholder((4,), name="x")
    te.register_func("functions.fill", np.copyto)
    y = te.extern((4,), [x], lambda ins, outs: te.call_packed("functions.fill", ins[0], outs[0]), name="y")
    called = tvm.build(te.create_schedule(y.op), [x, y], name="called")
    with pytest.raises(WhenceError, match="expected code that needs nothing of this process"):
        called.export_library(tmp_path / "g.tar")
    assert not (tmp_path / "g.tar").exists()
