"""exp, tanh and erf over the whole range of f32, specials included, against float64."""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Run = Callable[..., Any]
SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 88.72283, 88.72284, -87.33655, -103.97, -103.98, -150.0, 3e38],
    np.float32,
)


def samples() -> NDArray[np.float32]:
    """Every 2039th bit pattern, the interesting range densely, and specials; a multiple of 16 of them."""
    bits = np.arange(0, 1 << 32, 2039, dtype=np.uint32).view(np.float32)
    x = np.concatenate([SPECIAL, bits, np.linspace(-110, 95, 500_000, dtype=np.float32)])
    return np.concatenate([x, np.zeros(-len(x) % 16, np.float32)])


def apply(run: Run, op: str, x: NDArray[np.float32], lanes: int) -> NDArray[np.float32]:
    out = np.empty_like(x)
    type_ = f"vector<{lanes}xf32>" if lanes > 1 else "f32"
    run(
        f"""
        tir.prim_func @f(%x: !tir.buffer<{len(x)}xf32>, %o: !tir.buffer<{len(x)}xf32>) outputs 1 {{
          tir.for %i in {len(x) // lanes} {{
            %a = tir.load %x[%i * {lanes}] : !tir.buffer<{len(x)}xf32> -> {type_}
            %b = {op} %a : {type_}
            tir.store %b, %o[%i * {lanes}] : {type_}, !tir.buffer<{len(x)}xf32>
          }}
        }}""",
        *(x, out),
    )
    return out


def units(got: NDArray[np.float32], exact: NDArray[np.float64]) -> NDArray[np.float64]:
    """The error in units in the last place of the exact result as f32."""
    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float32)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(got[~finite], rounded[~finite])
    return np.abs(got[finite].astype(np.float64) - exact[finite]) / np.spacing(np.abs(rounded[finite])).astype(float)


@pytest.mark.parametrize("lanes", [1, 16])
def test_exp(run: Run, lanes: int):
    x = samples()
    with np.errstate(over="ignore", invalid="ignore"):
        exact = np.exp(x.astype(np.float64))
    assert units(apply(run, "math.exp", x, lanes), exact).max() <= 1.0


@pytest.mark.parametrize("lanes", [1, 16])
def test_tanh(run: Run, lanes: int):
    x = np.concatenate([samples(), np.linspace(-10, 10, 500_000, dtype=np.float32)])
    with np.errstate(invalid="ignore"):
        exact = np.tanh(x.astype(np.float64))
    got = apply(run, "math.tanh", x, lanes)
    assert units(got, exact).max() <= 2.0
    assert not np.signbit(got[x == 0][0])
    assert np.array_equal(np.signbit(got[:2]), [False, True])


@pytest.mark.parametrize("lanes", [1, 16])
def test_erf(run: Run, lanes: int):
    x = np.concatenate([SPECIAL, np.linspace(-5, 5, 200_002, dtype=np.float32), np.geomspace(1e-40, 1, 200_000)])
    x = x.astype(np.float32)
    exact = np.array([erf(value) for value in x.astype(np.float64)])
    assert units(apply(run, "math.erf", x, lanes), exact).max() <= 2.0


def test_narrow_floats_go_through_f32(run: Run):
    x = np.linspace(-12, 12, 64).astype(np.float16)
    out = np.empty_like(x)
    run(
        """
        tir.prim_func @f(%x: !tir.buffer<64xf16>, %o: !tir.buffer<64xf16>) outputs 1 {
          tir.for %i in 4 {
            %a = tir.load %x[%i * 16] : !tir.buffer<64xf16> -> vector<16xf16>
            %b = math.exp %a : vector<16xf16>
            tir.store %b, %o[%i * 16] : vector<16xf16>, !tir.buffer<64xf16>
          }
        }""",
        *(x, out),
    )
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, np.exp(x.astype(np.float64)).astype(np.float16))


@pytest.mark.parametrize(
    ("op", "reference"),
    [("math.exp", np.exp), ("math.tanh", np.tanh), ("math.expm1", np.expm1), ("math.cbrt", np.cbrt)],
)
def test_f64_and_rare_functions_use_the_c_library(run: Run, op: str, reference: Callable[..., Any]):
    x = np.random.default_rng(1).standard_normal(32)
    out = np.empty_like(x)
    run(
        f"""
        tir.prim_func @f(%x: !tir.buffer<32xf64>, %o: !tir.buffer<32xf64>) outputs 1 {{
          tir.for %i in 4 {{
            %a = tir.load %x[%i * 8] : !tir.buffer<32xf64> -> vector<8xf64>
            %b = {op} %a : vector<8xf64>
            tir.store %b, %o[%i * 8] : vector<8xf64>, !tir.buffer<32xf64>
          }}
        }}""",
        *(x, out),
    )
    np.testing.assert_allclose(out, reference(x), rtol=4e-16)
