"""Each operator computes what TensorFlow computes: graphs and results that `make_tensorflow_models.py` wrote."""

from __future__ import annotations

from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorflow_graphs import Net

import whence
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.importing.tensor import Undecided
from whence.frontends.importing.whole_models import import_model
from whence.frontends.tensorflow import from_tensorflow
from whence.frontends.tensorflow.convert import CONVERTERS
from whence.frontends.tensorflow.messages import parse
from whence.frontends.tensorflow.model import model_of
from whence.frontends.tensorflow.scopes import IS_NUMBER, TRUTH
from whence.frontends.tensorflow.source import read
from whence.support.dtypes import Array

DATA = Path(__file__).parent / "data"
OF_VARIABLES = {"AssignAdd", "AssignSub", "AssignSubVariableOp", "ResourceGather", "ResourceGatherNd"}
"""Rows whose converters are those of other rows, and that only models with a checkpoint have."""
BY_HAND = {
    *("BatchNormWithGlobalNormalization", "DebugGradientIdentity", "Gelu", "MatrixDiagPartV2", "MatrixSetDiagV2"),
    *("TensorArrayConcatV3", "_FusedMatMul"),
    *("Digamma", "Erfinv", "Lgamma", "NextAfter"),
    *("LogMatrixDeterminant", "MatrixDeterminant", "MatrixInverse", "MatrixSolve"),
    *("Multinomial", "RandomStandardNormal", "RandomUniform", "RandomUniformInt"),
}
"""Rows of operators that TensorFlow's functions do not have, as its passes make them, or older versions; and of random
ones, whose results no file has; and functions that the net of meanings has."""


def cases() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(DATA.glob("operators_*.npz")):
        with np.load(path) as arrays:
            for key in arrays:
                case, part = key.split("|", 1)
                found.setdefault(case, {})[part] = arrays[key]
    return found


CASES = cases()


@pytest.mark.parametrize("case", CASES)
def test_an_operator(case: str):
    parts = CASES[case]
    inputs = {key[3:]: value for key, value in parts.items() if key.startswith("in|")}
    expected = {key[4:]: value for key, value in parts.items() if key.startswith("out|")}
    graph = parts["graph"].tobytes()
    model = model_of(read(graph, None), list(expected))
    try:
        module = import_model(model, {})
    except Undecided:
        # Values decide shapes: the interpreter runs these.
        results = whence.compile(graph).run({one.name: inputs[one.name] for one in model.inputs.specs})
        found = [np.asarray(results[name]) for name in expected]
    else:
        found = evaluate_module(module, [inputs[one.name] for one in model.inputs.specs])
    for name, array in zip(expected, found, strict=True):
        assert array.dtype == expected[name].dtype
        np.testing.assert_allclose(array, expected[name], rtol=2e-5, atol=2e-5)


def operators(graph: bytes) -> set[str]:
    """The operators of a graph and its functions."""
    parsed = parse("GraphDef", graph, "graph")
    functions = (function.node_def for function in parsed.library.function)
    return {node.op for nodes in (parsed.node, *functions) for node in nodes}


def test_every_row_is_tried():
    graphs = [parts["graph"].tobytes() for parts in CASES.values()] + [p.read_bytes() for p in DATA.glob("*.pb")]
    saved = parse("SavedModel", (DATA / "stateful_saved" / "saved_model.pb").read_bytes(), "saved")
    graphs.append(saved.meta_graphs[0].graph_def.SerializeToString())
    tried = set[str]().union(*map(operators, graphs))
    assert CONVERTERS.keys() - tried == OF_VARIABLES | BY_HAND | {TRUTH, IS_NUMBER}


def evaluated(net: Net, *inputs: Any) -> Any:
    (result,) = evaluate_module(from_tensorflow(net.build()), list(inputs))
    return result


def test_products_with_what_was_fused_into_them():
    rng = np.random.default_rng(0)
    a, b, bias = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (4, 5), (5,)))
    whole = a @ b + bias
    results = {
        "Relu": np.maximum(whole, 0),
        "Relu6": np.clip(whole, 0, 6),
        "LeakyRelu": np.where(whole > 0, whole, whole * np.float32(0.2)),
        "Tanh": np.tanh(whole),
        "Sigmoid": 1 / (1 + np.exp(-whole)),
    }
    for name, expected in results.items():
        net = Net()
        net.op("_FusedMatMul", "y", net.placeholder("a", (3, 4)), net.const("b", b), net.const("bias", bias))
        net.graph.node[-1].attr["fused_ops"].list.s.extend([b"BiasAdd", name.encode()])
        np.testing.assert_allclose(evaluated(net, a), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize(
    ("name", "mean", "deviation"),
    [
        ("RandomStandardNormal", 0, 1),
        ("RandomUniform", 0.5, 12**-0.5),
        ("RandomUniformInt", 5, 2),
        ("Multinomial", 0.8, 0.4),
    ],
)
def test_random_numbers_are_of_their_laws_and_others_in_each_call(name: str, mean: float, deviation: float, seed: int):
    net = Net()
    if name == "Multinomial":
        operands = [net.const("logits", np.log(np.array([[0.2, 0.8]], np.float32))), net.const("count", 3600, "int32")]
    else:
        operands = [net.const("shape", [60, 60], "int32")]
    if name == "RandomUniformInt":
        operands += [net.const("low", 2, "int32"), net.const("high", 9, "int32")]
    net.op(name, "y", *operands, seed=seed)
    executable: Any = whence.compile(net.build(), seed=3)
    first, second = executable(), executable()
    assert (first != second).any()
    assert abs(first.mean() - mean) < 0.08 * deviation
    assert abs(first.std() - deviation) < 0.05 * deviation


def test_gelu():
    x = np.linspace(-3, 3, 13, dtype=np.float32)
    exact = np.array([0.5 * v * (1 + erf(v / 2**0.5)) for v in x.tolist()])
    for approximate, tolerance in ((False, 1e-6), (True, 5e-4)):
        net = Net()
        net.op(
            "Gelu", "y", net.op("DebugGradientIdentity", "same", net.placeholder("x", (13,))), approximate=approximate
        )
        np.testing.assert_allclose(evaluated(net, x), exact, atol=tolerance)


def test_arrays_of_tensors_one_after_the_other():
    net = Net()
    net.op("TensorArrayConcatV3", "y", net.const("handle", 0, "int32"), net.placeholder("flow", (2, 3, 4)))
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(evaluated(net, x), x.reshape(6, 4))


@pytest.mark.parametrize("scaled", [False, True])
def test_normalisation_as_old_graphs_have_it(scaled: bool):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 3, 4)).astype(np.float32)
    mean, variance, beta, gamma = parts = [rng.uniform(0.5, 1.5, 4).astype(np.float32) for _ in range(4)]
    net = Net()
    operands = [net.const(name, part) for name, part in zip(("m", "v", "beta", "gamma"), parts, strict=True)]
    options = {"variance_epsilon": 0.01, "scale_after_normalization": scaled}
    net.op("BatchNormWithGlobalNormalization", "y", net.placeholder("x", x.shape), *operands, **options)
    expected = (x - mean) / np.sqrt(variance + 0.01) * (gamma if scaled else 1) + beta
    np.testing.assert_allclose(evaluated(net, x), expected, rtol=1e-5, atol=1e-5)


def test_binary_counts_leave_weights_out():
    net, numbers = Net(), np.array([0, 2, 2], np.int32)
    operands = [net.const("size", 4, "int32"), net.const("weights", np.array([-1, -2, 0], np.float32))]
    net.op("DenseBincount", "y", net.placeholder("x", (3,), "int32"), *operands, T="float32", binary_output=True)
    np.testing.assert_array_equal(evaluated(net, numbers), np.array([1, 0, 1, 0], np.float32))


X = np.random.default_rng(0).standard_normal((3, 1, 2, 4)).astype(np.float32)
NO_CHANGE: dict[str, tuple[str, list[Array], dict[str, Any], Any]] = {
    "a sum over no axes": ("Sum", [np.zeros(0, np.int32)], {"keep_dims": True}, X),
    "a product": ("BatchMatMulV2", [X.transpose(0, 1, 3, 2)], {"grad_x": True}, X @ X.transpose(0, 1, 3, 2)),
    "statistics of training": (
        "FusedBatchNormV3",
        [np.ones(4, np.float32), np.zeros(4, np.float32), np.zeros(4, np.float32), np.ones(4, np.float32)],
        {"is_training": False, "exponential_avg_factor": 0.5, "epsilon": 0.0},
        X,
    ),
}


@pytest.mark.parametrize("name", NO_CHANGE)
def test_attributes_that_change_nothing_are_taken(name: str):
    op, constants, attributes, expected = NO_CHANGE[name]
    net = Net()
    operands = [net.placeholder("x", X.shape), *(net.const(f"c{at}", array) for at, array in enumerate(constants))]
    net.op(op, "y", *operands, **attributes)
    np.testing.assert_allclose(evaluated(net, X), expected, rtol=1e-5, atol=1e-5)


def test_a_list_says_how_many_it_has():
    net = Net()
    shape = net.const("shape", [1, 2, 4], "int32")
    items = net.op("TensorListFromTensor", "items", net.placeholder("x", X.shape), shape, element_dtype="float32")
    net.op("TensorListStack", "y", items, shape, element_dtype="float32", num_elements=3)
    np.testing.assert_array_equal(evaluated(net, X), X)


WINDOWS: dict[str, tuple[int, tuple[int, ...], dict[str, Any]]] = {
    "Conv2D": (2, (3, 2, 4, 6), {"strides": [1, 2, 1, 1], "dilations": [1, 1, 2, 1], "padding": "SAME"}),
    "DepthwiseConv2dNative": (2, (3, 2, 4, 2), {"strides": [1, 2, 2, 1], "padding": "VALID"}),
    "Conv3D": (3, (2, 3, 2, 4, 5), {"strides": [1, 1, 2, 2, 1], "padding": "SAME"}),
    "MaxPool": (2, (), {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "padding": "SAME"}),
    "AvgPool": (2, (), {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "padding": "SAME"}),
    "MaxPool3D": (3, (), {"ksize": [1, 2, 3, 2, 1], "strides": [1, 2, 1, 1, 1], "padding": "VALID"}),
    "SpaceToDepth": (2, (), {"block_size": 2}),
    "DepthToSpace": (2, (), {"block_size": 2}),
}


@pytest.mark.parametrize("op", WINDOWS)
def test_channels_in_front_compute_the_same(op: str):
    """TensorFlow computes with channels in front on other machines only: the same numbers in another order."""
    rank, kernel, attributes = WINDOWS[op]
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 6, 8, 6, 4)[-rank - 2 :] if rank == 3 else (2, 6, 8, 4)).astype(np.float32)
    results: list[Any] = []
    for front in (False, True):
        turned: dict[str, Any] = {
            key: [value[0], value[-1], *value[1:-1]] if front and isinstance(value, list) else value
            for key, value in attributes.items()
        }
        data = np.moveaxis(x, -1, 1) if front else x
        layout = ("NCHW", "NCDHW")[rank - 2] if front else ("NHWC", "NDHWC")[rank - 2]
        net = Net()
        operands = [net.placeholder("x", data.shape)]
        if kernel:
            operands.append(net.const("k", np.random.default_rng(1).standard_normal(kernel).astype(np.float32)))
        net.op(op, "y", *operands, data_format=layout, **turned)
        result = evaluated(net, data)
        results.append(np.moveaxis(result, 1, -1) if front else result)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-5)


def test_images_of_open_sizes_are_resized_without_a_table():
    """Distances are then exact, which differs in the third digit."""
    x = np.random.default_rng(0).uniform(-1, 1, (1, 5, 6, 2)).astype(np.float32)
    results: list[Any] = []
    for shape in (x.shape, (1, -1, -1, 2)):
        net = Net()
        size = net.const("size", [9, 4], "int32")
        net.op("ResizeBicubic", "y", net.placeholder("x", shape), size, half_pixel_centers=True)
        results.append(np.asarray(whence.compile(net.build())(x)))
    np.testing.assert_allclose(results[1], results[0], atol=3e-3)
