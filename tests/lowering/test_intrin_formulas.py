"""The functions that tir-lower-intrin writes out, over the whole range of f32, specials included, against float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.tir import PrimFuncOp
from whence.lowering.llvm_to_native.compile import Native
from whence.lowering.tir_to_llvm.convert import LLVMKernel
from whence.passes.tir import lower_intrin

Parse = Callable[[str], ModuleOp]
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, -1.1754942e-38, 3.4e38],
    np.float32,
)
FUNCTIONS: dict[str, tuple[Callable[..., Any], float, float, float]] = {
    "acos": (np.arccos, -1, 1, 1.1),
    "acosh": (np.arccosh, 1, 9, 1.9),
    "asin": (np.arcsin, -1, 1, 2.3),
    "asinh": (np.arcsinh, -5, 5, 1.9),
    "atan": (np.arctan, -8, 8, 1.3),
    "atanh": (np.arctanh, -1, 1, 2.1),
    "cbrt": (np.cbrt, -9, 9, 0.8),
    "cosh": (np.cosh, -92, 92, 1.6),
    "expm1": (np.expm1, -20, 90, 1.5),
    "log1p": (np.log1p, -1, 8, 1.5),
    "sinh": (np.sinh, -92, 92, 2.0),
    "tan": (np.tan, -10, 10, 2.5),
}
"""Reference, the range where most happens, and the largest error in units in the last place."""


def samples(low: float, high: float) -> NDArray[np.float32]:
    """Every 4079th bit pattern, the interesting range densely, and specials; a multiple of 16 of them."""
    bits = np.arange(0, 1 << 32, 4079, dtype=np.uint32).view(np.float32)
    x = np.concatenate([SPECIAL, bits, np.linspace(low, high, 300_000, dtype=np.float32)])
    return np.concatenate([x, np.zeros(-len(x) % 16, np.float32)])


def written_out(parse: Parse, name: str, count: int, lanes: int) -> str:
    """A kernel that applies a function, after the pass."""
    buffer, type_ = f"!tir.buffer<{count}xf32>", f"vector<{lanes}xf32>" if lanes > 1 else "f32"
    module = parse(
        f"""
        tir.prim_func @f(%x: {buffer}, %o: {buffer}) outputs 1 {{
          tir.for %i in {count // lanes} {{
            %a = tir.load %x[%i * {lanes}] : {buffer} -> {type_}
            %b = math.{name} %a : {type_}
            tir.store %b, %o[%i * {lanes}] : {type_}, {buffer}
          }}
        }}"""
    )
    func = module.body.block.first_op
    assert isinstance(func, PrimFuncOp)
    lower_intrin.run(func)
    module.verify()
    return str(func)


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_float64(parse: Parse, run: Callable[..., Any], name: str, lanes: int):
    reference, low, high, limit = FUNCTIONS[name]
    x = samples(low, high)
    got = np.empty_like(x)
    run(written_out(parse, name, len(x), lanes), x, got)
    with np.errstate(all="ignore"):
        exact: NDArray[np.float64] = reference(x.astype(np.float64))
        rounded = exact.astype(np.float32)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(got[~finite], rounded[~finite])
    error = np.abs(got[finite] - exact[finite]) / np.spacing(np.abs(rounded[finite])).astype(np.float64)
    assert error.max() <= limit
    zero = (x == 0) & (rounded == 0)
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(rounded[zero]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls_nothing(parse: Parse, compiled: Callable[[str], tuple[LLVMKernel, Native]], name: str):
    _, native = compiled(written_out(parse, name, 64, 16))
    assert "call" not in native.assembly
