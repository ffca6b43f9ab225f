"""Conversions from and to f16 and bf16, on the host and on a machine without instructions for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import BFloat16Type

from whence.lowering.llvm_to_native.compile import Native
from whence.lowering.llvm_to_native.floats import is_soft
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.tir_to_llvm.convert import LLVMKernel

Array = NDArray[Any]
# numpy reports conversions of signalling NaN and of what is too large.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
TARGETS = ("native", "llvm -mcpu=x86-64")
FLOATS: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
HALVES = ("f16", "bf16")
INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
UNSIGNED = {"ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64}
LANES = 16


def bits_of(kind: str) -> Any:
    return {16: np.uint16, 32: np.uint32, 64: np.uint64}[8 * np.dtype(FLOATS[kind]).itemsize]


@cache
def every(kind: str) -> Array:
    """All floats of 16 bits."""
    return np.arange(1 << 16, dtype=np.uint16).view(FLOATS[kind])


@cache
def numbers(kind: str, goal: str) -> Array:
    """Floats around everything that `goal` can hold: its values, what lies halfway, and their neighbours."""
    if kind in HALVES:
        return every(kind)
    exact = every(goal).astype(np.float64)
    exact = np.unique(exact[np.isfinite(exact)])
    halfway = (exact[1:] + exact[:-1]) / 2
    largest = exact[-1] + (exact[-1] - exact[-2]) / 2
    near = np.concatenate([exact, halfway, [largest, -largest]]).astype(FLOATS[kind])
    up, down = np.nextafter(near, FLOATS[kind](np.inf)), np.nextafter(near, FLOATS[kind](-np.inf))
    spread = np.random.default_rng(1).integers(0, 256, (1 << 16) * near.itemsize, np.uint8)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan], FLOATS[kind])
    # In f64, a little more than halfway: what rounds to the tie in f32.
    more = np.concatenate([near * FLOATS[kind](1 + 2**-40), near * FLOATS[kind](1 - 2**-40)])
    found = np.concatenate([near, up, down, more, spread.view(FLOATS[kind]), special])
    return np.concatenate([found, np.zeros(-len(found) % LANES, FLOATS[kind])])


def nearest(values: Array, goal: str) -> Array:
    """The bits of `goal` nearest to exact numbers (f64, or integers of any size), found by search."""
    table = every(goal)
    positive = table[: int(np.flatnonzero(np.isinf(table.astype(np.float64)))[0])].astype(np.float64)
    size = np.abs(values.astype(np.longdouble))
    finite = np.isfinite(size)
    size = np.where(finite, size, 0)
    below = np.searchsorted(positive, size, side="right") - 1
    step = np.append(np.diff(positive), positive[-1] - positive[-2]).astype(np.longdouble)
    over = size - positive[below] - step[below] / 2
    found = below + ((over > 0) | ((over == 0) & (below % 2 == 1)))
    found = np.where(finite, found, len(positive))
    return (found | np.where(np.signbit(values.astype(np.longdouble)), 0x8000, 0)).astype(np.uint16)


def certain(values: Array, goal: str, target: str) -> Array:
    """Where a result is what IEEE 754 says: x86's instruction for bf16 takes subnormal numbers for 0."""
    flushed = goal == "bf16" and not is_soft(Target.parse(target), BFloat16Type)
    return (np.abs(values) >= np.finfo(np.float32).tiny) | (values == 0) | (not flushed)


@pytest.fixture
def converted(run: Callable[..., Any]) -> Callable[..., None]:
    """Convert `x` to `o`, in vectors of LANES or (0) one by one; as integer arithmetic, without a call."""

    def convert(op: str, source: str, goal: str, lanes: int, target: str, x: Array, o: Array) -> None:
        first, second = source.removeprefix("u"), goal.removeprefix("u")
        a, b = (f"vector<{lanes}x{t}>" if lanes else t for t in (first, second))
        step, count = f" * {lanes}" if lanes else "", len(x)
        text = f"""
        tir.prim_func @k(%x: !tir.buffer<{count}x{first}>, %o: !tir.buffer<{count}x{second}>) outputs 1 {{
          tir.for %i in {count // (lanes or 1)} {{
            %a = tir.load %x[%i{step}] : !tir.buffer<{count}x{first}> -> {a}
            %b = {op} %a : {a} to {b}
            tir.store %b, %o[%i{step}] : {b}, !tir.buffer<{count}x{second}>
          }}
        }}"""
        linked = run(text, x, o, target=Target.parse(target))
        assert not re.search(r"\bcall", linked.assembly)

    return convert


CASES = [(source, goal) for source in FLOATS for goal in FLOATS if source != goal and {source, goal} != set(HALVES)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lanes", [LANES, 0])
@pytest.mark.parametrize(("source", "goal"), CASES)
def test_floats(converted: Any, source: str, goal: str, lanes: int, target: str) -> None:
    x = numbers(source, goal if goal in HALVES else "f16")
    widens = np.dtype(FLOATS[goal]).itemsize > np.dtype(FLOATS[source]).itemsize
    got = np.zeros(len(x), bits_of(goal))
    op = "arith.extf" if widens else "arith.truncf"
    converted(op, source, goal, lanes, target, x.view(bits_of(source)), got)
    nan = np.isnan(x.astype(np.float64))
    found = got.view(FLOATS[goal])
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), nan)
    np.testing.assert_array_equal(np.signbit(found[nan].astype(np.float64)), np.signbit(x[nan].astype(np.float64)))
    if goal in HALVES:
        quiet = {"f16": 0x0200, "bf16": 0x0040}[goal]
        assert np.all(np.bitwise_and(got[nan], quiet))
        sure = ~nan & certain(x, goal, target)
        np.testing.assert_array_equal(got[sure], nearest(x[sure], goal))
        if source == "f32":
            np.testing.assert_array_equal(got[sure], x[sure].astype(FLOATS[goal]).view(np.uint16))
    else:
        np.testing.assert_array_equal(got[~nan], x[~nan].astype(FLOATS[goal]).view(bits_of(goal)))


def _cast(kind: str, lanes: int) -> str:
    return f"{'tir.cast ' if lanes else 'arith.'}{kind}"


def integers(kind: str) -> Array:
    dtype = {**INTEGERS, **UNSIGNED}[kind]
    info = np.iinfo(dtype)
    rng = np.random.default_rng(2)
    powers = [2**k + d for k in range(65) for d in (-1, 0, 1)]
    # Ties of numbers with 8 and 11 bits, and what lies one beside them.
    ties = [(2 * m + 1) * 2**k + d for m in (128, 129, 1024, 1025) for k in range(56) for d in (-1, 0, 1)]
    exact = [n for n in (*powers, *ties, *(-n for n in powers), *(-n for n in ties)) if info.min <= n <= info.max]
    found = np.array(exact, dtype)
    spread = rng.integers(info.min, info.max, 4096, dtype=dtype, endpoint=True)
    found = np.concatenate([found, spread, spread >> dtype(info.bits // 2), np.array([info.min, info.max], dtype)])
    return np.concatenate([found, np.zeros(-len(found) % LANES, dtype)])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lanes", [LANES, 0])
@pytest.mark.parametrize("goal", HALVES)
@pytest.mark.parametrize("source", [*INTEGERS, *UNSIGNED])
def test_from_integers(converted: Any, source: str, goal: str, lanes: int, target: str) -> None:
    x = integers(source)
    got = np.zeros(len(x), np.uint16)
    op = _cast("uitofp" if source in UNSIGNED else "sitofp", lanes)
    converted(op, source, goal, lanes, target, x.view(INTEGERS[source.removeprefix("u")]), got)
    np.testing.assert_array_equal(got, nearest(x, goal))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lanes", [LANES, 0])
@pytest.mark.parametrize("source", HALVES)
@pytest.mark.parametrize("goal", [*INTEGERS, *UNSIGNED])
def test_to_integers(converted: Any, source: str, goal: str, lanes: int, target: str) -> None:
    info = np.iinfo({**INTEGERS, **UNSIGNED}[goal])
    x = every(source).astype(np.float64)
    x = np.where((x > int(info.min) - 1) & (x < int(info.max)), x, 0.0)
    x[x < info.min] = 0
    given = x.astype(FLOATS[source])
    got = np.zeros(len(x), INTEGERS[goal.removeprefix("u")])
    op = _cast("fptoui" if goal in UNSIGNED else "fptosi", lanes)
    converted(op, source, goal, lanes, target, given.view(np.uint16), got)
    np.testing.assert_array_equal(got.view({**INTEGERS, **UNSIGNED}[goal]), np.trunc(x).astype(info.dtype))


def first(function: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: function(a)


REFERENCES: dict[str, Callable[[Array, Array], Array]] = {
    "arith.addf %a, %b": np.add,
    "arith.subf %a, %b": np.subtract,
    "arith.mulf %a, %b": np.multiply,
    "arith.divf %a, %b": np.divide,
    "arith.maximumf %a, %b": np.maximum,
    "math.sqrt %a": first(np.sqrt),
    "math.copysign %a, %b": np.copysign,
    "arith.negf %a": first(np.negative),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize("op", REFERENCES)
def test_arithmetic(run: Callable[..., Any], kind: str, op: str, target: str) -> None:
    """f64 has more than twice the digits, so that the rounding of its results is as if the only one."""
    count = 1 << 12
    bits = np.random.default_rng(3).integers(0, 1 << 16, (2, count), np.uint16)
    a, b = bits.view(FLOATS[kind])
    buffer, vector = f"!tir.buffer<{count}x{kind}>", f"vector<{LANES}x{kind}>"
    text = f"""
    tir.prim_func @k(%x: {buffer}, %y: {buffer}, %o: {buffer}) outputs 1 {{
      tir.for %i in {count // LANES} {{
        %a = tir.load %x[%i * {LANES}] : {buffer} -> {vector}
        %b = tir.load %y[%i * {LANES}] : {buffer} -> {vector}
        %c = {op} : {vector}
        tir.store %c, %o[%i * {LANES}] : {vector}, {buffer}
      }}
    }}"""
    got = np.zeros(count, np.uint16)
    linked = run(text, bits[0], bits[1], got, target=Target.parse(target))
    assert not re.search(r"\bcall", linked.assembly)
    exact = REFERENCES[op](a.astype(np.float64), b.astype(np.float64))
    nan = np.isnan(exact)
    np.testing.assert_array_equal(np.isnan(got.view(FLOATS[kind]).astype(np.float64)), nan)
    sure = ~nan & certain(exact, kind, target)
    np.testing.assert_array_equal(got[sure], nearest(exact[sure], kind))


def test_loads_and_selects_stay_vectors(compiled: Callable[..., tuple[LLVMKernel, Native]]) -> None:
    """LLVM takes vectors of bf16 apart where the machine does not have them."""
    _, native = compiled(
        """
        tir.prim_func @k(%x: !tir.buffer<64xbf16>, %o: !tir.buffer<64xbf16>) outputs 1 {
          %zero = arith.constant dense<0.0> : vector<16xbf16>
          tir.for %i in 4 {
            %a = tir.load %x[%i * 16] : !tir.buffer<64xbf16> -> vector<16xbf16>
            %c = tir.compare ogt %a, %zero : vector<16xbf16>
            %b = tir.select %c, %a, %zero : vector<16xi1>, vector<16xbf16>
            tir.store %b, %o[%i * 16] : vector<16xbf16>, !tir.buffer<64xbf16>
          }
        }""",
        Target.parse("llvm -mcpu=haswell"),
    )
    assert "pextrw" not in native.assembly
    assert "pinsrw" not in native.assembly
