"""The network of benchmarks/schedule_time.py: its schedule has the primitives it claims, and changes no result."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from whence.kernels import build_schedule

Array = np.ndarray[Any, Any]
CHANNELS, SIZE, BLOCKS = 8, 11, 3


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "schedule_time", Path(__file__).parents[2] / "benchmarks" / "schedule_time.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "schedule_time", module)
        spec.loader.exec_module(module)
    return module


def block(x: Array, kernel: Array, bias: Array, square: Array) -> Array:
    """What a block computes, in float64."""
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    relu = np.maximum(np.einsum("cyxuv,fcuv->fyx", windows, kernel) + bias[:, None, None], 0)
    mix = np.einsum("fk,kyx->fyx", square, relu)
    return x + mix * mix.mean((1, 2))[:, None, None]


def test_numbers(benchmark: ModuleType) -> None:
    schedule = benchmark.scheduled(BLOCKS, CHANNELS, SIZE)
    shapes = [cast(TensorType[Attribute], value.type).get_shape() for value in schedule.func.block.args]
    random = np.random.default_rng(0)
    arrays = [(random.standard_normal(shape) / 4).astype(np.float32) for shape in shapes]
    wanted, *weights = (array.astype(np.float64) for array in arrays)
    for i in range(0, len(weights), 3):
        wanted = block(wanted, *weights[i : i + 3])
    found = build_schedule(schedule, threads=2)(*arrays)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-4)


def test_counts(benchmark: ModuleType) -> None:
    schedule = benchmark.scheduled(BLOCKS, CHANNELS, SIZE)
    assert len(schedule.primitive_record) - 1 == BLOCKS * benchmark.PRIMITIVES
    _, blocks = benchmark.network(10)
    assert len(blocks) * benchmark.STAGES == 60
    assert len(blocks) * benchmark.PRIMITIVES == 300
