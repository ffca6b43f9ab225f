"""Memory of programs of open sizes: with bounds one arena for all calls; what is not to be had is one clear error."""

from __future__ import annotations

import mmap
import weakref
from typing import Any, cast

import numpy as np
import onnx.parser
import pytest

import whence
from whence import te
from whence.executables.dynamic import DynamicExecutable
from whence.executables.sized import SizedExecutable
from whence.frontends.onnx import graph
from whence.runtime.values import tensors
from whence.support.errors import FrontendWarning, MemoryRefused, WhenceError

FEW = 5
MANY = 6_000_000
"""Rows and columns of a matrix of floats that no address space holds."""

TWO = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
graph (float[batch, seq] x) => (float[batch, seq] y) {
    t = Transpose <perm = [1, 0]> (x)
    s = Softmax <axis = 0> (t)
    y = Transpose <perm = [1, 0]> (s)
}""")
PAIRS = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
graph (float[n] x) => (float[n, n] y) <int64[1] last = {1}> { c = Unsqueeze (x, last)  y = Mul (c, x) }""")

WINDOWS = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
graph (float[n, c, w] x, float[o, c, k] f) => (float[n, o, v] y) { y = Relu (z)  z = Conv (x, f) }""")
"""Of windows of any size, for which there is no program for all sizes; nodes are out of order."""


def arenas(executable: whence.Executable) -> list[int]:
    return [memory.nbytes for memory, _ in executable.runner._arenas]  # pyright: ignore[reportPrivateUsage]


def run(executable: whence.Executable, batch: int, seq: int) -> None:
    x = np.random.default_rng(0).standard_normal((batch, seq)).astype(np.float32)
    odds = np.exp(x - x.max(1, keepdims=True, initial=0))
    np.testing.assert_allclose(cast(Any, executable(x)), odds / odds.sum(1, keepdims=True), rtol=1e-5)


def test_bounds_of_all_sizes_make_one_arena():
    bounded = whence.compile(TWO, tier="symbolic", opt_level=0, input_shapes="x:[batch<=3,seq<=40]")
    run(bounded, 1, 2)
    most = arenas(bounded)
    assert most == [bounded.artifact.program.arena_bytes]
    for batch, seq in ((3, 40), (2, 7), (1, 1)):
        run(bounded, batch, seq)
    assert arenas(bounded) == most
    # It is what the largest run takes, no more.
    grown = whence.compile(TWO, tier="symbolic", opt_level=0, input_shapes="x:[batch,seq<=40]")
    run(grown, 1, 2)
    assert grown.artifact.program.arena_bytes == 0
    assert arenas(grown) < most
    run(grown, 3, 40)
    assert arenas(grown) == most


def test_bounds_beyond_all_memory_are_no_harm():
    far = whence.compile(TWO, tier="symbolic", opt_level=0, input_shapes=f"x:[batch<={2**30},seq<={2**30}]")
    assert far.artifact.program.arena_bytes >= 2**60
    run(far, 2, 5)
    assert arenas(far)[0] < 1000


def test_outputs_that_are_too_large():
    executable = whence.compile(PAIRS, tier="symbolic")
    assert isinstance(executable, SizedExecutable)
    with pytest.raises(MemoryRefused, match=f"memory: expected {4 * MANY * MANY} bytes for outputs, which"):
        executable(np.zeros(MANY, np.float32))
    assert cast(Any, executable(np.ones(FEW, np.float32))).sum() == FEW * FEW


def test_a_kernel_that_gets_no_memory_says_so():
    n = te.size_var("n")
    x = te.placeholder((n,), "float32", name="x")
    a = te.compute((n, n), lambda i, j: x(i) * x(j), "a")
    k = te.reduce_axis((0, n), "k")
    function = whence.build_schedule(te.create_schedule([te.compute((n,), lambda i: te.sum(a(k, i), axis=k), "b")]))
    with pytest.raises(MemoryError, match=f"memory: expected {4 * MANY * MANY} bytes for a kernel, which") as raised:
        function(np.zeros(MANY, np.float32))
    assert isinstance(raised.value, WhenceError)
    given = np.arange(FEW, dtype=np.float32)
    np.testing.assert_array_equal(cast(Any, function(given)), given * given.sum())


def test_weights_are_not_kept_as_the_file_has_them(monkeypatch: pytest.MonkeyPatch):
    """They would lie beside those that kernels read: a program for all sizes is made once the model is gone."""
    opened: list[weakref.ref[graph.Model]] = []
    read = graph.open_model

    def watched(source: Any) -> graph.Model:
        model = read(source)
        opened.append(weakref.ref(model))
        return model

    def progress(stage: str, done: int, steps: int) -> None:
        alive.append(opened[0]() is not None)

    alive: list[bool] = []
    monkeypatch.setattr(graph, "open_model", watched)
    whence.compile(TWO, progress=progress)
    assert len(opened) == 1
    assert alive
    assert not any(alive)

    # What turns out to have none is read again; what is said of the file is said once.
    with pytest.warns(FrontendWarning, match="topological order") as said:
        found = whence.compile(WINDOWS)
    assert isinstance(found, DynamicExecutable)
    assert (len(opened), len(said)) == (3, 1)


def test_weights_lie_in_huge_pages(monkeypatch: pytest.MonkeyPatch):
    """All of them that fill one; memory that a system gives no advice on is as good."""
    huge = 1 << 21
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
graph (float[n, 768] x) => (float[n, 768] y) <float[768, 768] w> { y = MatMul (x, w) }""")
    weight = np.random.default_rng(0).standard_normal((768, 768), np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    x = weight[:2]
    for advice in (tensors._MADV_HUGEPAGE, 12345, None):  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(tensors, "_MADV_HUGEPAGE", advice)
        executable = whence.compile(model, tier="symbolic")
        np.testing.assert_allclose(cast(Any, executable(x)), x @ weight, rtol=1e-3, atol=1e-3)
        (packed,) = executable.artifact.params
        assert packed.nbytes > huge
        assert tensors.address(packed) % 64 == 0
        if advice == getattr(mmap, "MADV_HUGEPAGE", 0):
            assert tensors.address(packed) % huge == 0
