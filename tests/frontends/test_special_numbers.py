"""Formulas at infinities, NaN, zeros of both signs and the ends of types: one expectation for all formats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import erfc, inf, lgamma, nan
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from special_numbers import Array, Rules, departures, judged, rows, tuples
from special_sweep import verdicts
from tensorflow_graphs import Net as TensorFlowNet

import whence
from whence.dialects.relay import elementwise as ew
from whence.frontends.importing.converter import Converter
from whence.frontends.importing.terms import Term, term
from whence.frontends.meanings import activations, elementwise, formulas, reductions, special_functions
from whence.frontends.onnx.context import Context
from whence.frontends.onnx.convert import DOMAINS


def of_each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of Python's mathematics; what it refuses is NaN."""

    def element(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return nan
        except OverflowError:
            return inf

    return lambda x: np.array([element(float(number)) for number in x]).astype(x.dtype)


def _elu(x: Array) -> Array:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def _xlogy(x: Array, y: Array, nan: bool) -> Array:
    return np.where((x == 0) & ~(np.isnan(y) & nan), 0, x * np.log(y))


UNARY: dict[str, tuple[Callable[[Term], Term], Callable[[Array], Array]]] = {
    "cbrt": (lambda x: x.apply(ew.CbrtOp), np.cbrt),
    "celu": (activations.celu, _elu),
    "elu": (activations.elu, _elu),
    "erfc": (special_functions.erfc, of_each(erfc)),
    "exp2": (lambda x: x.apply(ew.Exp2Op), np.exp2),
    "expm1": (lambda x: x.apply(ew.Expm1Op), np.expm1),
    "finite": (lambda x: elementwise.finite(x, 1.0, 2.0, 3.0), lambda x: np.nan_to_num(x, nan=1, posinf=2, neginf=3)),
    "hard_shrink": (lambda x: activations.hard_shrink(x, 0.5), lambda x: np.where(np.abs(x) <= 0.5, 0, x)),
    "lgamma": (special_functions.log_gamma, of_each(lambda x: inf if x <= 0 and x == x // 1 else lgamma(x))),
    "log_sigmoid": (activations.log_sigmoid, lambda x: -np.logaddexp(0, -x, dtype=x.dtype)),
    "sign": (lambda x: x.apply(ew.SignOp), np.sign),
    "signed": (formulas.signed, np.signbit),
    "sinc": (formulas.sinc, lambda x: np.where(x == 0, 1, np.sin(np.pi * x.astype(float)) / (np.pi * x.astype(float)))),
    "soft_shrink": (lambda x: activations.soft_shrink(x, 0.5), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
}
BINARY: dict[str, tuple[Callable[[Term, Term], Term], Callable[[Array, Array], Array]]] = {
    "atan2": (lambda y, x: y.apply(ew.Atan2Op, x), np.arctan2),
    "copysign": (lambda x, y: x.apply(ew.CopysignOp, y), np.copysign),
    "floored_quotient": (formulas.floored_quotient, np.floor_divide),
    "floored_remainder": (formulas.floored_remainder, np.mod),
    "fmax": (partial(formulas.of_numbers, ew.MaximumOp), np.fmax),
    "fmin": (partial(formulas.of_numbers, ew.MinimumOp), np.fmin),
    "hypot": (lambda x, y: x.apply(ew.HypotOp, y), np.hypot),
    "log_add_exp": (formulas.log_add_exp, np.logaddexp),
    "log_add_exp2": (formulas.log_add_exp2, np.logaddexp2),
    "quotient_or_zero": (formulas.quotient_or_zero, lambda x, y: np.where(y == 0, 0, x / y)),
    "step": (formulas.step, np.heaviside),
    "times_log": (partial(formulas.times_log, nan=False), partial(_xlogy, nan=False)),
    "times_log or NaN": (partial(formulas.times_log, nan=True), partial(_xlogy, nan=True)),
}
RULES = Rules(
    unsigned=frozenset(
        ("elu", "celu", "sign", "log_sigmoid", "soft_shrink", "fmax", "fmin", "times_log", "times_log or NaN")
    ),
    cancelling={"log_add_exp": 1.0, "log_add_exp2": 1.0, "sinc": 1.0, "lgamma": 10.0, "erfc": 1e-3},
    overflowing=frozenset(("sinc",)),
    subnormal=frozenset(("floored_quotient", "floored_remainder", "lgamma", "sinc")),
)


def computed(monkeypatch: pytest.MonkeyPatch, table: dict[str, Any], inputs: list[Array]) -> dict[str, Array]:
    """The results of the functions of a table, each a node of one model."""

    def convert(ctx: Context) -> Any:
        function = table[ctx.word("function", "")][0]
        return function(*(term(ctx, at) for at in range(len(inputs)))).value

    monkeypatch.setitem(DOMAINS, "formulas", {"Formula": Converter(convert)})
    names = [f"x{at}" for at in range(len(inputs))]
    nodes = [helper.make_node("Formula", names, [key], name=key, domain="formulas", function=key) for key in table]
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, inputs, strict=True)
    ]
    outputs = [helper.make_empty_tensor_value_info(key) for key in table]
    graph = helper.make_graph(nodes, "formulas", declared, outputs)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("formulas", 1)], ir_version=9
    )
    return dict(whence.compile(model).run(dict(zip(names, inputs, strict=True))))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("table", [UNARY, BINARY], ids=["one", "two"])
def test_formulas_are_what_numpy_says(monkeypatch: pytest.MonkeyPatch, table: dict[str, Any], dtype: str):
    inputs = tuples(*(dtype,) * (1 if table is UNARY else 2))
    results = computed(monkeypatch, table, inputs)
    assert list(results) == list(table)
    for name, result in results.items():

        def judge(*values: Array, name: str = name, dtype: Any = result.dtype) -> Array:
            with np.errstate(all="ignore"):
                return np.asarray(table[name][1](*values)).astype(dtype)

        assert judged(name, result, inputs, judge, RULES) == ""


def test_a_logarithm_of_sums_of_infinities(monkeypatch: pytest.MonkeyPatch):
    x = rows("float32")
    table = {"sum": (partial(reductions.log_sum_exp, axes=[-1], keepdims=False), None)}
    with np.errstate(all="ignore"):
        expected = np.logaddexp.reduce(x, -1)
    assert not len(departures(computed(monkeypatch, table, [x])["sum"], [expected], lost=1.0))


ROWS = {
    "onnx": "Sign Shrink Pow ReduceLogSumExp ReduceMax ArgMin MaxPool TopK LpNormalization".split(),
    "tflite": "ATAN2 FLOOR_DIV FLOOR_MOD RELU6 ARG_MAX".split(),
}
CASTS = ["Cast to uint64", "Cast to int8", "Cast to uint32"]


@pytest.mark.parametrize(("frontend", "names"), [*ROWS.items(), ("onnx", CASTS)], ids=["onnx", "tflite", "casts"])
def test_rows_are_what_a_judge_says(frontend: str, names: list[str]):
    """A sample of the rows that `make fuzz-special` goes through."""
    results = [*verdicts(frontend, names, ("float32",))]
    assert {name for name, *_ in results} == set(names)
    assert [result for result in results if result[2] != "right"] == []


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
def test_integers_never_end_the_process(dtype: str):
    """Division by 0 gives 0, that of the least number by -1 wraps, and a remainder of both is 0."""
    for op in ("Div", "Mod"):
        a, b = tuples(dtype, dtype)
        node = helper.make_node(op, ["a", "b"], ["y"])
        kind = helper.np_dtype_to_tensor_dtype(a.dtype)
        declared = [helper.make_tensor_value_info(name, kind, a.shape) for name in "ab"]
        graph = helper.make_graph([node], "division", declared, [helper.make_empty_tensor_value_info("y")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=9)
        exact = _quotient if op == "Div" else _rest
        expected = [exact(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        wrapped = np.array([number % 2 ** (8 * a.dtype.itemsize) for number in expected], f"u{a.dtype.itemsize}")
        np.testing.assert_array_equal(whence.compile(model)(a, b), wrapped.view(dtype))


def _quotient(x: int, y: int) -> int:
    """Towards 0, of Python's exact integers."""
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _rest(x: int, y: int) -> int:
    """With the sign of the divisor, as ONNX has it without `fmod`."""
    return 0 if y == 0 else x % y


@pytest.mark.parametrize("op", ["LeftShift", "RightShift"])
def test_shifts_by_the_width_or_more_leave_the_sign_at_most(op: str):
    x, count = tuples("int32", "int32")
    net = TensorFlowNet()
    net.op(op, "y", net.placeholder("x", x.shape, "int32"), net.placeholder("count", x.shape, "int32"), T="int32")
    outside = (count < 0) | (count >= 32)
    distance = np.where(outside, 0, count)
    inside, beyond = (x << distance, 0) if op == "LeftShift" else (x >> distance, np.where(x < 0, -1, 0))
    np.testing.assert_array_equal(whence.compile(net.build())(x, count), np.where(outside, beyond, inside))


def test_a_power_of_two_is_made_of_no_negative_number():
    x = np.array([-2.0, -inf, nan, inf, -0.0, 0.0, 1.0, 3e38], np.float32)
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E8M0)
    declared = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
    graph = helper.make_graph([node], "powers", declared, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
    result = np.asarray(whence.compile(model)(x)).astype(np.float32)
    np.testing.assert_array_equal(result, np.array([nan, nan, nan, nan, nan, 2.0**-127, 1.0, 2.0**127], np.float32))
