"""Values that are read twice at every step cost what they cost once, at every level: as trees, these have 2 ** n ops.

No time is measured: a walk that met each value as often as it is read would never end. What is generated is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from dag_shapes import SHAPES, inputs_of

import whence
from whence import te
from whence.cli.opt import main as whence_opt
from whence.te.language.expr import Expr

STATIC = [kind for kind in SHAPES if kind != "branches"]
STEPS = 20
"""Steps of the longer graphs: a walk over the tree would take a million."""
LINES = 200
"""Of loops that a step of a graph may have: what it computes may be computed again at some other points."""


def close(kind: str, steps: int, rows: int | str = 8) -> None:
    model, x = SHAPES[kind](steps, rows), inputs_of(kind)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (got,) = whence.compile(model).run({"x": x}).values()
    np.testing.assert_allclose(got, session.run(None, {"x": x})[0], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("kind", SHAPES)
def test_graphs_of_each_shape(kind: str) -> None:
    close(kind, STEPS)


@pytest.mark.parametrize("kind", ["choices", "slices", "gathers", "transposes"])
def test_graphs_of_open_sizes(kind: str) -> None:
    close(kind, 12, "N")


@pytest.mark.parametrize("kind", ["squares", "slices", "gathers", "transposes", "int8", "remainders"])
def test_code_grows_as_the_graph_does(kind: str) -> None:
    kernels = [whence.compile(SHAPES[kind](steps)).artifact.kernels for steps in (STEPS // 2, STEPS)]
    few, many = (sum(kernel.tir.count("\n") for kernel in some) for some in kernels)
    assert many < min(3 * few, LINES * STEPS)


RELAY: dict[str, Callable[[str, int], str]] = {
    "values": lambda x, i: f"%{2 * i} = multiply({x}, {x}); %{2 * i + 1} = tanh(add(%{2 * i}, {x}));",
    "tuples": lambda x, i: f"%{2 * i} = ({x}, negative({x})); %{2 * i + 1} = tanh(add(%{2 * i}.0, %{2 * i}.1));",
    "branches": lambda x, i: (
        f"%{2 * i} = less(sum({x}), 0.5f); %{2 * i + 1} = if (%{2 * i}) {{ add({x}, {x}) }} else {{ tanh({x}) }};"
    ),
    "bindings": lambda x, i: f"let %v{2 * i + 1} = tanh(add({x}, multiply({x}, {x})));",
}
"""What of Relay text comes after a value."""


@pytest.mark.parametrize("kind", RELAY)
def test_relay_text(kind: str, tmp_path: Path) -> None:
    value, lines = "%x", []
    for i in range(STEPS):
        lines.append(RELAY[kind](value, i))
        value = f"%v{2 * i + 1}" if kind == "bindings" else f"%{2 * i + 1}"
    body = "\n".join([*lines, value])
    (tmp_path / "net.relay").write_text(
        f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(8), float32]) -> Tensor[(8), float32] {{\n{body}\n}}'
    )
    x = np.linspace(0.1, 0.5, 8, dtype=np.float32)
    want = x.astype(np.float64)
    for _ in range(STEPS):
        if kind == "branches":
            want = want + want if want.sum() < 0.5 else np.tanh(want)
        else:
            want = np.tanh(want - want if kind == "tuples" else want * want + want)
    (got,) = whence.compile(tmp_path / "net.relay").run({"x": x}).values()
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5)


def test_functions_that_call_the_one_before_twice(tmp_path: Path) -> None:
    type_ = "Tensor[(8), float32]"
    functions = [f"def @f0(%x: {type_}) -> {type_} {{ negative(%x) }}"]
    for i in range(1, 26):
        functions.append(f"def @f{i}(%x: {type_}) -> {type_} {{ @f{i - 1}(@f{i - 1}(%x)) }}")
    main = f"def @main(%x: {type_}) -> {type_} {{ @f25(%x) }}"
    (tmp_path / "net.relay").write_text("\n".join(['#[version = "0.0.5"]', *functions, main]))
    assert "f25" in str(whence.load(tmp_path / "net.relay"))
    whence.compile(tmp_path / "net.relay")


def _again(value: Expr, step: Callable[[Expr], Expr]) -> Expr:
    for _ in range(2 * STEPS):
        value = step(value)
    return value


EXPRESSIONS: dict[str, Callable[[te.Tensor, Expr], Expr]] = {
    "values": lambda a, i: _again(a[i], lambda x: te.tanh(x * x + x)),
    "choices": lambda a, i: _again(a[i], lambda x: te.if_then_else(x > 0.5, x - 0.5, x * x)),
    "axes": lambda a, i: a[te.floormod(_again(i, lambda j: j + j), 8)],
    "minima": lambda a, i: a[te.min(_again(i, lambda j: te.min(j + 1, j * 2)), 7)],
    "numbers": lambda a, i: a[te.floormod(_again(a[i].astype("int32"), lambda j: j + j), 8)],
    "reads": lambda a, i: a[_again(a[i].astype("int32"), lambda j: (a[j] * a[j]).astype("int32"))],
}
"""Expressions of a tensor of 0 and 1 at an axis."""


def _read(kind: str, a: np.ndarray) -> np.ndarray:
    """What an expression gives."""
    places, value = np.arange(8), a.astype(np.float64)
    for _ in range(2 * STEPS):
        match kind:
            case "values":
                value = np.tanh(value * value + value)
            case "choices":
                value = np.where(value > 0.5, value - 0.5, value * value)
            case "minima":
                places = np.minimum(places + 1, places * 2)
            case _:
                pass
    match kind:
        case "values" | "choices":
            return value
        case "minima":
            return a[np.minimum(places, 7)]
        case "axes" | "numbers":
            return a[np.zeros(8, int)]
        case _:
            return a[a.astype(int)]


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_expressions_of_te(kind: str) -> None:
    a = te.placeholder((8,), name="a")
    out = te.compute((8,), lambda i: EXPRESSIONS[kind](a, i), name="out")
    schedule = te.create_schedule(out.op)
    assert len(str(schedule)) < 100_000
    x = np.array([0, 1, 1, 0, 1, 0, 0, 1], np.float32)
    got = np.zeros(8, np.float32)
    whence.build(schedule, [a, out])(x, got)
    np.testing.assert_allclose(got, _read(kind, x), rtol=1e-3, atol=1e-5)


def test_sizes_of_te() -> None:
    """The extent is made of the one before twice, again and again."""
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    out = te.compute((_again(n, lambda m: te.max(m, te.min(m, n))),), lambda i: a[i], name="out")
    assert "out" in str(te.create_schedule(out.op, sizes={"n": 4}))


def _sum(a: te.Tensor, mirrored: bool, name: str) -> te.Tensor:
    return te.compute((8,), lambda j: te.tanh(a[j] + a[7 - j if mirrored else j]), name=name)


@pytest.mark.parametrize("mirrored", [False, True])
def test_stages_that_are_inlined(mirrored: bool) -> None:
    """Each stage reads the one before twice: at one point, or at two that are the first again after two stages."""
    a = stage = te.placeholder((8,), name="a")
    stages = []
    for i in range(STEPS):
        stages.append(stage := _sum(stage, mirrored, f"s{i}"))
    schedule = te.create_schedule(stage.op)
    for inner in stages[:-1]:
        schedule[inner].compute_inline()
    assert len(str(schedule)) < 100_000
    x, got = np.linspace(-1, 1, 8, dtype=np.float32), np.zeros(8, np.float32)
    whence.build(schedule, [a, stage])(x, got)
    want = x.astype(np.float64)
    for _ in range(STEPS):
        want = np.tanh(want + (want[::-1] if mirrored else want))
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5)


def test_tir_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A chain of values that are read twice goes through the passes on loops, and to machine code."""
    steps = "\n".join(f"%v{i + 1} = arith.mulf %v{i}, %v{i} : f32" for i in range(2 * STEPS))
    (tmp_path / "f.mlir").write_text(f"""
tir.prim_func @f(%a: !tir.buffer<8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {{
  tir.for %i in 8 {{
    %v0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
    {steps}
    tir.store %v{2 * STEPS}, %b[%i] : f32, !tir.buffer<8xf32>
  }}
}}
""")
    assert (
        whence_opt([str(tmp_path / "f.mlir"), "-p", "tir-simplify,tir-vectorize,tir-common-subexpr-elimination"]) == 0
    )
    assert capsys.readouterr().out.count("arith.mulf") == 2 * STEPS
