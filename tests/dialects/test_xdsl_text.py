"""What our tools print, they and a plain xdsl-opt read back: every float, every name; and a string without end ends."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr, FloatAttr, StringAttr, VectorType, f32
from xdsl.ir import Attribute, Block
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from whence.cli import opt
from whence.dialects.element_types import element_type
from whence.dialects.relay.constants import literal, literal_value

DTYPES: list[Any] = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.bool_, np.int8, np.int64, np.uint8]
SHAPES = [(), (1,), (7,), (2, 3), (0, 4), (120,)]


def numbers(dtype: Any, shape: tuple[int, ...], seed: int) -> npt.NDArray[Any]:
    """Random bits, every float among them: infinities, NaNs with payloads, subnormals, large integers."""
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    kind = np.dtype(dtype)
    array = np.frombuffer(rng.bytes(int(np.prod(shape)) * kind.itemsize), kind).reshape(shape).copy()
    special = [np.inf, -np.inf, np.nan, -0.0, 0.0, 12345.0] if kind.name.endswith(("16", "32", "64")) else []
    if special and not np.issubdtype(kind, np.integer) and array.size:
        array.flat[rng.integers(array.size)] = special[rng.integers(len(special))]
    return array


@cache
def context() -> Context:
    found = Context()
    found.load_dialect(Builtin)
    return found


def again(attribute: Attribute) -> tuple[str, Attribute]:
    text = StringIO()
    Printer(text).print_attribute(attribute)
    return text.getvalue(), Parser(context(), text.getvalue()).parse_attribute()


def values_of(attribute: Attribute) -> npt.NDArray[Any]:
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    return literal_value(cast("DenseIntOrFPElementsAttr[Any]", attribute))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_dense_literals(dtype: Any, shape: tuple[int, ...]):
    for seed in range(10 if shape == (120,) else 6):
        array = numbers(dtype, shape, seed)
        text, parsed = again(literal(array))
        assert values_of(parsed).tobytes() == array.tobytes(), text
        assert again(parsed)[0] == text


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 123456792.0])
def test_splats(number: float):
    text, parsed = again(literal(np.full((4, 4), number, np.float32)))
    np.testing.assert_array_equal(values_of(parsed), np.float32(number))
    assert len(text) < 40
    assert again(literal(np.full((4, 4), 0.5, np.float32)))[0].startswith("dense<5.000000e-01>")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([-np.inf], "dense<0xff800000>"),
        ([np.nan] * 3, "dense<0x7fc00000>"),
        ([np.inf, 1.5], "dense<[0x7f800000, 1.500000e+00]>"),
        ([123456792.0, -0.0], "dense<[0x4CEB79A3, -0.000000e+00]>"),
        ([0.0, -0.0], 'dense<"0x0000000000000080">'),
    ],
)
def test_numbers_that_decimals_do_not_say_are_printed_as_floats(values: list[float], text: str):
    array = np.array(values, np.float32)
    printed, parsed = again(literal(array))
    assert printed.startswith(f"{text} : ")
    assert values_of(parsed).tobytes() == array.tobytes()


def test_a_float_has_no_more_bits_than_its_type():
    with pytest.raises(ParseError, match="expected 32 bits of f32, got 0x7FF0000000000000"):
        Parser(context(), "dense<0x7FF0000000000000> : tensor<f32>").parse_attribute()


@pytest.mark.parametrize("dtype", DTYPES[:4])
def test_scalars(dtype: Any):
    type_: Any = element_type(dtype)
    for number in (np.inf, -np.inf, np.nan, -0.0, 1e-7, 12345.0):
        attribute = FloatAttr(float(np.asarray(number, dtype)), type_)
        text, parsed = again(attribute)
        assert isinstance(parsed, FloatAttr)
        assert np.float64(parsed.value.data).tobytes() == np.float64(attribute.value.data).tobytes(), text


@pytest.mark.parametrize("name", ["plain", "é", 'dvě "quoted"', "日本\\語\n", "\x07\x1b[31m", "%d{}"])
def test_strings(name: str):
    assert again(StringAttr(name))[1] == StringAttr(name)


def test_a_string_without_end_is_an_error_at_its_place():
    text = '"test.op"() {\n  a = "' + "a" * 200 + "\n"
    with pytest.raises(ParseError, match="before closing string literal") as error:
        Parser(Context(allow_unregistered=True), text).parse_module()
    assert (error.value.span.get_location().line, error.value.span.get_location().col) == (2, 7)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("d0 * d1", r"a number or sizes on one side of '\*', got 'd0' and 'd1'"),
        ("d0 floordiv d1", "a number other than 0, or sizes, on the right of 'floordiv', got 'd0' and 'd1'"),
        ("d0 + 5 mod 0", "on the right of 'mod', got '5' and '0'"),
    ],
)
def test_what_is_no_affine_expression_is_an_error_at_its_operator(text: str, complaint: str):
    start = "affine_map<(d0, d1) -> ("
    with pytest.raises(ParseError, match=complaint) as error:
        Parser(context(), f"{start}{text})>").parse_attribute()
    operator = next(word for word in ("*", "floordiv", "mod") if word in text)
    assert error.value.span.start == len(start) + text.index(operator)


def module_text() -> str:
    """Constants of every dtype with specials, at every level that has them, and a layer with a name of its own."""
    lines: list[str] = ["relay.func @main() -> () {"]
    for index, dtype in enumerate(DTYPES):
        text = again(literal(numbers(dtype, (5,), index)))[0]
        lines.append(f'  %c{index} = relay.constant {text} loc("vrstva \\C4\\8D\\22{index}")')
    lines += ["  relay.return", "}", "tir.prim_func @f(%y: !tir.buffer<4xf32>) outputs 1 {"]
    lines.append(f"  %t = tir.alloc_const {again(literal(numbers(np.float32, (4,), 1)))[0]} : !tir.buffer<4xf32>")
    vector = DenseIntOrFPElementsAttr(VectorType(f32, (4,)), literal(np.full(4, -np.inf, np.float32)).data)
    lines += [f"  %v = arith.constant {again(vector)[0]}", "  %s = arith.constant 0xFF800000 : f32", "}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("tool", ["whence-opt", "xdsl-opt"])
def test_tools_read_what_they_print(tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def run(text: str) -> str:
        file = tmp_path / "in.mlir"
        file.write_text(text)
        if tool == "whence-opt":
            capsys.readouterr()
            assert opt.main([str(file), "--print-debuginfo"]) == 0
            return str(capsys.readouterr().out)
        command = [Path(sys.executable).with_name(tool), file, "--print-debuginfo", "--print-op-generic"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    first = run(module_text())
    assert run(first) == first
    assert "dense<0xff800000> : vector<4xf32>" in first


@pytest.mark.parametrize(
    "hints", [["a", "a", "a_1_1"], ["a_1_1", "a", "a"], ["a", "a_1_1", "a", "a", "a_2_2", "a_1_3"]]
)
def test_no_two_values_are_printed_with_one_name(hints: list[str]):
    block = Block(arg_types=[f32] * len(hints))
    for argument, hint in zip(block.args, hints, strict=True):
        argument.name_hint = hint
    found = StringIO()
    printer = Printer(found)
    for _ in range(2):
        for argument in block.args:
            printer.print_ssa_value(argument)
    names = found.getvalue().split("%")[1:]
    assert names[: len(hints)] == names[len(hints) :]
    assert len(set(names)) == len(hints)


def test_each_replaced_attribute_has_a_patch_in_the_docs():
    root = Path(__file__).parents[2]
    source = (root / "dialects/xdsl_text.py").read_text()
    page = (root / "docs/xdsl.md").read_text()
    replaced = re.findall(r"^    \w+\.(\w+) = ", source.partition("def install")[2], re.MULTILINE)
    assert len(replaced) == 6
    assert all(f".{name}`" in page for name in replaced)
    assert all(f"{name}`" in page for name in re.findall(r'"(\w+)": \(AffineBinaryOpKind', source))
    assert page.count("```diff") == 7
