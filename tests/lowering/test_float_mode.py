"""Results smaller than the smallest normal number are 0 in kernels, and in kernels only."""

from __future__ import annotations

import platform

import numpy as np
import onnx.parser
import pytest

import whence
from whence.executables.executable import Executable
from whence.support.context import PassContext

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="denormal numbers are kept there")
MODEL = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["": 13]>
net (float[64, 256] x) => (float[64, 256] y) { y = Exp(x) }""")
SMALL = np.full((64, 256), -90, np.float32)
"""exp(-90) is 8.2e-40: a denormal number."""


def compiled(flush: bool, threads: int = 1) -> Executable:
    with PassContext(opt_level=3, config={"tir.flush_denormals": flush}):
        return whence.compile(MODEL, threads=threads)


def denormal_products() -> np.ndarray:
    return np.full(64, 1e-38, np.float32) * np.float32(0.01)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_result_that_would_be_denormal_is_zero(threads: int):
    executable = compiled(True, threads)
    np.testing.assert_array_equal(executable(SMALL), 0)
    np.testing.assert_array_equal(executable.profile({"x": SMALL}, 1).shape, (1, 1))


def test_the_mode_can_be_switched_off():
    assert np.float32(0) < np.min(np.asarray(compiled(False)(SMALL))) < np.finfo(np.float32).tiny


def test_a_call_leaves_the_mode_of_its_thread():
    executable = compiled(True)
    executable(SMALL)
    assert denormal_products().min() > 0


def test_operands_may_be_denormal():
    """As of small floats that are decoded, and of logarithms."""
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 13]>
    net (float[64] x) => (float[64] y) { y = Log(x) }""")
    np.testing.assert_allclose(whence.compile(model, threads=1)(denormal_products()), np.log(1e-40), rtol=1e-5)


def test_code_for_another_machine_keeps_its_mode():
    code = whence.compile(MODEL, target="llvm -mtriple=aarch64-linux-gnu").get_source(0, "ll")
    assert "mxcsr" not in code
