"""Every scalar op, alone and on vectors, against numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Run = Callable[..., Any]
Array = NDArray[Any]
Binary = Callable[[Any, Any], Any]
Unary = Callable[[Any], Any]
TYPES: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
}
N = 48


def inputs(kind: str, count: int) -> list[Array]:
    rng = np.random.default_rng(len(kind) + count)
    if kind == "i1":
        return [rng.random(N) < 0.5 for _ in range(count)]
    if kind.startswith("i"):
        info = np.iinfo(TYPES[kind])
        return [rng.integers(info.min, info.max, N, TYPES[kind], endpoint=True) for _ in range(count)]
    return [(rng.standard_normal(N) * 3).astype(TYPES[kind]) for _ in range(count)]


def compute(
    run: Run, lines: Sequence[str], arrays: Sequence[Array], kinds: Sequence[str], result: str, lanes: int
) -> Any:
    """Run ops on %a0, %a1, ..; the last one defines %r. `$i` in them is the type of input i, `$r` of the result."""
    types = [f"vector<{lanes}x{kind}>" if lanes > 1 else kind for kind in kinds]
    final = f"vector<{lanes}x{result}>" if lanes > 1 else result
    body = "\n".join(lines).replace("$r", final)
    for number, type_ in enumerate(types):
        body = body.replace(f"${number}", type_)
    buffers = ", ".join(f"%p{i}: !tir.buffer<{N}x{kind}>" for i, kind in enumerate(kinds))
    loads = "\n".join(
        f"%a{i} = tir.load %p{i}[%i * {lanes}] : !tir.buffer<{N}x{kind}> -> {types[i]}" for i, kind in enumerate(kinds)
    )
    out = np.zeros(N, TYPES[result])
    run(
        f"""
        tir.prim_func @f({buffers}, %o: !tir.buffer<{N}x{result}>) outputs 1 {{
          tir.for %i in {N // lanes} {{
            {loads}
            {body}
            tir.store %r, %o[%i * {lanes}] : {final}, !tir.buffer<{N}x{result}>
          }}
        }}""",
        *(*arrays, out),
    )
    return out


BINARY: list[tuple[str, str, Binary]] = [
    ("arith.addf", "f32", np.add),
    ("arith.addf", "f16", np.add),
    ("arith.subf", "f32", np.subtract),
    ("arith.mulf", "f64", np.multiply),
    ("arith.divf", "f32", np.divide),
    ("arith.maximumf", "f32", np.maximum),
    ("arith.minimumf", "f32", np.minimum),
    ("arith.maxnumf", "f32", np.fmax),
    ("arith.minnumf", "f64", np.fmin),
    ("arith.addi", "i32", np.add),
    ("arith.subi", "i8", np.subtract),
    ("arith.muli", "i32", np.multiply),
    ("arith.andi", "i32", np.bitwise_and),
    ("arith.ori", "i64", np.bitwise_or),
    ("arith.xori", "i1", np.logical_xor),
    ("arith.maxsi", "i32", np.maximum),
    ("arith.minsi", "i8", np.minimum),
    ("arith.maxui", "i8", lambda a, b: np.maximum(a.view(np.uint8), b.view(np.uint8)).view(np.int8)),
    ("arith.minui", "i32", lambda a, b: np.minimum(a.view(np.uint32), b.view(np.uint32)).view(np.int32)),
    ("math.copysign", "f32", np.copysign),
    ("math.atan2", "f32", np.arctan2),
]


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize(("op", "kind", "reference"), BINARY, ids=lambda p: p if isinstance(p, str) else "")
def test_binary(run: Run, op: str, kind: str, reference: Binary, lanes: int):
    a, b = inputs(kind, 2)
    if kind.startswith("f"):
        a[0], b[1], a[2], b[3] = np.nan, np.nan, np.inf, -np.inf
    got = compute(run, [f"%r = {op} %a0, %a1 : $0"], [a, b], [kind, kind], kind, lanes)
    if op == "math.atan2":
        np.testing.assert_allclose(got, reference(a, b), rtol=1e-6)
    else:
        np.testing.assert_array_equal(got, reference(a, b))


DIVISION: list[tuple[str, Binary]] = [
    ("arith.divsi", lambda a, b: np.trunc(a / b)),
    ("arith.remsi", np.fmod),
    ("arith.floordivsi", lambda a, b: a // b),
    ("arith.ceildivsi", lambda a, b: -(-a // b)),
]


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize(("op", "reference"), DIVISION, ids=lambda p: p if isinstance(p, str) else "")
def test_signed_division(run: Run, op: str, reference: Binary, lanes: int):
    a = np.resize(np.arange(-12, 12, dtype=np.int32), N)
    b = np.resize(np.array([1, -1, 3, -3, 5, -4, 7], np.int32), N)
    got = compute(run, [f"%r = {op} %a0, %a1 : $0"], [a, b], ["i32", "i32"], "i32", lanes)
    np.testing.assert_array_equal(got, reference(a, b))


SHIFTS: list[tuple[str, Binary]] = [
    ("arith.shli", lambda a, b: a << b),
    ("arith.shrsi", lambda a, b: a >> b),
    ("arith.shrui", lambda a, b: (a.view(np.uint32) >> b.view(np.uint32)).view(np.int32)),
    ("arith.divui", lambda a, b: (a.view(np.uint32) // (b.view(np.uint32) + 1)).view(np.int32)),
    ("arith.remui", lambda a, b: (a.view(np.uint32) % (b.view(np.uint32) + 1)).view(np.int32)),
]


@pytest.mark.parametrize(("op", "reference"), SHIFTS, ids=lambda p: p if isinstance(p, str) else "")
def test_shifts_and_unsigned_division(run: Run, op: str, reference: Binary):
    (a,) = inputs("i32", 1)
    b = np.resize(np.arange(32, dtype=np.int32), N)
    divisor = b + 1 if "ui" in op and "shr" not in op else b
    got = compute(run, [f"%r = {op} %a0, %a1 : $0"], [a, divisor], ["i32", "i32"], "i32", 16)
    np.testing.assert_array_equal(got, reference(a, b))


UNARY: list[tuple[str, str, Unary]] = [
    ("arith.negf", "f32", np.negative),
    ("math.absf", "f32", np.abs),
    ("math.sqrt", "f32", np.sqrt),
    ("math.rsqrt", "f32", lambda a: 1 / np.sqrt(a)),
    ("math.floor", "f32", np.floor),
    ("math.ceil", "f64", np.ceil),
    ("math.trunc", "f32", np.trunc),
    ("math.roundeven", "f32", np.rint),
    ("math.round", "f32", lambda a: np.trunc(a + np.copysign(np.float32(0.5), a))),
    ("math.sin", "f32", np.sin),
    ("math.cos", "f32", np.cos),
    ("math.tan", "f32", np.tan),
    ("math.log", "f32", np.log),
    ("math.log2", "f32", np.log2),
    ("math.log1p", "f32", np.log1p),
    ("math.exp2", "f32", np.exp2),
    ("math.sinh", "f64", np.sinh),
    ("math.atan", "f32", np.arctan),
    ("math.absi", "i32", np.abs),
    ("math.ctpop", "i8", lambda a: np.bitwise_count(a.view(np.uint8))),
]


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize(("op", "kind", "reference"), UNARY, ids=lambda p: p if isinstance(p, str) else "")
def test_unary(run: Run, op: str, kind: str, reference: Unary, lanes: int):
    (a,) = inputs(kind, 1)
    if op.split(".")[1] in ("sqrt", "rsqrt", "log", "log2", "log1p"):
        a = np.abs(a) + a.dtype.type(0.01)
    got = compute(run, [f"%r = {op} %a0 : $0"], [a], [kind], kind, lanes)
    signed = reference(a).astype(got.dtype) if kind == "i8" else reference(a)
    np.testing.assert_allclose(got, signed, rtol=3e-6 if kind == "f32" else 1e-14)


CASTS: list[tuple[str, str, str]] = [
    ("sitofp", "i32", "f32"),
    ("sitofp", "i8", "f64"),
    ("uitofp", "i1", "f32"),
    ("fptosi", "f32", "i32"),
    ("fptosi", "f64", "i8"),
    ("extsi", "i8", "i32"),
    ("trunci", "i64", "i32"),
    ("extf", "f32", "f64"),
    ("extf", "f16", "f32"),
    ("truncf", "f64", "f32"),
    ("truncf", "f32", "f16"),
]


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize(("op", "source", "result"), CASTS)
def test_casts(run: Run, op: str, source: str, result: str, lanes: int):
    (a,) = inputs(source, 1)
    word = "tir.cast " if lanes > 1 and not op.endswith("f") else "arith."
    got = compute(run, [f"%r = {word}{op} %a0 : $0 to $r"], [a], [source], result, lanes)
    np.testing.assert_array_equal(got, a.astype(TYPES[result]))


def test_unsigned_casts(run: Run):
    (a,) = inputs("i8", 1)
    got = compute(run, ["%r = tir.cast extui %a0 : $0 to $r"], [a], ["i8"], "i32", 16)
    np.testing.assert_array_equal(got, a.view(np.uint8).astype(np.int32))
    got = compute(run, ["%r = tir.cast uitofp %a0 : $0 to $r"], [a], ["i8"], "f32", 8)
    np.testing.assert_array_equal(got, a.view(np.uint8).astype(np.float32))
    x = np.linspace(0, 255, N, dtype=np.float32)
    got = compute(run, ["%r = tir.cast fptoui %a0 : $0 to $r"], [x], ["f32"], "i8", 16)
    np.testing.assert_array_equal(got, x.astype(np.uint8).view(np.int8))


COMPARE: dict[str, Binary] = {
    "oeq": np.equal,
    "une": np.not_equal,
    "olt": np.less,
    "oge": np.greater_equal,
    "uno": lambda a, b: np.isnan(a) | np.isnan(b),
    "ult": lambda a, b: ~(a >= b),
}


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("predicate", COMPARE)
def test_float_comparison_with_nan(run: Run, predicate: str, lanes: int):
    a, b = inputs("f32", 2)
    a[:8], b[4:12] = np.nan, np.nan
    b[20:30] = a[20:30]
    word = f"arith.cmpf {predicate}," if lanes == 1 else f"tir.compare {predicate}"
    got = compute(run, [f"%r = {word} %a0, %a1 : $0"], [a, b], ["f32", "f32"], "i1", lanes)
    np.testing.assert_array_equal(got, COMPARE[predicate](a, b))


@pytest.mark.parametrize("lanes", [1, 16])
def test_integer_comparison_and_select(run: Run, lanes: int):
    a, b = inputs("i32", 2)
    word = "arith.cmpi ult," if lanes == 1 else "tir.compare ult"
    chosen = "%r = arith.select %c, %a0, %a1 :"
    choose = f"{chosen} $0" if lanes == 1 else f"{chosen.replace('arith', 'tir')} vector<{lanes}xi1>, $0"
    got = compute(run, [f"%c = {word} %a0, %a1 : $0", choose], [a, b], ["i32", "i32"], "i32", lanes)
    np.testing.assert_array_equal(got, np.where(a.view(np.uint32) < b.view(np.uint32), a, b))


@pytest.mark.parametrize(
    ("kind", "element", "reference"),
    [
        ("add", "f32", np.sum),
        ("mul", "f32", np.prod),
        ("maximumf", "f32", np.max),
        ("minnumf", "f32", np.min),
        ("add", "i32", np.sum),
        ("maxsi", "i32", np.max),
        ("or", "i32", np.bitwise_or.reduce),
    ],
)
@pytest.mark.parametrize("accumulator", [False, True])
def test_reductions(run: Run, kind: str, element: str, reference: Unary, accumulator: bool):
    (a,) = inputs(element, 1)
    acc = np.array([3], a.dtype)
    out = np.zeros(N // 16, a.dtype)
    joined = ", %s" if accumulator else ""
    run(
        f"""
        tir.prim_func @r(%x: !tir.buffer<{N}x{element}>, %y: !tir.buffer<1x{element}>,
                         %o: !tir.buffer<{N // 16}x{element}>) outputs 1 {{
          %s = tir.load %y[0] : !tir.buffer<1x{element}> -> {element}
          tir.for %i in {N // 16} {{
            %a = tir.load %x[%i * 16] : !tir.buffer<{N}x{element}> -> vector<16x{element}>
            %b = vector.reduction <{kind}>, %a{joined} : vector<16x{element}> into {element}
            tir.store %b, %o[%i] : {element}, !tir.buffer<{N // 16}x{element}>
          }}
        }}""",
        *(a, acc, out),
    )
    rows = a.reshape(-1, 16)
    if accumulator:
        rows = np.concatenate([rows, np.full((len(rows), 1), 3, a.dtype)], axis=1)
    np.testing.assert_allclose(out, [reference(row).astype(a.dtype) for row in rows], rtol=1e-4)


@pytest.mark.parametrize("value", ["inf", "nan", "-0.0", "1.0e-45", "0.1", "-3.4e38"])
def test_float_constants_are_exact(run: Run, value: str):
    number, zeros = np.float32(value), np.zeros(N, np.float32)
    spelled = {"inf": "0x7F800000", "nan": "0x7FC00000"}.get(value, value)
    got = compute(run, [f"%r = arith.constant {spelled} : f32"], [zeros], ["f32"], "f32", 1)
    np.testing.assert_array_equal(got.view(np.int32), np.full(N, number).view(np.int32))
    raw = "".join(f"{byte:02X}" for byte in np.full(16, number).tobytes())
    got = compute(run, [f'%r = arith.constant dense<"0x{raw}"> : $r'], [zeros], ["f32"], "f32", 16)
    np.testing.assert_array_equal(got.view(np.int32), np.full(N, number).view(np.int32))


def test_constants_by_lane_and_narrow_ones(run: Run):
    zeros = np.zeros(N, np.float32)
    got = compute(run, ["%r = arith.constant dense<[1, -2, 3, 127]> : $r"], [zeros], ["f32"], "i8", 4)
    np.testing.assert_array_equal(got, np.resize(np.array([1, -2, 3, 127], np.int8), N))
    got = compute(run, ["%r = arith.constant true"], [zeros], ["f32"], "i1", 1)
    assert got.all()
    got = compute(run, ["%r = arith.constant 65504.0 : f16"], [zeros], ["f32"], "f16", 1)
    np.testing.assert_array_equal(got, np.float16(65504))
