"""Functions that differ in one extent share a kernel: how many there are, that they compute the same, and answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

import whence
import whence.lowering.kernel.draft as drafting
from whence.executables.executable import Executable
from whence.explorer.code import kernel_of, work_of
from whence.lowering.kernel.families import members_of
from whence.lowering.kernel.slots import anonymous
from whence.planning.kernels import primitive_functions
from whence.tuning.records import Records

_GROWTH = 32
_PIXELS = 12


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path / "cache"))


def dense_block(layers: int, kernel: int = 1, pixels: int = _PIXELS) -> bytes:
    """A densely connected block: each layer reads all channels before it, and adds `_GROWTH`."""
    nodes: list[str] = []
    values: dict[str, NDArray[Any]] = {}
    rng, channels, x = np.random.default_rng(0), 32, "x"
    for layer in range(layers):
        values[f"w{layer}"] = rng.standard_normal((_GROWTH, channels, kernel, kernel), np.float32) / 8
        values[f"b{layer}"] = rng.standard_normal(_GROWTH, np.float32)
        pad = f"pads = [{', '.join([str(kernel // 2)] * 4)}]"
        nodes.append(f"[conv{layer}] c{layer} = Conv <{pad}> ({x}, w{layer}, b{layer})")
        nodes.append(f"[relu{layer}] r{layer} = Relu (c{layer})")
        nodes.append(f"[join{layer}] x{layer} = Concat <axis = 1> ({x}, r{layer})")
        x, channels = f"x{layer}", channels + _GROWTH
    nodes.append(f"[end] y = Relu ({x})")
    graph = f"(float[1, 32, {pixels}, {pixels}] x) => (float[1, {channels}, {pixels}, {pixels}] y)"
    model: Any = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> g {graph} {{ {" ".join(nodes)} }}')
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in values.items())
    return model.SerializeToString()


def kinds(executable: Executable, what: str) -> list[int]:
    """The numbers of sizes of the kernels with a word in their names."""
    return [kernel.sizes for kernel in executable.artifact.kernels if what in kernel.symbol]


def test_convolutions_over_more_and_more_channels_are_one_kernel():
    model = dense_block(5)
    shared, own = whence.compile(model, threads=1), whence.compile(model, threads=1, tuned=Records())
    assert kinds(shared, "conv2d") == [1]
    assert kinds(own, "conv2d") == [0] * 5
    sizes = [call.run.sizes for call in shared.artifact.calls if "conv2d" in call.name]
    assert sorted(sizes) == [(2,), (4,), (6,), (8,), (10,)]
    x = np.random.default_rng(1).standard_normal((1, 32, _PIXELS, _PIXELS), np.float32)
    session: Any = ort.InferenceSession(model)
    (expected,) = session.run(None, {"x": x})
    np.testing.assert_allclose(shared(x), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(shared(x), own(x))


def test_two_of_a_kind_have_kernels_of_their_own():
    assert kinds(whence.compile(dense_block(2), threads=1), "conv2d") == [0, 0]


def test_the_second_compilation_drafts_nothing(monkeypatch: pytest.MonkeyPatch):
    model = dense_block(4)
    first = whence.compile(model, threads=1)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a kernel was drafted")

    for name in ("draft_kernel", "draft_shared"):
        monkeypatch.setattr(drafting, name, refuse)
    again = whence.compile(model, threads=1)
    assert [kernel_of(again.artifact, i) for i in range(len(again.artifact.kernels))] == list(first.artifact.kernels)


def test_a_family_whose_loops_would_be_others_is_asked_once(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    real = drafting.draft_shared

    def draft(family: Any, *rest: Any) -> Any:
        asked.append(family.function.sym_name.data)
        draft = real(family, *rest)
        # As if the kernel had another loop.
        raise whence.ScheduleError(f"expected the loops of {draft.symbol}")

    monkeypatch.setattr(drafting, "draft_shared", draft)
    model = dense_block(4)
    assert kinds(whence.compile(model, threads=1), "conv2d") == [0] * 4
    count = len(asked)
    assert count == len(set(asked)) > 0
    whence.compile(model, threads=1)
    assert len(asked) == count


def test_padded_copies_of_all_channels_are_no_buffers_of_open_sizes():
    executable = whence.compile(dense_block(4, kernel=3), threads=1)
    assert kinds(executable, "conv2d") == [0] * 4
    for kernel in executable.artifact.kernels:
        assert "tir.alloc : !tir.buffer<1x?" not in kernel_of(executable.artifact, 0).tir, kernel.symbol


def test_work_is_that_of_each_call():
    model = dense_block(5)
    shared, own = whence.compile(model, threads=1), whence.compile(model, threads=1, tuned=Records())
    works = [[work_of(it.artifact, call) for call in it.artifact.calls] for it in (shared, own)]
    assert works[0] == works[1]
    assert len({work for call, work in zip(shared.artifact.calls, works[0], strict=True) if "conv2d" in call.name}) == 5


def test_each_call_has_its_own_layers():
    executable = whence.compile(dense_block(4), threads=1)
    names = [call.run.layers for call in executable.artifact.calls if "conv2d" in call.name]
    assert [sorted(layers) for layers in names] == [sorted((f"conv{i}", f"relu{i}")) for i in range(4)]
    assert all(executable.coverage()[level] == 1.0 for level in ("relay", "te", "tir", "llvm"))
    shared = next(kernel.symbol for kernel in executable.artifact.kernels if "conv2d" in kernel.symbol)
    text = str(executable.why(shared))
    assert all(f"conv{i}" in text for i in range(4))


def test_threads_share_the_work_of_every_size():
    model = dense_block(6)
    x = np.random.default_rng(1).standard_normal((1, 32, _PIXELS, _PIXELS), np.float32)
    one, two = (whence.compile(model, threads=threads)(x) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_families_differ_in_an_outer_axis_alone():
    """Of other axes tiles and vectors are cut, and a size of two axes of one tensor makes work of a square."""
    from whence.compiler.load import load
    from whence.passes.pipelines import relay_pipeline, run_passes

    text = ", ".join(f"float[{n}, 8, 8] a{n}, float[4, {n}, 8] b{n}, float[4, 8, {n}, 8] c{n}" for n in (3, 5, 6))
    nodes = " ".join(f"y{n} = Relu (a{n}) z{n} = Sin (b{n}) v{n} = Exp (c{n})" for n in (3, 5, 6))
    ends = ", ".join(f"float[{n}, 8, 8] y{n}, float[4, {n}, 8] z{n}, float[4, 8, {n}, 8] v{n}" for n in (3, 5, 6))
    module = load(
        onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> g ({text}) => ({ends}) {{ {nodes} }}')
    )
    run_passes(module, relay_pipeline(3))
    functions = [anonymous(func) for func in primitive_functions(module)]
    members = members_of(functions)
    named = {functions[number].sym_name.data: member.extent for number, member in members.items()}
    assert sorted(named) == ["fused_nn_relu", "fused_sin"]
    assert len(members) == 6
    assert sorted({member.extent for member in members.values()}) == [3, 5, 6]
