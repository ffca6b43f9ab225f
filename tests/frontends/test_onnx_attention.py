"""Attention and products of com.microsoft, and windows of one and three axes, against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import onnx.parser
import pytest
from against_onnxruntime import one_node
from onnx import TensorProto, helper, numpy_helper

import whence
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.onnx import from_onnx
from whence.provenance.audit import check_located
from whence.support.errors import FrontendWarning

runtime: Any = import_module("onnxruntime")
BATCH, LENGTH, HIDDEN, HEADS = 2, 6, 16, 4


def real(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32) / 2


def some(*shape: int) -> Any:
    """A mask in which the first key takes part."""
    mask = np.random.default_rng(1).integers(0, 2, shape).astype(np.int32)
    mask[..., 0] = 1
    return mask


def agree(
    op: str,
    given: dict[str, Any],
    constants: dict[str, Any],
    order: str,
    outputs: Mapping[str, int],
    domain: str = "com.microsoft",
    **attributes: Any,
) -> None:
    """One node gives what onnxruntime gives. `order` has the names of all inputs, `_` for one that is missing."""
    names = ["" if name == "_" else name for name in order.split()]
    node = helper.make_node(op, names, list(outputs), domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in given.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    module = from_onnx(model)
    module.verify()
    check_located(module, "from_onnx")
    found: list[Any] = evaluate_module(module, list(given.values()))
    for mine, theirs in zip(found, session.run(None, given), strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


Y = {"y": TensorProto.FLOAT}
CACHED = {"y": TensorProto.FLOAT, "pk": TensorProto.FLOAT, "pv": TensorProto.FLOAT}
X = {"x": real(BATCH, LENGTH, HIDDEN)}
QKV = {"w": real(HIDDEN, 3 * HIDDEN), "b": real(3 * HIDDEN)}
ENDS, STARTS = np.array([4, 6], np.int32), np.array([1, 0], np.int32)

ATTENTION: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("x w b", {}, {}, {}),
    ("x w b m", {"m": some(BATCH, LENGTH)}, {}, {"unidirectional": 1}),
    ("x w b m", {"m": some(BATCH, LENGTH, LENGTH)}, {}, {"scale": 0.3}),
    ("x w b m", {"m": ENDS}, {}, {}),
    ("x w b m", {"m": np.concatenate([ENDS, STARTS])}, {}, {}),
    ("x w b _ _ a", {"a": real(1, HEADS, LENGTH, LENGTH)}, {}, {}),
    ("x v c", {}, {"v": real(HIDDEN, 28), "c": real(28)}, {"qkv_hidden_sizes": [8, 8, 12]}),
]


@pytest.mark.parametrize(("order", "more", "weights", "attributes"), ATTENTION)
def test_attention(order: str, more: dict[str, Any], weights: dict[str, Any], attributes: dict[str, Any]):
    agree("Attention", X | more, weights or QKV, order, Y, num_heads=HEADS, **attributes)


def test_attention_with_past():
    given = X | {"p": real(2, BATCH, HEADS, 3, HIDDEN // HEADS)}
    outputs = {"y": TensorProto.FLOAT, "present": TensorProto.FLOAT}
    agree("Attention", given, QKV, "x w b _ p", outputs, num_heads=HEADS, unidirectional=1)


KEYS = {"q": real(BATCH, LENGTH, HIDDEN), "k": real(BATCH, 5, HIDDEN), "v": real(BATCH, 5, HIDDEN)}
SPLIT = {"q": KEYS["q"], "k": real(BATCH, HEADS, 5, 4), "v": real(BATCH, HEADS, 5, 4)}


@pytest.mark.parametrize(
    ("given", "order"),
    [
        (KEYS, "q k v b"),
        (KEYS | {"m": some(BATCH, 5)}, "q k v _ m"),
        (KEYS | {"a": real(1, HEADS, LENGTH, 5)}, "q k v _ _ a"),
        (SPLIT, "q k v"),
    ],
)
def test_multi_head_attention(given: dict[str, Any], order: str):
    constants = {"b": real(3 * HIDDEN)} if " b" in order else {}
    agree("MultiHeadAttention", given, constants, order, Y, num_heads=HEADS)


def test_multi_head_attention_with_past():
    given = {name: real(BATCH, LENGTH, HIDDEN) for name in "qkv"}
    given |= {name: real(BATCH, HEADS, 3, HIDDEN // HEADS) for name in ("before_k", "before_v")}
    order = "q k v _ _ _ before_k before_v"
    agree("MultiHeadAttention", given, {}, order, CACHED, num_heads=HEADS, unidirectional=1)


@pytest.mark.parametrize(("length", "past"), [(6, 0), (1, 5)])
@pytest.mark.parametrize(
    "attributes", [{}, {"do_rotary": 1}, {"do_rotary": 1, "rotary_interleaved": 1}, {"local_window_size": 3}]
)
def test_group_query_attention(length: int, past: int, attributes: dict[str, Any]):
    given = {"q": real(1, length, 64), "k": real(1, length, 32), "v": real(1, length, 32)}
    given |= {name: real(1, 2, past, 16) for name in ("bk", "bv")}
    constants = {"s": np.array([past + length - 1], np.int32), "t": np.array(past + length, np.int32)}
    order = "q k v bk bv s t"
    if "do_rotary" in attributes:
        constants |= {"cos": real(16, 8), "sin": real(16, 8)}
        order += " cos sin"
    agree("GroupQueryAttention", given, constants, order, CACHED, num_heads=4, kv_num_heads=2, **attributes)


def test_embed_layer_norm():
    rng = np.random.default_rng(0)
    given = {name: rng.integers(0, 2, (BATCH, LENGTH)).astype(np.int32) for name in ("ids", "segments", "mask")}
    weights = {"w": real(9, HIDDEN), "p": real(8, HIDDEN), "s": real(2, HIDDEN), "g": real(HIDDEN), "b": real(HIDDEN)}
    outputs = {"y": TensorProto.FLOAT, "counts": TensorProto.INT32}
    agree("EmbedLayerNormalization", given, weights, "ids segments w p s g b mask", outputs, epsilon=1e-5)
    agree("EmbedLayerNormalization", {"ids": given["ids"]}, weights, "ids _ w p _ g b", outputs)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved: int):
    caches = {"cos": real(16, 2), "sin": real(16, 2)}
    places = np.tile(np.arange(LENGTH), (BATCH, 1))
    agree("RotaryEmbedding", X | {"p": places}, caches, "x p cos sin", Y, interleaved=interleaved)
    given = {"x": real(BATCH, HEADS, LENGTH, 4), "p": np.array([3])}
    agree("RotaryEmbedding", given, caches, "x p cos sin", Y, interleaved=interleaved)


@pytest.mark.parametrize(("bits", "depth"), [(4, 32), (4, 25), (2, 32), (8, 32)])
def test_matmul_nbits(bits: int, depth: int):
    rng = np.random.default_rng(bits)
    blocks = -(-depth // 16)
    constants = {
        "w": rng.integers(0, 256, (7, blocks, 2 * bits)).astype(np.uint8),
        "s": real(7, blocks),
        "z": rng.integers(0, 256, (7, -(-blocks * bits // 8))).astype(np.uint8),
    }
    sizes: dict[str, Any] = {"N": 7, "K": depth, "bits": bits, "block_size": 16}
    agree("MatMulNBits", {"x": real(2, 3, depth)}, constants, "x w s z", Y, **sizes)
    agree("MatMulNBits", {"x": real(2, 3, depth)}, {k: constants[k] for k in "ws"}, "x w s", Y, **sizes)


@pytest.mark.parametrize(
    ("left", "right", "attributes"),
    [
        ((3, 5, 4, 6), (3, 5, 7, 6), {"transB": 1, "alpha": 0.5}),
        ((4, 3, 5), (3, 5, 7), {"transBatchA": 1}),
        ((2, 5, 4), (5, 7), {"transA": 1}),
    ],
)
def test_fused_matmul(left: tuple[int, ...], right: tuple[int, ...], attributes: dict[str, Any]):
    agree("FusedMatMul", {"a": real(*left), "b": real(*right)}, {}, "a b", Y, **attributes)


@pytest.mark.parametrize(
    ("activation", "numbers"),
    [("Relu", []), ("Tanh", []), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.4])],
)
def test_fused_conv(activation: str, numbers: list[float]):
    more: dict[str, Any] = {"activation_params": numbers} if numbers else {}
    given = {"x": real(1, 2, 5, 5), "z": real(1, 3, 3, 3)}
    weights = {"w": real(3, 2, 3, 3), "b": real(3)}
    agree("FusedConv", given, weights, "x w b z", Y, activation=activation, **more)


@pytest.mark.parametrize(
    ("op", "shape", "weight", "attributes"),
    [
        ("Conv", (2, 4, 9), (6, 2, 3), {"group": 2, "auto_pad": "SAME_LOWER", "strides": [2]}),
        ("Conv", (1, 2, 4, 5, 6), (3, 2, 2, 3, 1), {"pads": [1, 0, 0, 0, 1, 2], "strides": [1, 2, 1]}),
        ("ConvTranspose", (1, 4, 5), (4, 2, 3), {"group": 2, "strides": [2], "output_padding": [1]}),
        ("ConvTranspose", (1, 2, 4, 5), (2, 3, 3, 4), {"strides": [2, 3], "pads": [1, 0, 2, 1]}),
        ("ConvTranspose", (1, 2, 4, 5), (2, 3, 3, 3), {"strides": [2, 2], "output_shape": [8, 10]}),
        ("ConvTranspose", (1, 2, 3, 4, 3), (2, 1, 2, 3, 2), {"strides": [2, 1, 2], "dilations": [1, 2, 1]}),
        ("LpPool", (1, 2, 9), None, {"kernel_shape": [3], "strides": [2], "p": 3, "pads": [1, 1]}),
        ("GlobalLpPool", (1, 2, 3, 4, 5), None, {"p": 1}),
        ("MaxPool", (1, 2, 5, 6, 7), None, {"kernel_shape": [2, 3, 2], "auto_pad": "SAME_UPPER", "strides": [2, 2, 2]}),
        ("AveragePool", (1, 2, 10), None, {"kernel_shape": [4], "strides": [3], "pads": [2, 1], "ceil_mode": 1}),
    ],
)
def test_windows(op: str, shape: tuple[int, ...], weight: tuple[int, ...] | None, attributes: dict[str, Any]):
    constants = {} if weight is None else {"w": real(*weight)}
    agree(op, {"x": real(*shape)}, constants, "x w" if constants else "x", Y, domain="", **attributes)


def test_attention_over_no_keys_is_0():
    model, free = one_node("Attention", [real(1, 2, 3, 8), real(1, 2, 0, 8), real(1, 2, 0, 8)], opset=23)
    (result,) = evaluate_module(from_onnx(model), list(free.values()))
    np.testing.assert_array_equal(result, np.zeros((1, 2, 3, 8), np.float32))


_WINDOWED = """
<ir_version: 11, opset_import: ["": 25]>
windowed (float[1, 1, queries, 4] q, float[1, 1, keys, 4] k, float[1, 1, keys, 4] v) => (float[1, 1, queries, 4] y) {
  y = Attention <left_window_size = 0> (q, k, v)
}
"""


def test_queries_that_see_no_key_of_an_open_number_give_0():
    """As those of known sizes do: query 2 of 2 keys sees none, as it looks ahead only."""
    with pytest.warns(FrontendWarning, match="opset"):
        compiled = whence.compile(onnx.parser.parse_model(_WINDOWED))
    result = np.asarray(compiled(real(1, 1, 4, 4), real(1, 1, 2, 4), value := real(1, 1, 2, 4)))
    np.testing.assert_array_equal(result[0, 0, 2:], 0)
    np.testing.assert_allclose(result[0, 0, 1], value[0, 0, 1], rtol=1e-5)
