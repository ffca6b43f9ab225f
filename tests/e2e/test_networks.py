"""Whole networks: the numbers of the models' makers and of onnxruntime, and where every layer went."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto
from xdsl.dialects.builtin import LocationAttr

import whence
from whence.dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from whence.frontends.onnx import from_onnx
from whence.lowering.kernel.printing import print_with_lines
from whence.lowering.kernel.record import Kernel
from whence.lowering.llvm_to_native.assembly import line_coverage
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.lower import lower_function
from whence.lowering.relay_to_te.strategy import schedule_function
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.lowering.tir_to_llvm.convert import convert
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.passes.tir.pipeline import run_tir_passes
from whence.provenance.audit import check_located, surviving_leaves
from whence.provenance.span import layer_location, leaves

Array = NDArray[Any]

NAMES = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("shufflenet", "squeezenet", "vgg19", "zfnet512"),
)


@pytest.fixture(scope="module", params=NAMES)
def light(request: pytest.FixtureRequest, zoo: Any) -> Iterator[tuple[str, whence.Executable]]:
    """A light network compiled at opt level 3, audited after every pass."""
    yield request.param, whence.compile(zoo.path(request.param), opt_level=3, threads=2, audit=True)
    gc.collect()


def kernels(exe: whence.Executable) -> list[Kernel]:
    found = [kernel for kernel in exe.artifact.kernels if isinstance(kernel, Kernel)]
    assert found
    return found


def test_shipped_outputs(light: tuple[str, whence.Executable], zoo: Any):
    """The tolerances are those of onnx's own runner of these models."""
    name, exe = light
    np.testing.assert_allclose(exe(zoo.input(name)[1]), zoo.shipped_output(name), rtol=2e-3, atol=1e-7)


def test_no_plan_takes_less_memory(light: tuple[str, whence.Executable]):
    memory = light[1].memory
    assert memory.workspace_bytes == memory.peak_bytes


def test_every_op_and_instruction_is_located(light: tuple[str, whence.Executable]):
    _, exe = light
    for kernel in kernels(exe):
        assert kernel.located == kernel.ops, kernel.symbol
        assert set(kernel.ops) == {"te", "tir", "llvm"}
    found = exe.coverage()
    assert {level: found[level] for level in ("relay", "te", "tir", "llvm")} == dict.fromkeys(
        ("relay", "te", "tir", "llvm"), 1.0
    )
    assert found["native"] >= 0.85
    assert found["native"] + found["native_inferred"] >= 0.92
    # And counted anew, from the listings alone.
    counts = [line_coverage(kernel.assembly) for kernel in kernels(exe)]
    assert sum(known for known, _ in counts) >= 0.85 * sum(total for _, total in counts)


def layer_leaves(path: Path, model: ModelProto) -> list[LocationAttr]:
    """The location that each node of a model promises to have."""
    unnamed = Counter[str]()
    found: list[LocationAttr] = []
    for index, node in enumerate(model.graph.node):
        name = node.name or f"{node.op_type}_{unnamed[node.op_type]}"
        unnamed[node.op_type] += not node.name
        found.append(layer_location(name, path.name, index))
    return found


def test_every_node_is_in_the_result_or_in_the_ledger(light: tuple[str, whence.Executable], zoo: Any):
    name, exe = light
    fused = next(snapshot for snapshot in exe.artifact.snapshots if snapshot.stage == "fused")
    present = surviving_leaves(fused.module)
    expected = layer_leaves(zoo.path(name), zoo.model(name))
    gone = [leaf for leaf in expected if leaf not in present]
    assert [str(leaf) for leaf in gone if not exe.artifact.ledger.fate(leaf)] == []
    assert len(gone) < len(expected)
    # What a kernel call says it serves is what the module says.
    assert leaves_of(layer for call in exe.artifact.calls for layer in call.layers) <= present


def leaves_of(locations: Iterable[LocationAttr]) -> set[LocationAttr]:
    return {leaf for location in locations for leaf in leaves(location)}


def test_layers_survive_every_lowering(zoo: Any):
    """With real locations instead of slots: each step keeps every op located, and every layer of the function."""
    module = from_onnx(zoo.path("squeezenet"))
    run_passes(module, relay_pipeline(3), audit=True)
    machine = Target.native().hardware
    for func in [op for op in module.ops if isinstance(op, FuncOp) and op.primitive is not None]:
        layers = leaves_of(op.location for op in func.block.ops if not isinstance(op, ReturnOp | ConstantOp))
        te_func = lower_function(func)
        check_located(te_func, "convert-relay-to-te")
        schedule = schedule_function(te_func, machine)
        check_located(schedule.sequence, "schedule")
        tir_func = lower_schedule(schedule)
        check_located(tir_func, "convert-te-to-tir")
        assert layers <= surviving_leaves(tir_func)
        run_tir_passes(tir_func)
        check_located(tir_func, "tir passes")
        assert layers <= surviving_leaves(tir_func)
        low = convert(tir_func, print_with_lines(tir_func)[1])
        check_located(low.module, "convert-tir-to-llvm")
        assert layers <= surviving_leaves(low.module)


@pytest.fixture
def reference(zoo: Any, cache_dir: Path, onnxruntime: Callable[..., list[Array]]) -> Callable[[str], Array]:
    """What onnxruntime makes of a network with random weights; computed once for all workers."""

    def find(name: str) -> Array:
        path = cache_dir / f"reference-{name}.npy"
        if not path.exists():
            key, value = zoo.input(name)
            (output,) = onnxruntime(zoo.random(name), {key: value})
            partial = path.with_suffix(f".{id(find)}.npy")
            np.save(partial, output)
            partial.rename(path)
        return np.load(path)

    return find


# Level 0 says nothing more of a third network; in this order both levels of one come together, and share the model.
@pytest.mark.parametrize(
    ("name", "level"),
    [(name, level) for name in NAMES for level in (0, 3) if level or name in ("squeezenet", "shufflenet")],
)
def test_random_weights(name: str, level: int, zoo: Any, reference: Callable[[str], Array]):
    artifact = whence.compile(zoo.random(name), opt_level=level, threads=1).artifact
    wanted = reference(name)
    scale = float(wanted.max() - wanted.min())
    results: list[Array] = []
    for threads in (1, 2):
        result = whence.Executable(artifact, threads)(zoo.input(name)[1])
        assert isinstance(result, np.ndarray)
        results.append(result)
        assert float(np.abs(result - wanted).max()) <= 1e-4 * scale
    # Threads share the work; they do not change the order of any sum.
    np.testing.assert_array_equal(results[0], results[1])
    gc.collect()
