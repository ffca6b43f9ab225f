"""The same input gives the same bits: over runs, numbers of threads, places in a batch and numbers of rows.

docs/trust.md promises it of one artifact on one kind of machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from batches import rows_like, rows_of
from numpy.typing import NDArray
from zoo import SMALL
from zoo.builder import Built

import whence
from whence.lowering.kernel.record import Kernel
from whence.lowering.llvm_to_native.thread_pool import thread_pool
from whence.runtime import load_module

ROWS = 3


class Case(NamedTuple):
    """A small network for several rows."""

    kind: Literal["rows", "open", "made", "as it is"] = "rows"
    """Rewritten for several rows, or for any number; made for several; one that has several anyway."""
    axis: int = 0
    """That of rows, in inputs and outputs."""


CASES = {
    **dict.fromkeys(("vgg", "densenet", "shufflenet_v2", "convnext", "unet", "yolov8n", "whisper", "llama"), Case()),
    **dict.fromkeys(("bert_dynamic", "bert_f16"), Case()),
    **dict.fromkeys(("mobilenet_v2", "regnet", "bert", "gpt2_step", "resnet_qdq"), Case("open")),
    **dict.fromkeys(("gpt2", "vit"), Case("made")),
    **dict.fromkeys(("lstm", "gru"), Case("made", 1)),
    "recommender": Case("as it is"),
}


def built(name: str, case: Case) -> Built:
    if case.kind == "made":
        return SMALL[name](batch=ROWS)
    model, inputs = SMALL[name]()
    if case.kind == "as it is":
        return Built(model, inputs)
    rows = "batch" if case.kind == "open" else ROWS
    return Built(rows_of(model, rows), rows_like(inputs, ROWS))


def unaligned(values: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers at an address that is no multiple of a vector's, nor of a cache line's."""
    buffer = np.empty(values.size + 1, values.dtype)
    buffer[1:] = values.ravel()
    return buffer[1:].reshape(values.shape)


def same(results: Iterable[NDArray[Any]], expected: Iterable[NDArray[Any]]) -> None:
    """Compare arrays bit by bit: a zero has a sign."""
    for result, array in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (array.dtype, array.shape)
        number = f"u{array.itemsize}"
        np.testing.assert_array_equal(result.view(number), array.view(number))


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of the kernels of this file."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def shares_all(monkeypatch: pytest.MonkeyPatch, apart: Path) -> None:
    """Loops are shared among threads however short they are; kernels of this kind are kept apart."""
    for module in ("common", "script"):
        monkeypatch.setattr(f"whence.lowering.relay_to_te.schedules.{module}.SERIAL_LIMIT", 0)
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(apart))


@pytest.mark.usefixtures("shares_all")
@pytest.mark.parametrize("name", CASES)
def test_the_same_input_gives_the_same_bits(name: str, tmp_path: Path):
    case = CASES[name]
    model, inputs = built(name, case)
    executable = whence.compile(model, tier="symbolic" if case.kind == "open" else "auto")
    kernels = [kernel for kernel in executable.artifact.kernels if isinstance(kernel, Kernel)]
    assert sum("parallel" in kernel.tir for kernel in kernels) >= 3

    def results(inputs: Mapping[str, NDArray[Any]], threads: int = 1) -> list[NDArray[Any]]:
        arrays = executable.runner.run(inputs, thread_pool(threads))
        return [np.array(array) for array in arrays]

    def turned(array: NDArray[Any]) -> NDArray[Any]:
        return np.roll(array, 1, case.axis)

    expected = results(inputs)
    for array in expected:
        # Rows differ, and are numbers: else what follows would say nothing.
        assert np.isfinite(array).all()
        assert (array != turned(array)).any()
    same(results({name: turned(values) for name, values in inputs.items()}), map(turned, expected))
    same(results({name: unaligned(values) for name, values in inputs.items()}), expected)
    for threads in (2, 3):
        same(results(inputs, threads), expected)
    if case.kind == "open":
        executable.export_library(tmp_path / "network.tar")
        same(load_module(tmp_path / "network.tar").run(inputs).values(), expected)
        for row in range(ROWS):
            alone = results({name: values.take([row], 0) for name, values in inputs.items()}, 1 + row)
            same(alone, (array.take([row], 0) for array in expected))
