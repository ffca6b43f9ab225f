"""Relay operators as ONNX nodes: run by onnxruntime, against their meaning in numpy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import checker
from reference_runtime import onnxruntime_outputs
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.element_types import tensor_type
from whence.dialects.relay import OPERATORS
from whence.dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import Operator
from whence.lowering.external.onnx_export import EXPORTED, export, exports
from whence.provenance.span import layer_location

_BY_NAME = {operator.name.removeprefix("relay."): operator for operator in OPERATORS}


class Case(NamedTuple):
    name: str
    shapes: tuple[tuple[int, ...], ...]
    attributes: dict[str, Any]


def case(name: str, *shapes: tuple[int, ...], **attributes: Any) -> Case:
    return Case(name, shapes, attributes)


IMAGE = (2, 4, 9, 8)
CASES = [
    *(case(name, (2, 3)) for name in ("abs", "ceil", "cos", "erf", "exp", "floor", "negative", "nn.relu", "sigmoid")),
    *(case(name, (2, 3)) for name in ("sin", "tanh", "nn.leaky_relu", "nn.batch_flatten")),
    *(case(name, (2, 3), (3,)) for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum")),
    *(case(name, (2, 3)) for name in ("log", "sqrt")),
    case("power", (2, 3), (2, 1)),
    case("clip", (4, 5), a_min=-0.5, a_max=0.25),
    case("reshape", (2, 6), newshape=[3, -1]),
    case("squeeze", (1, 6, 1), axis=[2]),
    case("expand_dims", (2, 3), axis=-1, num_newaxis=2),
    case("nn.batch_flatten", (2, 3, 4)),
    case("broadcast_to", (3, 1), shape=[2, 3, 4]),
    case("transpose", (2, 3, 4), axes=[1, -1, 0]),
    case("transpose", (2, 3, 4)),
    case("concatenate", (2, 3), (2, 1), (2, 2), axis=-1),
    case("nn.conv1d", (1, 4, 12), (6, 4, 3), strides=[2], padding=[1]),
    case("nn.conv2d", IMAGE, (6, 4, 3, 3), strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2]),
    case("nn.conv2d", IMAGE, (4, 1, 3, 3), groups=4, padding=[1, 1]),
    case("nn.conv2d", IMAGE, (2, 4, 3, 3), padding=[1]),
    case("nn.conv3d", (1, 2, 5, 6, 7), (3, 2, 3, 3, 3), padding=[1, 1, 1]),
    case("nn.max_pool1d", (1, 4, 12), pool_size=[3], strides=[2]),
    case("nn.max_pool2d", IMAGE, pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 0, 0], ceil_mode=True),
    case("nn.max_pool2d", IMAGE, pool_size=[2, 2], dilation=[2, 3]),
    case("nn.max_pool3d", (1, 2, 5, 6, 7), pool_size=[2, 2, 2], strides=[2, 2, 2]),
    case("nn.avg_pool1d", (1, 4, 12), pool_size=[3], strides=[2], padding=[1]),
    case("nn.avg_pool2d", IMAGE, pool_size=[3, 3], strides=[2, 2], padding=[1, 1], count_include_pad=True),
    case("nn.avg_pool2d", IMAGE, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]),
    case("nn.avg_pool2d", IMAGE, pool_size=[2, 3], strides=[2, 2], padding=[1, 0, 0, 1], ceil_mode=True),
    case("nn.avg_pool3d", (1, 2, 5, 6, 7), pool_size=[2, 2, 2]),
    case("nn.global_avg_pool2d", IMAGE),
    case("nn.global_max_pool2d", IMAGE),
    case("nn.dense", (3, 5), (4, 5)),
    case("nn.matmul", (3, 5), (5, 4)),
    case("nn.matmul", (2, 5, 3), (4, 5), transpose_a=True, transpose_b=True),
    case("nn.batch_matmul", (2, 3, 5), (2, 4, 5)),
    case("nn.batch_matmul", (2, 5, 3), (1, 5, 4), transpose_a=True, transpose_b=False),
    case("nn.bias_add", IMAGE, (4,)),
    case("nn.bias_add", (2, 3, 5), (5,), axis=-1),
    case("nn.softmax", (2, 3, 5), axis=1),
    case("nn.log_softmax", (2, 5)),
    case("nn.layer_norm", (2, 3, 5), (5,), (5,), epsilon=0.1),
    case("sum", (2, 3, 4), axis=[1, -1], keepdims=True),
    case("mean", (2, 3, 4), axis=[-1]),
    case("max", (2, 3, 4)),
    case("min", (2, 3, 4), axis=[0]),
    case("prod", (2, 3, 4), axis=[2]),
    case("copy", (2, 3)),
    case("strided_slice", (4, 7, 9), begin=[1, -3], end=[3, 100], axes=[0, 2]),
    case("strided_slice", (4, 7, 9), begin=[3, 8, -1], end=[-9, 1, 0], strides=[-1, -2, -3]),
    case("strided_slice", (4, 7), begin=[-9, 3], end=[9, -9], strides=[2, -1]),
    case("nn.pad", (2, 3, 4), (), pad_width=[0, 1, 2, 0, 1, 1]),
    case("nn.pad", (2, 3, 4), (1,), pad_width=[0, 5, 2, 0, 1, 7], pad_mode="edge"),
    case("nn.pad", (2, 3, 4), (), pad_width=[0, 1, 2, 0, 1, 3], pad_mode="reflect"),
    case("nn.conv1d_transpose", (1, 4, 9), (4, 3, 4), strides=[3], padding=[1, 2], output_padding=[2]),
    case("nn.conv2d_transpose", IMAGE, (4, 3, 3, 2), strides=[2, 1], padding=[1, 0, 0, 1], output_padding=[1, 0]),
    case("nn.conv2d_transpose", IMAGE, (4, 3, 3, 3), groups=2, dilation=[2, 1], padding=[1, 1]),
    case("nn.conv3d_transpose", (1, 2, 3, 4, 5), (2, 3, 2, 2, 2), strides=[2, 2, 2]),
    case("nn.instance_norm", IMAGE, (4,), (4,), epsilon=0.01),
    case("nn.depth_to_space", (2, 12, 3, 2), block_size=2),
    case("nn.depth_to_space", (2, 12, 3, 2), block_size=2, mode="CRD"),
]


OTHER_DTYPES: list[tuple[Any, ...]] = [
    (case("exp", (2, 3)), "float64"),
    (case("nn.conv1d", (1, 4, 12), (6, 4, 3)), "float16", "float16"),
    (case("nn.dense", (3, 5), (4, 5)), "float64", "float64"),
    (case("subtract", (2, 3), (3,)), "int64", "int64"),
    (case("nn.matmul", (3, 5), (5, 4)), "int32", "int32"),
    (case("clip", (4, 5), a_min=-1.5, a_max=300.0), "int8"),
    (case("maximum", (4, 5), (5,)), "uint8", "uint8"),
    (case("nn.max_pool2d", IMAGE, pool_size=[2, 2]), "int8"),
    (case("concatenate", (2, 3), (2, 1), axis=1), "bool", "bool"),
    (case("cast", (2, 3), dtype="float32"), "int8"),
    (case("cast", (2, 3), dtype="float16"), "float64"),
    *(
        (case(name, (2, 3), (3,)), dtype, dtype)
        for name, dtype in (
            *(("less", "int32"), ("less_equal", "float32"), ("greater", "float64")),
            *(("greater_equal", "int64"), ("equal", "int32")),
        )
    ),
    (case("where", (2, 3), (2, 3), (1, 3)), "bool", "int64", "int64"),
    (case("take", (5, 4), (2, 3), axis=0), "float32", "int64"),
    (case("take", (5, 4), (2, 3), axis=-1, mode="wrap"), "int8", "int32"),
    (case("take", (5, 4), (7,)), "float64", "int32"),
    (case("take", (5, 4), (), axis=0), "float32", "int64"),
    (case("strided_slice", (4, 7), begin=[1], end=[3]), "bool"),
    (case("nn.pad", (2, 3), (), pad_width=[0, 1, 2, 0]), "int64", "int64"),
]
"""Operators on other dtypes than float32, one of each operand."""


def test_every_operator_of_the_table_is_tried():
    assert {one.name for one in (*CASES, *(case for case, *_ in OTHER_DTYPES))} == set(EXPORTED)


def module_of(kind: str, arrays: list[Any], **attributes: Any) -> tuple[ModuleOp, Operator]:
    """`@main` of one operator, of which a second operand is a constant."""
    module = ModuleOp([])
    free = [arrays[0], *arrays[2:]]
    main = FuncOp("main", [tensor_type(array) for array in free], [], location=layer_location("main", "net", 0))
    module.body.block.add_op(main)
    operands: list[Any] = list(main.block.args)
    if len(arrays) > 1:
        constant = ConstantOp.of(arrays[1], module, "w")
        main.block.add_op(constant)
        operands.insert(1, constant.result)
    build: Any = _BY_NAME[kind]
    op: Operator = build(*operands, **attributes)
    op.location = layer_location("layer", "net", 1)
    main.block.add_ops([op, ReturnOp(*op.results)])
    main.update_type()
    return module, op


@pytest.mark.parametrize("row", OTHER_DTYPES, ids=lambda row: f"{row[0].name} {row[1]}")
def test_operator_of_other_dtypes(row: tuple[Any, ...]):
    one, *dtypes = row
    rng = np.random.default_rng(12)
    arrays: list[Any] = [3 * rng.standard_normal(shape) for shape in one.shapes]
    check_operator(one, [array.astype(dtype) for array, dtype in zip(arrays, dtypes, strict=True)], 2e-3)


@pytest.mark.parametrize("one", CASES, ids=lambda one: f"{one.name} {one.attributes}")
def test_operator(one: Case):
    rng = np.random.default_rng(11)
    check_operator(one, [rng.standard_normal(shape).astype(np.float32) for shape in one.shapes], 2e-5)


def check_operator(one: Case, arrays: list[Any], tolerance: float) -> None:
    """onnxruntime and numpy agree on an operator, and on the dtype of what it gives."""
    if one.name in ("log", "sqrt", "power"):
        arrays = [np.abs(array) + np.float32(0.1) for array in arrays]
    module, op = module_of(one.name, arrays, **one.attributes)
    assert exports(op)
    model = export(module)
    check: Any = checker.check_model  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    check(model, full_check=True)
    free = [arrays[0], *arrays[2:]]
    inputs = {value.name: array for value, array in zip(model.graph.input, free, strict=True)}
    found: Any = onnxruntime_outputs(model, inputs)[0]
    expected: Any = evaluate_module(module, free)[0]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("one", "dtype"),
    [
        (case("erf", (2, 3)), "float64"),
        (case("divide", (2, 3), (2, 3)), "int32"),
        (case("cast", (2, 3), dtype="int32"), "float32"),
        (case("tan", (2, 3)), "float32"),
        (case("nn.conv2d", (1, 9, 8, 4), (4, 4, 3, 3), data_layout="NHWC"), "float32"),
        (case("nn.max_pool2d", (1, 9, 8, 4), layout="NHWC"), "float32"),
        (case("nn.avg_pool2d", IMAGE, pool_size=[2, 2], dilation=[2, 2]), "float32"),
        (
            case("nn.max_pool2d", IMAGE, pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 0, 1], ceil_mode=True),
            "float32",
        ),
        (case("nn.layer_norm", (2, 3, 5), (3,), (3,), axis=1), "float32"),
        (case("sum", (2, 3), axis=[]), "float32"),
        (case("nn.relu", (2, 0)), "float32"),
        (case("nn.pad", (2, 3), (), pad_width=[0, 1, 2, 3], pad_mode="reflect"), "float32"),
        (case("nn.pad", (2, 3), (), pad_width=[0, 1, 2, 0], pad_mode="wrap"), "float32"),
        (case("nn.conv2d_transpose", (1, 9, 8, 4), (4, 3, 3, 3), data_layout="NHWC"), "float32"),
        (case("nn.instance_norm", (2, 3, 5), (5,), (5,), axis=2), "float32"),
        (case("nn.depth_to_space", (2, 3, 2, 12), block_size=2, layout="NHWC"), "float32"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_what_is_not_exported(one: Case, dtype: str):
    module, op = module_of(one.name, [np.ones(shape, dtype) for shape in one.shapes], **one.attributes)
    assert not exports(op)
    with pytest.raises(
        Exception, match=r"expected an operator that ONNX has as it is, got relay.* \(layer 'layer', net"
    ):
        export(module)


def test_functions_are_part_of_the_model_of_who_calls_them():
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    module, op = module_of("tanh", [x])
    main = op.parent_op()
    assert isinstance(main, FuncOp)
    helper = FuncOp("twice", [op.results[0].type], [])
    build: Any = _BY_NAME["add"]
    total = build(helper.block.args[0], helper.block.args[0])
    helper.block.add_ops([total, ReturnOp(total.result)])
    helper.update_type()
    module.body.block.add_op(helper)
    first = CallOp("twice", op.results, [op.results[0].type])
    second = CallOp("twice", first.outputs, [op.results[0].type])
    main.block.insert_ops_before([first, second], main.return_op)
    main.return_op.operands[0] = second.outputs[0]
    found: Any = onnxruntime_outputs(export(module), {"x0": x})[0]
    np.testing.assert_allclose(found, 4 * np.tanh(x), rtol=1e-6)
    (note,) = next(node.metadata_props for node in export(module).graph.node)
    assert (note.key, note.value) == ("whence.layers", "layer")
