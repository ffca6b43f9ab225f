"""Provenance never changes the code: with spans off every byte that runs is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

import whence
from whence.frontends.onnx import from_onnx
from whence.lowering.cache import KernelCache
from whence.lowering.kernel.record import Kernel
from whence.provenance.audit import surviving_leaves


def kernels(exe: whence.Executable) -> list[Kernel]:
    return [kernel for kernel in exe.artifact.kernels if isinstance(kernel, Kernel)]


def placed(exe: whence.Executable) -> list[object]:
    """The calls and where their tensors lie."""
    program = exe.artifact.program
    calls = [(call.name, call.kernel, call.inputs, call.outputs, call.workspace) for call in program.calls]
    return [*calls, *program.copies, program.arena_bytes]


def off_by_environment(monkeypatch: pytest.MonkeyPatch, compile_model: Callable[[], whence.Executable]) -> Any:
    monkeypatch.setenv("TVM_SPANFILLING", "0")
    return compile_model()


def off_by_option(monkeypatch: pytest.MonkeyPatch, compile_model: Callable[[], whence.Executable]) -> Any:
    with whence.PassContext(config={"relay.frontend.fill_span": False, "ir.enable_si_builder": False}):
        return compile_model()


def found_nothing(cache: KernelCache, key: str) -> None:
    """In place of `KernelCache.get`."""


def check(model: ModelProto, level: int, off: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    on = whence.compile(model, opt_level=level, threads=1)
    # Nothing may come from the kernels of the first compilation, in whose folder the sources of both lie.
    monkeypatch.setattr(KernelCache, "get", found_nothing)
    without = off(monkeypatch, lambda: whence.compile(model, opt_level=level, threads=1))
    assert without.coverage()["relay"] < 0.01 < on.coverage()["relay"]
    # All of a kernel: object code with its debug lines, TIR, schedule, assembly.
    assert kernels(on) == kernels(without)
    assert on.artifact.main == without.artifact.main
    assert placed(on) == placed(without)
    (spec,) = on.inputs
    x = np.random.default_rng(0).standard_normal(spec.shape).astype(np.float32)
    np.testing.assert_array_equal(on(x), without(x))


@pytest.mark.parametrize(
    ("level", "off"), [(0, off_by_option), (1, off_by_environment), (2, off_by_option), (3, off_by_environment)]
)
def test_a_network_with_batch_norm(
    small_network: ModelProto, level: int, off: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    check(small_network, level, off, monkeypatch)


def test_off_means_off(small_network: ModelProto, monkeypatch: pytest.MonkeyPatch):
    assert surviving_leaves(from_onnx(small_network))
    monkeypatch.setenv("TVM_SPANFILLING", "0")
    assert not surviving_leaves(from_onnx(small_network))
