"""Float operations of two layers that machine code computes by one instruction: it serves both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

import whence
from whence.explorer.code import kernel_of, line_location, machine_code
from whence.lowering.llvm_to_native.target import Target
from whence.provenance.span import layer_names

Array = np.ndarray[Any, np.dtype[Any]]
SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1e37, -1e37, 1, -1, 7, 1e-30, -1e-30, 2, -2])
C, D = 0.5, 0.75
"""The constants of the layers; x + C is 0 for an x."""

Layer = tuple[str, tuple[str, ...]]
"""An operator, and its operands: "x", "c", "d", or "0" for the first layer's result."""


def model(first: Layer, second: Layer, numbers: dict[str, float], dtype: type[np.generic] = np.float32) -> ModelProto:
    """Two layers, "first" and "second", of which the second gives the output."""
    names = {"0": "first_y"}
    nodes = [
        helper.make_node(op, [names.get(name, name) for name in operands], [f"{label}_y"], name=label)
        for label, (op, operands) in (("first", first), ("second", second))
    ]
    element: int = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    values = [helper.make_tensor_value_info(name, element, [SPECIAL.size]) for name in ("x", "second_y")]
    weights = [numpy_helper.from_array(np.asarray(number, dtype), name) for name, number in numbers.items()]
    graph = helper.make_graph(nodes, "merging", [values[0]], [values[1]], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def computed(first: Layer, second: Layer, values: dict[str, Array]) -> Array:
    """The same by numpy."""
    functions: dict[str, Any] = {
        "Neg": np.negative,
        "Abs": np.abs,
        "Mul": np.multiply,
        "Div": np.divide,
        "Add": np.add,
        "Sub": np.subtract,
        "Max": np.maximum,
        "Min": np.minimum,
    }
    with np.errstate(all="ignore"):
        for op, operands in (first, second):
            values = {**values, "0": functions[op](*(values[name] for name in operands))}
    return values["0"]


MERGED: list[tuple[Layer, Layer, str]] = [
    (("Mul", ("x", "c")), ("Neg", ("0",)), "mul"),
    (("Div", ("x", "d")), ("Neg", ("0",)), "div"),
    (("Div", ("c", "x")), ("Neg", ("0",)), "div"),
    (("Neg", ("x",)), ("Mul", ("0", "c")), "mul"),
    (("Neg", ("x",)), ("Div", ("0", "d")), "div"),
    (("Neg", ("x",)), ("Div", ("c", "0")), "div"),
    (("Neg", ("x",)), ("Add", ("0", "c")), "sub"),
    (("Neg", ("x",)), ("Add", ("c", "0")), "sub"),
    (("Neg", ("x",)), ("Sub", ("c", "0")), "add"),
    (("Neg", ("x",)), ("Sub", ("0", "c")), "sub"),
    (("Neg", ("x",)), ("Abs", ("0",)), "and"),
    (("Abs", ("x",)), ("Neg", ("0",)), "or"),
    (("Max", ("x", "c")), ("Max", ("0", "d")), "max"),
    (("Min", ("x", "c")), ("Min", ("d", "0")), "min"),
]
APART: list[tuple[Layer, Layer]] = [
    # It is -0 where x is -C, and -C - x would be 0.
    (("Add", ("x", "c")), ("Neg", ("0",))),
    (("Max", ("x", "c")), ("Min", ("0", "d"))),
    (("Mul", ("x", "c")), ("Sub", ("0", "x"))),
]


def check_values(
    first: Layer, second: Layer, dtype: type[np.generic] = np.float32, numbers: tuple[float, float] = (C, D)
) -> None:
    names = {name for _, operands in (first, second) for name in operands}
    weights = {name: number for name, number in zip("cd", numbers, strict=True) if name in names}
    exe = whence.compile(model(first, second, weights, dtype), threads=1)
    with np.errstate(all="ignore"):
        x: Array = SPECIAL.astype(dtype)
    y = exe(x)
    expected = computed(first, second, {"x": x, **{name: np.asarray(value, dtype) for name, value in weights.items()}})
    np.testing.assert_array_equal(y, expected)
    whole = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(y)[whole], np.signbit(expected)[whole])


@pytest.mark.skipif("x86_64" not in Target.native().triple, reason="code for x86-64")
@pytest.mark.parametrize(("first", "second", "opcode"), MERGED)
def test_one_instruction_serves_both_layers(first: Layer, second: Layer, opcode: str) -> None:
    names = {name for _, operands in (first, second) for name in operands}
    numbers = {name: number for name, number in (("c", C), ("d", D)) if name in names}
    artifact = whence.compile(model(first, second, numbers), threads=1).artifact
    (call,) = artifact.calls
    kernel = kernel_of(artifact, call.kernel)
    arithmetic = [one for one in machine_code(kernel) if one.text.startswith((f"v{opcode}", opcode))]
    arithmetic = [one for one in arithmetic if "ps" in one.text.split()[0]]
    assert arithmetic
    for one in arithmetic:
        assert one.exact
        assert set(layer_names(line_location(kernel, one.line, call.layers))) == {"first", "second"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(("first", "second"), [*[(first, second) for first, second, _ in MERGED], *APART])
def test_values_are_those_of_two_operations(first: Layer, second: Layer, dtype: type[np.generic]) -> None:
    check_values(first, second, dtype)


@pytest.mark.parametrize("numbers", [(0.0, -0.0), (-0.0, 0.0), (np.nan, 1.0), (1.0, np.nan), (np.inf, -np.inf)])
@pytest.mark.parametrize("kind", ["Max", "Min"])
def test_bounds_that_are_special(kind: str, numbers: tuple[float, float]) -> None:
    names = {"x": ("x", "c"), "0": ("0", "d")}
    exe = whence.compile(
        model((kind, names["x"]), (kind, names["0"]), dict(zip("cd", numbers, strict=True))), threads=1
    )
    x = SPECIAL.astype(np.float32)
    values = {"x": x, "c": np.float32(numbers[0]), "d": np.float32(numbers[1])}
    expected = computed((kind, names["x"]), (kind, names["0"]), {name: np.asarray(v) for name, v in values.items()})
    np.testing.assert_array_equal(exe(x), expected)
