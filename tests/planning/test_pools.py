"""Memory planned by USMP: pools, what a plan takes, what is told when they are too small, and numbers that stay."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from reference_runtime import onnxruntime_outputs

import whence
from whence.dialects.relay.core import CallOp, FuncOp
from whence.planning.artifact import Artifact
from whence.planning.lifetimes import Lifetimes, Plan, Step
from whence.planning.pools import Pools, plan_in_pools
from whence.planning.usmp import ALGORITHMS
from whence.provenance.span import layer_location
from whence.support.errors import PipelineError

Array = NDArray[Any]


def _network() -> ModelProto:
    """Two convolutions side by side, joined, pooled and classified: buffers that live across others."""
    rng = np.random.default_rng(5)
    arrays = {
        "w1": rng.standard_normal((16, 3, 3, 3)) * 0.3,
        "w2": rng.standard_normal((16, 16, 3, 3)) * 0.1,
        "w3": rng.standard_normal((16, 16, 1, 1)) * 0.2,
        "w4": rng.standard_normal((10, 32)) * 0.5,
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["stem"], name="stem", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["stem", "w2"], ["left"], name="left", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["stem", "w3"], ["right"], name="right"),
        helper.make_node("Sigmoid", ["left"], ["gate"], name="gate"),
        helper.make_node("Concat", ["gate", "right"], ["both"], name="both", axis=1),
        helper.make_node("GlobalAveragePool", ["both"], ["pool"], name="pool"),
        helper.make_node("Flatten", ["pool"], ["flat"], name="flat"),
        helper.make_node("Gemm", ["flat", "w4"], ["fc"], name="fc", transB=1),
        helper.make_node("Softmax", ["fc"], ["y"], name="prob", axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "two_ways",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 14, 14])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def _usmp(algorithm: str) -> whence.PassContext:
    return whence.PassContext(config={"tir.usmp.enable": True, "tir.usmp.algorithm": algorithm})


def _check(artifact: Artifact) -> None:
    """Replay the calls over a map of the arena's bytes: what a call reads is still, in full, what was written for it.

    Who wrote it is asked of the fused module.
    """
    main = next(op for op in artifact.snapshots[-1].module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    calls = [op for op in main.block.ops if isinstance(op, CallOp)]
    arena = np.full(artifact.plan.arena_bytes, -1)
    checked = 0
    for number, (call, op) in enumerate(zip(artifact.program.calls, calls, strict=True)):
        sizes = [spec.nbytes for spec in call.results]
        ranges = [(slot.place, size) for slot, size in zip(call.outputs, sizes, strict=True) if slot.kind == "arena"]
        if call.workspace is not None:
            ranges.append((call.workspace.place, artifact.kernels[call.kernel].workspace))
        for start, size in ranges:
            assert 0 <= start < start + size <= artifact.plan.arena_bytes
            arena[start : start + size] = number
        for slot, value in zip(call.inputs, op.arguments, strict=True):
            if slot.kind == "arena":
                assert isinstance(value.owner, CallOp)
                size = artifact.program.calls[calls.index(value.owner)].results[value.owner.outputs.index(value)].nbytes
                assert (arena[slot.place : slot.place + size] == calls.index(value.owner)).all()
                checked += 1
    assert checked >= len(calls) - 2


@pytest.fixture(scope="module")
def expected() -> tuple[Array, Array]:
    """An input of the network, and what onnxruntime makes of it."""
    x = np.random.default_rng(6).standard_normal((1, 3, 14, 14)).astype(np.float32)
    return x, onnxruntime_outputs(_network(), {"x": x})[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_algorithm_gives_the_same_numbers(algorithm: str, threads: int, expected: tuple[Array, Array]):
    with _usmp(algorithm):
        exe = whence.compile(_network(), threads=threads)
    assert exe.memory.algorithm == algorithm
    assert exe.memory.peak_bytes <= exe.memory.workspace_bytes
    _check(exe.artifact)
    for _ in range(2):
        np.testing.assert_allclose(exe(expected[0]), expected[1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_pools_lie_one_after_the_other(threads: int, expected: tuple[Array, Array]):
    pools = [whence.PoolInfo("sram", 14_000), whence.PoolInfo("dram")]
    exe = whence.compile(_network(), threads=threads, workspace_memory_pools=pools)
    sram, dram = exe.memory.pools
    assert (sram.name, sram.size_hint_bytes, dram.name, dram.size_hint_bytes) == ("sram", 14_000, "dram", -1)
    assert 0 < sram.used_bytes <= 14_000
    assert dram.used_bytes > 0
    assert exe.memory.workspace_bytes == sram.used_bytes + dram.used_bytes
    assert f"{sram.used_bytes} of 14000 in pool 'sram', {dram.used_bytes} in pool 'dram'" in str(exe.memory)
    _check(exe.artifact)
    np.testing.assert_allclose(exe(expected[0]), expected[1], rtol=1e-4, atol=1e-6)


def test_what_a_model_takes():
    exe = whence.compile(_network())
    memory = exe.memory
    assert memory.io_bytes == 4 * (3 * 14 * 14 + 10)
    assert memory.constant_bytes == sum(array.nbytes for array in exe.artifact.params)
    assert [pool.used_bytes for pool in memory.pools] == [memory.workspace_bytes]
    # The widest moment: both branches and what joins them.
    assert memory.workspace_bytes >= memory.peak_bytes >= 4 * 16 * 14 * 14 * 2


def test_a_pool_that_just_fits_and_one_that_does_not(expected: tuple[Array, Array]):
    with _usmp("hill_climb"):
        needed = whence.compile(_network()).memory.workspace_bytes
        exact = whence.compile(_network(), workspace_memory_pools=[whence.PoolInfo("sram", needed)])
        np.testing.assert_allclose(exact(expected[0]), expected[1], rtol=1e-4, atol=1e-6)
        with pytest.raises(PipelineError) as error:
            whence.compile(_network(), workspace_memory_pools=[whence.PoolInfo("sram", needed - 1)])
    text = str(error.value)
    assert f"usmp: expected a workspace of {needed} bytes (hill_climb; no plan takes less than " in text
    assert f"), got {needed - 1} in pool 'sram'; at the peak, in fused_" in text
    assert re.search(r"live: \d+ bytes of (the workspace of )?fused_\w+ \(layer '", text)
    assert "layer 'left', <memory> node 1" in text


def _steps() -> list[Step[int]]:
    layers = [layer_location(name, "m.onnx", k) for k, name in enumerate("abcd")]
    sizes = (1000, 2000, 64, 128)
    return [Step((k - 1,), ((k, size),), 100 * (k == 1), f"fused_{k}", layers[k]) for k, size in enumerate(sizes)]


def test_the_text_of_a_pool_that_is_too_small():
    """1000 rounds up to 1024 bytes, 2000 to 2048, the workspace of 100 to 128."""
    pools = (whence.PoolInfo("a", 2048), whence.PoolInfo("b", 1024))
    with pytest.raises(PipelineError) as error:
        plan_in_pools(Lifetimes.of(_steps()), Pools("greedy_by_size", pools))
    assert str(error.value) == (
        "usmp: expected a workspace of 3200 bytes (greedy_by_size; no plan takes less than 3200), got 2048 in pool "
        "'a', 1024 in pool 'b'; at the peak, in fused_1, live: 2048 bytes of fused_1 (layer 'b', m.onnx node 1); "
        "1024 bytes of fused_0 (layer 'a', m.onnx node 0); "
        "128 bytes of the workspace of fused_1 (layer 'b', m.onnx node 1)"
    )


def test_many_live_buffers_are_summed_up():
    steps = [Step((), ((k, 64 * (k + 1)),), name=f"f{k}") for k in range(9)]
    steps.append(Step(tuple(range(9)), ((9, 64),), name="join"))
    with pytest.raises(PipelineError, match=r"256 bytes of f3; 448 bytes of 4 more$"):
        plan_in_pools(Lifetimes.of(steps), Pools("greedy_by_conflicts", (whence.PoolInfo("a", 64),)))


def test_buffers_move_to_the_next_pool():
    pools = (whence.PoolInfo("a", 2048), whence.PoolInfo("b"))
    found: Plan = plan_in_pools(Lifetimes.of(_steps()), Pools("greedy_by_size", pools))
    assert [pool.used_bytes for pool in found.pools] == [2048, 1024 + 128]
    assert found.arena_bytes == 2048 + 1024 + 128
    assert found.offsets[1] == 0
    assert found.offsets[0] == 2048


@pytest.mark.parametrize(
    ("config", "pools", "text"),
    [
        (
            {"tir.usmp.algorithm": "best"},
            [],
            "usmp: expected an algorithm among greedy_by_size, greedy_by_conflicts, hill_climb, got 'best'",
        ),
        ({}, [("a", 1), ("a", 2)], "workspace_memory_pools: expected different names, got a, a"),
        ({}, [("a", -5)], "workspace_memory_pools: expected a size, or -1 for any, of pool 'a', got -5"),
        ({"tir.usmp.enable": 1}, [], r"config option 'tir.usmp.enable': expected bool, got int \(1\)"),
    ],
)
def test_what_is_refused(config: dict[str, Any], pools: list[tuple[str, int]], text: str):
    with pytest.raises(PipelineError, match=text), whence.PassContext(config=config):
        whence.compile(_network(), workspace_memory_pools=[whence.PoolInfo(*pool) for pool in pools])
