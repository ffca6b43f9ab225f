"""Each converter against onnxruntime, on random data."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx import TensorProto
from xdsl.dialects.builtin import ArrayAttr, StringAttr

from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.onnx import from_onnx
from whence.provenance.audit import check_located

AnyArray = npt.NDArray[Any]

runtime: Any = import_module("onnxruntime")


def random_inputs(model: onnx.ModelProto, seed: int = 0) -> dict[str, AnyArray]:
    """Random values for the inputs of a model; integers are indices of an axis of 4, also negative ones."""
    generator = np.random.default_rng(seed)
    values: dict[str, AnyArray] = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        if tensor.elem_type in (TensorProto.INT64, TensorProto.INT32):
            array = generator.integers(-4, 4, shape)
        else:
            array = generator.standard_normal(shape)
        values[value.name] = array.astype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    return values


def reference(model: onnx.ModelProto, inputs: dict[str, AnyArray]) -> list[AnyArray]:
    """The outputs that onnxruntime computes."""
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return cast(list[AnyArray], session.run(None, inputs))


def test_network():
    """The smallest one; tests/e2e compiles others."""
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / "light_shufflenet.onnx"
    model = onnx.ModelProto.FromString(path.read_bytes())
    constants = {tensor.name for tensor in model.graph.initializer}
    data = [value for value in model.graph.input if value.name not in constants]
    inputs = random_inputs(onnx.helper.make_model(onnx.helper.make_graph([], "inputs", data, [])))
    found = cast(list[AnyArray], evaluate_module(from_onnx(path), list(inputs.values())))
    (expected,) = reference(model, inputs)
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-5)


def check(text: str, opset: int, only_positive: bool = False) -> None:
    """Import a model in ONNX's text form and compare all of its outputs."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> graph {text}')
    inputs = random_inputs(model)
    if only_positive:
        inputs = {name: np.abs(array) + np.asarray(0.1, array.dtype) for name, array in inputs.items()}
    module = from_onnx(model)
    module.verify()
    check_located(module, "from_onnx")
    main = cast(FuncOp, module.body.block.first_op)
    names = [name.data for name in cast(ArrayAttr[StringAttr], main.attributes["input_names"])]
    found = cast(list[AnyArray], evaluate_module(module, [inputs[name] for name in names]))
    expected = reference(model, inputs)
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)


def one(inputs: str, node: str) -> str:
    """A graph of float inputs such as `x:[2,3]`, whose nodes make y."""
    declared = ", ".join(f"float{shape} {name}" for name, shape in (i.split(":") for i in inputs.split()))
    return f"({declared}) => (float[] y) {{ {node} }}"


UNARY = [
    *("Abs", "Asinh", "Atan", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Identity", "LeakyRelu", "Neg", "Relu"),
    *("Round", "Sigmoid", "Sign", "Sin", "Sinh", "Tan", "Tanh"),
]


@pytest.mark.parametrize("op", UNARY)
def test_unary(op: str):
    check(one("x:[2,3,4]", f"y = {op} (x)"), 13)


@pytest.mark.parametrize("op", ["Sqrt", "Log"])
def test_unary_of_positive_numbers(op: str):
    check(one("x:[2,3,4]", f"y = {op} (x)"), 13, only_positive=True)


@pytest.mark.parametrize("op", ["Acos", "Asin", "Atanh"])
def test_unary_between_minus_1_and_1(op: str):
    check(one("x:[2,3,4]", f"t = Tanh (x) y = {op} (t)"), 13)


def test_acosh():
    check(one("x:[2,3,4]", "t = Exp (x) y = Acosh (t)"), 13, only_positive=True)


@pytest.mark.filterwarnings("ignore::whence.support.errors.FrontendWarning")
def test_operands_before_opset_7_stand_at_an_axis():
    model = onnx.parser.parse_model(
        '<ir_version: 3, opset_import: ["": 6]> graph (float[2,3,4] a, float[3] b) => (float[2,3,4] y)'
        "{ y = Add <broadcast = 1, axis = 1> (a, b) }"
    )
    a, b = np.random.default_rng(0).random((2, 3, 4), np.float32), np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(evaluate_module(from_onnx(model), [a, b])[0], a + b[:, None])


@pytest.mark.parametrize("opset", [10, 20])
def test_is_nan_and_inf(opset: int):
    """Numbers, those divided by zero, and 0 / 0."""
    values = "z = Sub (x, x) t = Div (x, z) u = Div (z, z) v = Concat <axis = 0> (x, t, u)"
    for node in (
        *("IsNaN (v)", "IsInf (v)", "IsInf <detect_negative = 0> (v)", "IsInf <detect_positive = 0> (v)"),
        "IsInf <detect_negative = 0, detect_positive = 0> (v)",
    ):
        check(f"(float[2,3] x) => (bool[] y) {{ {values} y = {node} }}", opset)


def test_not():
    check("(float[2,3] x, float[3] w) => (bool[] y) { l = Less (x, w) y = Not (l) }", 13)
    check("(int32[2,3] x) => (int32[] y) { y = BitwiseNot (x) }", 18)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("opset", [7, 13, 21])
def test_binary_broadcasts(op: str, opset: int):
    check(one("a:[2,3,4] b:[3,1]", f"y = {op} (a, b)"), opset)


def test_pow():
    check(one("a:[2,3] b:[3]", "y = Pow (a, b)"), 13, only_positive=True)


@pytest.mark.parametrize("op", ["Sum", "Max", "Min"])
@pytest.mark.parametrize("operands", ["a", "a, b", "a, b, c"])
def test_variadic(op: str, operands: str):
    check(one("a:[2,3,4] b:[3,1] c:[4]", f"y = {op} ({operands})"), 13)


CONV = [
    "",
    "pads = [1, 2, 0, 1], strides = [2, 1]",
    "dilations = [2, 1]",
    'auto_pad = "SAME_UPPER", strides = [2, 3]',
    'auto_pad = "SAME_LOWER", strides = [2, 3]',
    'auto_pad = "VALID", strides = [2, 2]',
]


@pytest.mark.parametrize("attributes", CONV)
@pytest.mark.parametrize("bias", ["", ", b"])
def test_conv(attributes: str, bias: str):
    node = f"y = Conv <kernel_shape = [3, 2]{', ' if attributes else ''}{attributes}> (x, w{bias})"
    check(one("x:[2,3,8,9] w:[4,3,3,2] b:[4]", node), 11)


def test_grouped_conv():
    check(one("x:[1,4,5,5] w:[6,2,3,3]", "y = Conv <group = 2, pads = [1, 1, 1, 1]> (x, w)"), 13)


POOL = [
    "kernel_shape = [2, 3]",
    "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 0, 1]",
    "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1",
    "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1",
    "kernel_shape = [3, 3], strides = [3, 3], pads = [1, 1, 1, 1], ceil_mode = 1",
    'kernel_shape = [3, 2], strides = [2, 2], auto_pad = "SAME_UPPER"',
    'kernel_shape = [3, 2], strides = [2, 2], auto_pad = "SAME_LOWER"',
]


@pytest.mark.parametrize("attributes", POOL)
@pytest.mark.parametrize("size", [5, 6, 7, 8])
def test_pools(attributes: str, size: int):
    data = f"x:[2,3,{size},{size}]"
    for opset in (10, 19):
        check(one(data, f"y = MaxPool <{attributes}> (x)"), opset)
        check(one(data, f"y = AveragePool <{attributes}> (x)"), opset)
        check(one(data, f"y = AveragePool <{attributes}, count_include_pad = 1> (x)"), opset)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("strides", ["[1, 1]", "[2, 1]"])
def test_pools_of_windows_larger_than_the_image(op: str, strides: str):
    """None fits by one pixel; onnxruntime, which divides towards zero, has one where the stride is larger than that."""
    check(one("x:[1,2,2,5]", f"y = {op} <kernel_shape = [3, 3], strides = {strides}> (x)"), 19)


def test_dilated_pools():
    check(one("x:[1,2,9,9]", "y = MaxPool <kernel_shape = [2, 3], dilations = [3, 2], strides = [2, 1]> (x)"), 12)
    check(
        one("x:[1,2,9,9]", "y = AveragePool <kernel_shape = [2, 3], dilations = [3, 2], pads = [1, 1, 1, 1]> (x)"), 19
    )


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("shape", ["[2,3,5,4]", "[2,3,5]", "[2,3,2,3,4]"])
def test_global_pools(op: str, shape: str):
    check(one(f"x:{shape}", f"y = {op} (x)"), 13)


@pytest.mark.parametrize("opset", [9, 14, 15])
def test_batch_normalization(opset: int):
    node = "y = BatchNormalization <epsilon = 0.01> (x, s, b, m, v)"
    check(one("x:[2,3,4,5] s:[3] b:[3] m:[3] v:[3]", node), opset, only_positive=True)


@pytest.mark.parametrize(
    ("inputs", "attributes"),
    [
        ("x:[2,3,4] s:[4] b:[4]", ""),
        ("x:[2,3,4] s:[4]", "<epsilon = 0.1>"),
        ("x:[2,3,4] s:[3,4] b:[3,4]", "<axis = 1>"),
        ("x:[2,3,4] s:[3,4] b:[3,4]", "<axis = -2>"),
        ("x:[4] s:[4] b:[4]", "<axis = 0>"),
    ],
)
def test_layer_normalization(inputs: str, attributes: str):
    names = ", ".join(declared.split(":")[0] for declared in inputs.split())
    check(one(inputs, f"y = LayerNormalization {attributes} ({names})"), 17)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_lrn(size: int):
    check(one("x:[2,7,3,3]", f"y = LRN <size = {size}, alpha = 0.5, bias = 1.5> (x)"), 13)


def test_lrn_of_even_size_reaches_further_up():
    text = one("x:[1,7,1,1]", "y = LRN <size = 4, alpha = 2.0, beta = 1.0> (x)")
    module = from_onnx(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> graph {text}'))
    x = np.arange(1, 8, dtype=np.float32).reshape(1, 7, 1, 1)
    sums = [float(np.sum(np.square(x[0, max(c - 1, 0) : c + 3]))) for c in range(7)]
    found = cast(AnyArray, evaluate_module(module, [x])[0])
    np.testing.assert_allclose(found.reshape(7), x.reshape(7) / (1 + 0.5 * np.asarray(sums)), rtol=1e-5)


GEMM = [
    ("a:[2,3] b:[3,4] c:[4]", "", "a, b, c"),
    ("a:[3,2] b:[4,3] c:[4]", "<transA = 1, transB = 1>", "a, b, c"),
    ("a:[2,3] b:[3,4] c:[2,1]", "<alpha = 0.5, beta = 2.0>", "a, b, c"),
    ("a:[2,3] b:[3,4] c:", "<beta = 3.0>", "a, b, c"),
    ("a:[2,3] b:[3,4]", "<alpha = 0.5>", "a, b"),
]


@pytest.mark.parametrize(("inputs", "attributes", "operands"), GEMM)
def test_gemm(inputs: str, attributes: str, operands: str):
    check(one(inputs, f"y = Gemm {attributes} ({operands})"), 13)


MATMUL = [
    ("[2,3]", "[3,4]"),
    ("[3]", "[3,4]"),
    ("[2,3]", "[3]"),
    ("[3]", "[3]"),
    ("[5,2,3]", "[3,4]"),
    ("[6,5,2,3]", "[3]"),
    ("[5,2,3]", "[5,3,4]"),
    ("[2,3]", "[5,3,4]"),
    ("[3]", "[5,3,4]"),
    ("[6,1,2,3]", "[5,3,4]"),
    ("[6,5,2,3]", "[1,1,3,4]"),
]


@pytest.mark.parametrize(("left", "right"), MATMUL)
def test_matmul(left: str, right: str):
    check(one(f"a:{left} b:{right}", "y = MatMul (a, b)"), 13)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", ["", "<axis = 0>", "<axis = 1>", "<axis = 2>"])
def test_softmax_along_an_axis(op: str, axis: str):
    check(one("x:[2,3,4]", f"y = {op} {axis} (x)"), 13)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", ["", "<axis = 0>", "<axis = 1>", "<axis = 2>"])
@pytest.mark.parametrize("opset", [7, 11])
def test_softmax_before_opset_13_flattens(op: str, axis: str, opset: int):
    check(one("x:[2,3,4]", f"y = {op} {axis} (x)"), opset)


SHAPING = [
    (11, "y = Flatten (x)"),
    (13, "y = Flatten <axis = 0> (x)"),
    (13, "y = Flatten <axis = -1> (x)"),
    (13, "y = Flatten <axis = 3> (x)"),
    (13, "y = Transpose (x)"),
    (13, "y = Transpose <perm = [2, 0, 1]> (x)"),
    (9, "y = Unsqueeze <axes = [0, 1, 4]> (x)"),
    (13, "a = Constant <value_ints = [-1, 0]> () y = Unsqueeze (x, a)"),
    (9, "u = Unsqueeze <axes = [0, 2]> (x) y = Squeeze <axes = [2]> (u)"),
    (13, "a = Constant <value_ints = [0, 2]> () u = Unsqueeze (x, a) y = Squeeze (u)"),
    (
        21,
        "a = Constant <value_ints = [-4]> () u = Unsqueeze (x, a) "
        "b = Constant <value_ints = [0]> () y = Squeeze (u, b)",
    ),
    (13, "y = Concat <axis = 1> (x, x, x)"),
    (13, "y = Concat <axis = -1> (x, x)"),
    (13, "s = Constant <value_ints = [0, -1]> () y = Reshape (x, s)"),
    (21, "s = Constant <value_ints = [4, 6]> () y = Reshape (x, s)"),
    (9, "y = Slice <starts = [0, 1], ends = [1, 9223372036854775807], axes = [1, -1]> (x)"),
    (
        13,
        "s = Constant <value_ints = [-1, 0]> () e = Constant <value_ints = [-5, 9]> () "
        "a = Constant <value_ints = [2, 0]> () t = Constant <value_ints = [-2, 1]> () y = Slice (x, s, e, a, t)",
    ),
    (13, "s = Constant <value_ints = [5, 1, 3, 1]> () y = Expand (x, s)"),
    (13, "a, y, b = Split <axis = 1> (x)"),
    (18, "y, b = Split <axis = 1, num_outputs = 2> (x)"),
    (13, "s = Constant <value_ints = [1, 3]> () b, y = Split <axis = -1> (x, s)"),
    (13, "i = Constant <value_ints = [2, -1, 0]> () y = Gather <axis = 1> (x, i)"),
    (13, "i = Constant <value_int = -1> () y = Gather (x, i)"),
    (7, "y = Dropout (x)"),
    (12, "y, m = Dropout (x)"),
    (13, "y = Cast <to = 1> (x)"),
]


@pytest.mark.parametrize(("opset", "nodes"), SHAPING)
def test_shaping(opset: int, nodes: str):
    check(one("x:[2,3,4]", nodes), opset)


def test_casts_between_element_types():
    check("(float[2,3] x) => (int32[2,3] y, float16[2,3] z) { y = Cast <to = 6> (x) z = Cast <to = 10> (x) }", 13)


def test_dropout_mask():
    check("(float[2,3] x) => (float[2,3] y, bool[2,3] m) { y, m = Dropout (x) }", 13)


def test_gather_at_indices_computed_at_run_time():
    check("(float[2,4,3] x, int64[2,2] i) => (float[2,2,2,3] y) { y = Gather <axis = 1> (x, i) }", 13)


PADS = [
    (9, "y = Pad <pads = [0, 1, 2, 1, 0, 0], value = 2.5> (x)"),
    (9, 'y = Pad <mode = "reflect", pads = [1, 1, 2, 0, 2, 3]> (x)'),
    (13, "p = Constant <value_ints = [0, 1, 2, 1, 0, 0]> () v = Constant <value_float = 1.5> () y = Pad (x, p, v)"),
    (13, "p = Constant <value_ints = [0, -1, 2, 1, 0, -2]> () y = Pad (x, p)"),
    (13, 'p = Constant <value_ints = [0, 1, 2, 1, 0, 3]> () y = Pad <mode = "edge"> (x, p)'),
    (13, 'p = Constant <value_ints = [1, 0, 3, 0, 2, 1]> () y = Pad <mode = "reflect"> (x, p)'),
    (18, 'p = Constant <value_ints = [1, 2]> () a = Constant <value_ints = [-1]> () y = Pad (x, p, "", a)'),
]


@pytest.mark.parametrize(("opset", "nodes"), PADS)
def test_pad(opset: int, nodes: str):
    check(one("x:[2,3,4]", nodes.replace('""', "")), opset)


CLIPS = [
    (7, "y = Clip <min = -0.5, max = 0.25> (x)"),
    (7, "y = Clip <max = 0.25> (x)"),
    (11, "a = Constant <value = float {-0.5}> () y = Clip (x, a)"),
    (13, "a = Constant <value_float = 0.5> () y = Clip (x, , a)"),
    (13, "a = Constant <value_float = -0.5> () b = Constant <value_float = 0.5> () y = Clip (x, a, b)"),
    (13, "a = Constant <value_float = 1.5> () b = Constant <value_float = 0.5> () y = Clip (x, a, b)"),
    (13, "y = Clip (x)"),
]


@pytest.mark.parametrize(("opset", "nodes"), CLIPS)
def test_clip(opset: int, nodes: str):
    check(one("x:[2,3,4]", nodes), opset)


def test_clip_at_bounds_computed_at_run_time():
    check("(float[2,3] x, float a, float b) => (float[2,3] y) { y = Clip (x, a, b) }", 13)


def test_clip_of_integers():
    check("(int64[2,9] x) => (int64[2,9] y) <int64 a = {-2}, int64 b = {1}> { y = Clip (x, a, b) }", 13)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"])
@pytest.mark.parametrize("opset", [11, 13, 18])
def test_reductions(op: str, opset: int):
    since = 13 if op == "ReduceSum" else 18
    for keep in (0, 1):
        check(one("x:[2,3,4]", f"y = {op} <keepdims = {keep}> (x)"), opset)
        if opset < since:
            check(one("x:[2,3,4]", f"y = {op} <axes = [0, -1], keepdims = {keep}> (x)"), opset)
        else:
            nodes = f"a = Constant <value_ints = [0, -1]> () y = {op} <keepdims = {keep}> (x, a)"
            check(one("x:[2,3,4]", nodes), opset)


def test_shape_arithmetic_is_evaluated():
    text = """(float[2,3,4] x) => (float[2,12] y, int64[3] z)
    <int64 zero = {0}, int64 one = {1}, int64[1] rest = {-1}>
    {
        z = Shape (x)
        n = Gather (z, zero)
        d = Mul (n, one)
        axes = Constant <value_ints = [0]> ()
        u = Unsqueeze (d, axes)
        s = Concat <axis = 0> (u, rest)
        y = Reshape (x, s)
    }"""
    check(text, 13)


def test_constant_of_shape():
    check("(float[2,3] x) => (float[2,3] y) <int64[2] s = {2, 3}> { c = ConstantOfShape (s) y = Add (x, c) }", 13)
