"""The functions that tir-lower-intrin writes out, over the whole range of their types, against float64."""

from __future__ import annotations

import math as python_math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects import math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from whence import te
from whence.dialects.tir import PrimFuncOp
from whence.kernels import build_schedule
from whence.lowering.llvm_to_native.compile import Native
from whence.lowering.tir_to_llvm.convert import LLVMKernel
from whence.passes.tir.elementary.formulas import FORMULAS
from whence.passes.tir.pipeline import run_tir_passes
from whence.support.context import PassContext

Array = NDArray[Any]
Kind = type[Operation]
Parse = Callable[[str], ModuleOp]
Run = Callable[..., Any]
Compiled = Callable[[str], tuple[LLVMKernel, Native]]


@pytest.fixture(autouse=True)
def gradual_underflow() -> Iterator[None]:
    """The formulas hold down to the smallest number, which kernels flush to 0 otherwise."""
    with PassContext(config={"tir.flush_denormals": False}):
        yield


_ERF = np.vectorize(python_math.erf, [np.float64])
UNARY: dict[Kind, tuple[Callable[[Array], Array], float, float]] = {
    math.AcosOp: (np.arccos, -1, 1),
    math.AcoshOp: (np.arccosh, 1, 9),
    math.AsinOp: (np.arcsin, -1, 1),
    math.AsinhOp: (np.arcsinh, -5, 5),
    math.AtanOp: (np.arctan, -8, 8),
    math.AtanhOp: (np.arctanh, -1, 1),
    math.CbrtOp: (np.cbrt, -9, 9),
    math.CosOp: (np.cos, -10, 10),
    math.CoshOp: (np.cosh, -92, 92),
    math.ErfOp: (_ERF, -4.5, 4.5),
    math.ExpOp: (np.exp, -110, 95),
    math.Exp2Op: (np.exp2, -152, 130),
    math.ExpM1Op: (np.expm1, -20, 90),
    math.LogOp: (np.log, 0, 3),
    math.Log10Op: (np.log10, 0, 3),
    math.Log1pOp: (np.log1p, -1, 8),
    math.Log2Op: (np.log2, 0, 3),
    math.RsqrtOp: (lambda x: 1 / np.sqrt(x), 0, 9),
    math.SinOp: (np.sin, -10, 10),
    math.SinhOp: (np.sinh, -92, 92),
    math.TanOp: (np.tan, -10, 10),
    math.TanhOp: (np.tanh, -10, 10),
}
"""Functions of one number: what they are in numpy, and the range where most happens."""
BINARY: dict[Kind, Callable[[Array, Array], Array]] = {math.Atan2Op: np.arctan2, math.PowFOp: np.power}

_EDGES = (
    *(0.0, 1.0, 2.0, 3.0, 0.5, 2.5, 1 / 3, 1 + 2**-23, 1 - 2**-24, np.inf, 2**24, 2**24 + 2, 8388607.5, 3.4028235e38),
    *(2**-149, 2**-126, 2**-126 - 2**-149, 2**-24, 150.0, 127.5, 2**51, 2**77, 2**103, 2**76 * 1.75, 9.02),
    # Where e^x and 2^x leave the normal numbers, and where they leave f32.
    *(88.72283, 88.72284, 87.33655, 87.33654, 103.97207, 103.97208, 103.27893, 128.0, 126.0, 149.0, 149.5),
    # The multiple of pi / 2 that f32 comes closest to, and other close ones.
    *(16367173 * 2.0**72, 12390303.0, 1.5707964, 4.712389, 10995573 * 2.0**-18),
)
EDGES = np.array([*_EDGES, *(-x for x in _EDGES), np.nan], np.float32)


def samples(low: float, high: float) -> Array:
    """Every 16381st bit pattern, a range densely, and edges."""
    bits = np.arange(0, 1 << 32, 16381, dtype=np.uint32).view(np.float32)
    return np.concatenate([EDGES, bits, np.linspace(low, high, 50_000, dtype=np.float32)])


def pairs() -> tuple[Array, Array]:
    """All pairs of edges; any bit patterns; bases and exponents with powers of a common size."""
    rng = np.random.default_rng(0)
    count = 50_000

    def patterns() -> Array:
        return rng.integers(0, 1 << 32, count, np.uint32).view(np.float32)

    x, y = (grid.ravel() for grid in np.meshgrid(EDGES, EDGES))
    firsts = [x, patterns(), patterns(), np.exp(rng.uniform(-20, 20, count)), rng.uniform(-30, 30, count)]
    seconds = [y, patterns(), rng.choice(EDGES, count), rng.uniform(-8, 8, count), rng.integers(-40, 40, count)]
    with np.errstate(invalid="ignore"):
        return np.concatenate(firsts).astype(np.float32), np.concatenate(seconds).astype(np.float32)


def kernel(
    parse: Parse, kind: Kind, count: int, lanes: int, operands: int = 1, dtype: str = "f32", flush: bool = False
) -> str:
    """A kernel that applies a function to arrays, after all tir passes."""
    buffer, type_ = f"!tir.buffer<{count}x{dtype}>", f"vector<{lanes}x{dtype}>" if lanes > 1 else dtype
    inputs = ", ".join(f"%x{number}: {buffer}" for number in range(operands))
    loads = [f"%a{n} = tir.load %x{n}[%i * {lanes}] : {buffer} -> {type_}" for n in range(operands)]
    module = parse(
        f"""
        tir.prim_func @f({inputs}, %o: {buffer}) outputs 1 {{
          tir.for %i in {count // lanes} {{
            {" ".join(loads)}
            %b = {kind.name} {", ".join(f"%a{number}" for number in range(operands))} : {type_}
            tir.store %b, %o[%i * {lanes}] : {type_}, {buffer}
          }}
        }}"""
    )
    return passed(module, flush)


def passed(module: ModuleOp, flush: bool = False) -> str:
    """The one kernel of a module, after all tir passes."""
    func = module.body.block.first_op
    assert isinstance(func, PrimFuncOp)
    run_tir_passes(func, flush=flush)
    module.verify()
    return str(func)


def check(got: Array, exact: Array, limit: float) -> None:
    """Results lie within `limit` units in the last place of what is exact; infinities, NaN and signs of 0 are right."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(got[~finite], rounded[~finite])
    error = np.abs(got[finite] - exact[finite]) / np.spacing(np.abs(rounded[finite])).astype(np.float64)
    assert error.max() <= limit
    zero = rounded == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(rounded[zero]))


def padded(arrays: Sequence[Array]) -> list[Array]:
    """To a multiple of 16 numbers."""
    return [np.concatenate([array, np.ones(-len(array) % 16, array.dtype)]) for array in arrays]


def test_every_function_is_tried() -> None:
    assert {*UNARY, *BINARY} == set(FORMULAS)


@pytest.mark.parametrize("kind", UNARY, ids=lambda kind: kind.name)
def test_functions_of_one_number(parse: Parse, run: Run, kind: Kind) -> None:
    """In vectors; and one by one, which is the same formula, all edges and every eighth of the other numbers."""
    reference, low, high = UNARY[kind]
    (x,) = padded([samples(low, high)])
    with np.errstate(all="ignore"):
        wanted = reference(x.astype(np.float64))
    some = np.append(np.arange(len(EDGES)), np.arange(len(EDGES), len(x), 8))
    for lanes, given, exact in ((16, x, wanted), (1, x[some], wanted[some])):
        got = np.empty_like(given)
        linked = run(kernel(parse, kind, len(given), lanes), given, got)
        assert "call" not in linked.assembly
        with np.errstate(all="ignore"):
            check(got, exact, FORMULAS[kind].error)


def test_exponentials_that_may_be_zero_take_fewer_ops(parse: Parse, run: Run) -> None:
    """Those of normal numbers are as exact, and the others 0."""
    (x,) = padded([samples(-110, 95)])
    given = kernel(parse, math.ExpOp, len(x), 16, flush=True)
    assert ops(given) <= ops(kernel(parse, math.ExpOp, len(x), 16)) - 6
    assert given.count("tir.select") == 2
    got = np.empty_like(x)
    run(given, x, got)
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.float64))
    exact[exact < np.finfo(np.float32).tiny] = 0
    # The least normal number is one of those that may be 0.
    assert not got[got < np.finfo(np.float32).tiny].any()
    exact[(got == 0) & (exact < 1.2e-38)] = 0
    check(got, exact, FORMULAS[math.ExpOp].error)
    assert (got[x == 0] == 1).all()


def ops(text: str) -> int:
    """The number of ops of a kernel that are no constants."""
    return sum("=" in line and "constant" not in line for line in text.splitlines())


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("kind", BINARY, ids=lambda kind: kind.name)
def test_functions_of_two_numbers(parse: Parse, run: Run, kind: Kind, lanes: int) -> None:
    x, y = padded(pairs())
    got = np.empty_like(x)
    linked = run(kernel(parse, kind, len(x), lanes, operands=2), x, y, got)
    assert "call" not in linked.assembly
    with np.errstate(all="ignore"):
        check(got, BINARY[kind](x.astype(np.float64), y.astype(np.float64)), FORMULAS[kind].error)


# Every other one: what is around the function does not depend on it.
@pytest.mark.parametrize("kind", [*UNARY][::2], ids=lambda kind: kind.name)
def test_all_numbers_of_half_precision(parse: Parse, run: Run, kind: Kind) -> None:
    """Computed in f32: but for a tie in a thousand, the number nearest to the exact result."""
    x = np.arange(0, 1 << 16, dtype=np.uint16).view(np.float16)
    got = np.empty_like(x)
    run(kernel(parse, kind, len(x), 16, dtype="f16"), x, got)
    with np.errstate(all="ignore"):
        exact = UNARY[kind][0](x.astype(np.float64))
        rounded = exact.astype(np.float16)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(got[~finite], rounded[~finite])
    error = np.abs(got[finite] - exact[finite]) / np.spacing(np.abs(rounded[finite])).astype(np.float64)
    assert error.max() <= 0.501


def test_bf16_goes_through_f32(parse: Parse, run: Run) -> None:
    x = np.linspace(-12, 12, 64).astype(ml_dtypes.bfloat16)
    got = np.empty_like(x)
    run(kernel(parse, math.TanhOp, 64, 16, dtype="bf16"), x.view(np.uint16), got.view(np.uint16))
    np.testing.assert_array_equal(got, np.tanh(x.astype(np.float64)).astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("exponent", [-1.0, 0.5, 2.0, 3.0])
@pytest.mark.parametrize("lanes", [1, 16])
def test_powers_of_known_exponents(parse: Parse, run: Run, compiled: Compiled, exponent: float, lanes: int) -> None:
    (x,) = padded([samples(-9, 9)])
    buffer, type_ = f"!tir.buffer<{len(x)}xf32>", f"vector<{lanes}xf32>" if lanes > 1 else "f32"
    module = parse(
        f"""
        tir.prim_func @f(%x: {buffer}, %o: {buffer}) outputs 1 {{
          %e = arith.constant {f"dense<{exponent}>" if lanes > 1 else exponent} : {type_}
          tir.for %i in {len(x) // lanes} {{
            %a = tir.load %x[%i * {lanes}] : {buffer} -> {type_}
            %b = math.powf %a, %e : {type_}
            tir.store %b, %o[%i * {lanes}] : {type_}, {buffer}
          }}
        }}"""
    )
    text = passed(module)
    assert "f64" not in text
    assert "call" not in compiled(text)[1].assembly
    got = np.empty_like(x)
    run(text, x, got)
    with np.errstate(all="ignore"):
        # An array of exponents: numpy, too, has something shorter, but wrong for -0, for known ones.
        check(got, np.power(x.astype(np.float64), np.full(len(x), exponent)), 1.5)


@pytest.mark.parametrize("kind", UNARY, ids=lambda kind: kind.name)
@pytest.mark.parametrize("lanes", [1, 8])
def test_f64_uses_the_c_library(parse: Parse, run: Run, kind: Kind, lanes: int) -> None:
    reference, low, high = UNARY[kind]
    x = np.random.default_rng(1).uniform(max(low, -9), min(high, 9), 32)
    got = np.empty_like(x)
    text = kernel(parse, kind, 32, lanes, dtype="f64")
    assert kind.name in text
    run(text, x, got)
    np.testing.assert_allclose(got, reference(x), rtol=2e-15)


@pytest.mark.parametrize("lanes", [1, 16])
def test_sigmoid_of_the_te_language(lanes: int) -> None:
    """Built of exp: two roundings more."""
    (x,) = padded([samples(-105, 20)])
    tensor = te.placeholder((len(x),), name="x")
    result = te.compute(tensor.shape, lambda i: te.sigmoid(tensor[i]), name="y")
    schedule = te.create_schedule(result)
    if lanes > 1:
        _, inner = schedule[result].split(result.op.axis[0], factor=lanes)
        schedule[result].vectorize(inner)
    found = build_schedule(schedule, threads=1)(x)
    assert isinstance(found, np.ndarray)
    with np.errstate(all="ignore"):
        check(found, 1 / (1 + np.exp(-x.astype(np.float64))), 2.5)
