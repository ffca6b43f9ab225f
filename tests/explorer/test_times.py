"""Estimated work against the formulas of papers and textbooks, and times shared out by it."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from unittest.mock import Mock

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper

import whence
from whence.cli.timing import measure
from whence.explorer.code import kernel_of
from whence.explorer.layers import layers_of, owners
from whence.explorer.roof import Traffic, layer_roofs, roof, roofs
from whence.explorer.times import Times, shares
from whence.lowering.relay_to_te.cost import Rates
from whence.reading.arrays import default_inputs
from whence.support.machine import Machine


def parsed(body: str, inputs: str, output: str, weights: dict[str, tuple[int, ...]] | None = None) -> ModelProto:
    """A model of these nodes with random weights."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> g ({inputs}) => ({output}) {{{body}}}')
    rng = np.random.default_rng(2)
    for name, shape in (weights or {}).items():
        array = rng.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


def operations(compiled: whence.Executable) -> int:
    """Of all kernel calls."""
    return sum(one[0] for call in compiled.artifact.calls for one in kernel_of(compiled.artifact, call.kernel).work)


@pytest.mark.parametrize("level", [0, 3])
def test_a_convolution_is_two_operations_per_product(level: int):
    model = parsed("y = Conv(x, w)", "float[2,8,12,11] x", "float[2,16,10,9] y", {"w": (16, 8, 3, 3)})
    out, taps = (2, 16, 10, 9), 8 * 3 * 3
    assert operations(whence.compile(model, opt_level=level)) == 2 * prod(out) * taps


def test_a_grouped_convolution_has_fewer_products():
    model = parsed("y = Conv<group = 4>(x, w)", "float[1,8,9,9] x", "float[1,16,7,7] y", {"w": (16, 2, 3, 3)})
    assert operations(whence.compile(model, opt_level=0)) == 2 * (16 * 7 * 7) * (2 * 3 * 3)


def test_a_dense_layer_is_two_operations_per_product():
    model = parsed("y = Gemm<transB = 1>(x, w)", "float[6,40] x", "float[6,24] y", {"w": (24, 40)})
    assert operations(whence.compile(model)) == 2 * 6 * 24 * 40


def test_a_pooling_is_one_operation_per_element_of_a_window():
    model = parsed("y = MaxPool<kernel_shape = [3, 2]>(x)", "float[1,5,8,8] x", "float[1,5,6,7] y")
    assert operations(whence.compile(model)) == 5 * 6 * 7 * 3 * 2


def test_what_moves_counts_its_bytes():
    model = parsed("y = Transpose<perm = [1, 0]>(x)", "float[6,40] x", "float[40,6] y")
    compiled = whence.compile(model)
    work = [one for call in compiled.artifact.calls for one in kernel_of(compiled.artifact, call.kernel).work]
    assert sum(moved for _, moved in work) == 2 * 6 * 40 * 4
    assert operations(compiled) == 0


def test_the_convolution_takes_nearly_all_of_its_group():
    body = "c = Conv<pads = [1, 1, 1, 1]>(x, w, b) y = Relu(c)"
    model = parsed(body, "float[1,32,14,14] x", "float[1,32,14,14] y", {"w": (32, 32, 3, 3), "b": (32,)})
    compiled = whence.compile(model)
    (call,) = [call for call in compiled.artifact.calls if "conv2d" in call.name]
    found = shares(compiled.artifact, call, owners(compiled.artifact))
    share = {layer.type: part for layer, part in found.items() if layer is not None}
    assert set(share) == {"Conv", "Relu"}
    assert share["Conv"] > 0.99
    assert share["Relu"] == pytest.approx(1 / (2 * 32 * 9), rel=0.2)


def test_times_of_layers_add_up_to_their_kernels(compiled: whence.Executable):
    times = measure(compiled, default_inputs(compiled.inputs))
    assert len(times.calls) == len(compiled.kernels)
    for taken, parts in zip(times.calls, times.layers, strict=True):
        assert sum(parts.values()) == pytest.approx(taken)
    ranked = times.ranked(compiled.artifact)
    assert sum(one.seconds for one in ranked) == pytest.approx(sum(times.calls))
    assert {one.layer for one in ranked} <= set(layers_of(compiled.artifact))


def test_an_executable_tells_its_times(compiled: whence.Executable):
    image = np.random.default_rng(3).random((1, 16, 8, 8), dtype=np.float32)
    times = compiled.times({"x": image}, repeat=30)
    # What moves a few numbers may take no longer than a call of nothing.
    assert all(taken > 0 for call, taken in zip(compiled.kernels, times.calls, strict=True) if "conv2d" in call)
    assert all(taken >= 0 for taken in times.calls)
    names = {one.layer.name: one.calls for one in times.ranked(compiled.artifact) if one.layer is not None}
    assert set(names) == {"conv1", "bn1", "relu1", "conv2", "bn2", "relu2", "pool"}
    assert all(name in compiled.kernels for calls in names.values() for name in calls)


def test_what_knows_no_layer_is_told(compiled: whence.Executable):
    times = Times.of(compiled.artifact, [1.0] * len(compiled.kernels))
    call = next(one for one in compiled.artifact.calls if "conv2d" in one.name)
    assert None not in times.layers[0]
    assert shares(compiled.artifact, call, {}) == {None: pytest.approx(1)}


def test_cached_kernels_keep_their_work(source: ModelProto, compiled: whence.Executable):
    again = whence.compile(source)
    for first, second in zip(compiled.artifact.kernels, again.artifact.kernels, strict=True):
        assert first is not second
        assert kernel_of(compiled.artifact, 0).work
        assert vars(first)["work"] == vars(second)["work"]


def test_where_nothing_is_estimated_all_is_shared_out(monkeypatch: pytest.MonkeyPatch):
    compiled = whence.compile(parsed("a = Relu(x) y = Tanh(a)", "float[6,40] x", "float[6,40] y"))
    kernel = kernel_of(compiled.artifact, compiled.artifact.calls[0].kernel)
    idle = replace(kernel, work=((0, 0),) * len(kernel.work))
    monkeypatch.setattr("whence.explorer.code.kernel_of", Mock(return_value=idle))
    (call,) = compiled.artifact.calls
    parts = shares(compiled.artifact, call, owners(compiled.artifact))
    assert len(parts) == 2
    assert min(parts.values()) > 0
    assert sum(parts.values()) == pytest.approx(1)


def test_the_roof_of_a_layer_is_its_part_of_that_of_the_call():
    body = "[fc] a = Gemm<transB = 1>(x, w) [act] b = Tanh(a) [move] y = Transpose<perm = [1, 0]>(b)"
    compiled = whence.compile(parsed(body, "float[6,40] x", "float[24,6] y", {"w": (24, 40)}))
    artifact = compiled.artifact
    by_ops = roofs(artifact, Rates(products=1e5))
    works = [kernel_of(artifact, call.kernel).work for call in artifact.calls]
    lanes = 2 * artifact.target.hardware.lanes()
    assert by_ops[0].seconds == pytest.approx(sum(row[0] for row in works[0]) / lanes / 1e5)
    assert by_ops[0].bound.name == "products"
    nearest = roofs(artifact, Rates(products=1e20, loads=1.0))
    assert {roof.bound.name for roof in nearest} == {"L1"}
    assert sum(roof.bound.amount for roof in nearest) >= (6 * 40 + 24 * 40 + 6 * 24) * 4
    times = Times.of(artifact, [2.0] * len(artifact.calls))
    shared = layer_roofs(times, by_ops)
    assert sum(shared.values()) == pytest.approx(sum(roof.seconds for roof in by_ops))
    names = {layer.name: seconds for layer, seconds in shared.items() if layer is not None}
    assert names["fc"] > names["move"]


@pytest.mark.parametrize(
    ("tir", "vectors", "tiles"),
    [
        ("tir.load %a", 1, 1),
        ('tir.call_extern "llvm.x86.avx512.vpdpbusd.512"', 4, 40),
        ('tir.call_extern "llvm.x86.avx2.pmadd.wd"', 2, 2),
        ('tir.call_extern "llvm.x86.avx512bf16.dpbf16ps.512"', 2, 20),
        ("tir.dot2_bf16 %a, %b", 1, 20),
        ('tir.tile_dot "bf16" 0, 4, 6', 1, 20),
        ('tir.tile_dot "u8s8" 0, 4, 6', 1, 40),
    ],
)
def test_the_roof_is_by_the_fastest_products_of_the_machine(tir: str, vectors: int, tiles: int):
    plain = Machine("plain", 256, 16)
    products = 1 / (2 * plain.lanes())
    for machine, faster in ((plain, vectors), (replace(plain, amx_bf16=True, amx_int8=True), tiles)):
        rates = Rates(products=products, tiles={"bf16": 20.0, "u8s8": 40.0})
        assert roof(tir, 1000, Traffic(0, 0, 0), 0, machine, rates).seconds == pytest.approx(1000 / faster)
    # Without a measurement, tiles are as much faster as machines with them are.
    tiled = replace(plain, amx_bf16=True, amx_int8=True)
    guess = roof(tir, 1000, Traffic(0, 0, 0), 0, tiled, Rates(products=products)).seconds
    assert guess == pytest.approx(1000 / {1: 1, 2: 2, 20: 10, 40: 32}[tiles])


def test_bytes_come_from_the_cache_that_holds_what_was_touched_since():
    machine = Machine("plain", 256, 16, l1=100, l2=1000, l3=10_000)
    rates = Rates(loads=8.0 / 32, l2=4.0, l3=2.0, memory=1.0, shared_memory=1.2)

    def bytes_of(traffic: Traffic, model_bytes: int, threads: int = 1) -> dict[str, float]:
        return {
            term.name: term.seconds
            for term in roof("", 0, traffic, model_bytes, machine, replace(rates, threads=threads)).bytes
        }

    assert bytes_of(Traffic(0, 40, 40), 0) == {"L1": 10}
    assert bytes_of(Traffic(0, 400, 400), 0) == {"L2": 200}
    # Weights were read in the run before, and all of the model since.
    assert bytes_of(Traffic(20, 40, 20), 5000) == {"L1": 7.5, "L3": 10}
    assert bytes_of(Traffic(20, 40, 20), 50_000) == {"L1": 7.5, "memory": 20}
    assert bytes_of(Traffic(0, 40_000, 40_000), 0) == {"memory": 80_000}
    # Two threads wait for one memory.
    assert bytes_of(Traffic(0, 40_000, 40_000), 0, threads=2) == {"memory": pytest.approx(80_000 / 0.6)}


def test_what_moves_is_read_once_and_written_once():
    compiled = whence.compile(parsed("y = Transpose<perm = [1, 0]>(x)", "float[6,40] x", "float[40,6] y"))
    (moved,) = roofs(compiled.artifact, Rates())
    assert sum(term.amount for term in moved.bytes) == 2 * 6 * 40 * 4
    assert moved.operations.amount == 0
