"""A node whose converter does not ask for all that the node states is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from against_onnxruntime import Array, check_node, one_node

from whence.frontends.onnx import from_onnx
from whence.frontends.onnx.contrib_inputs import INPUTS
from whence.support.errors import FrontendError


def real(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def refused(text: str, op: str, *inputs: Array | None, **arguments: Any) -> None:
    model, _ = one_node(op, inputs, **arguments)
    with pytest.raises(FrontendError, match=re.escape(text)):
        from_onnx(model)


def test_an_input_that_no_converter_reads_is_refused_by_its_name():
    x, scale = real(2, 8), real(8)
    text = "BiasGelu: expected no input 2, which is not supported, got 'x2' (layer 'layer', <memory> node 0)"
    refused(text, "BiasGelu", x, scale, scale, domain="com.microsoft")
    text = "QuickGelu: expected no attribute 'beta', which is not supported, got 2.0 (layer 'layer', <memory> node 0)"
    refused(text, "QuickGelu", x, domain="com.microsoft", beta=2.0)


def test_a_default_that_the_standard_states_may_be_written_out():
    check_node("BatchNormalization", real(2, 3, 4), *[abs(real(3)) + 1] * 4, momentum=0.5, training_mode=0)


def test_an_activation_that_is_fused_has_its_own_attributes():
    given = real(2, 3), real(3, 4)
    fused: dict[str, Any] = {"domain": "com.microsoft", "activation": "LeakyRelu"}
    check_node("FusedGemm", *given, activation_alpha=0.3, **fused)
    refused("no attribute 'activation_beta'", "FusedGemm", *given, activation_beta=0.3, **fused)


def test_names_of_inputs_beside_the_standard_are_those_of_onnxruntime():
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    schemas = [schema for schema in state.get_all_operator_schema() if schema.domain == "com.microsoft"]
    names = {schema.name: [parameter.name for parameter in schema.inputs] for schema in schemas}
    assert {op: text.split() for op, text in INPUTS.items()} == {op: names[op] for op in INPUTS}


def test_numbers_that_are_their_defaults_may_be_written_out():
    x, places, tables = real(1, 2, 8), np.array([[0, 1]]), (real(4, 4), real(4, 4))
    arguments: dict[str, Any] = {"domain": "com.microsoft", "num_heads": 1}
    check_node("RotaryEmbedding", x, places, *tables, is_packed_batching=0, scale=1.0, **arguments)
    text = "RotaryEmbedding: expected is_packed_batching 0, got 1"
    refused(text, "RotaryEmbedding", x, places, *tables, is_packed_batching=1, **arguments)


@pytest.mark.parametrize(
    ("op", "inputs", "arguments"),
    [
        ("MaxPool", (real(1, 3, 7, 7),), {"auto_pad": "SAME_UPPER", "pads": [0, 0, 0, 0], "storage_order": 1}),
        ("AveragePool", (real(1, 3, 7, 7),), {"auto_pad": "SAME_LOWER", "pads": [1, 1, 1, 1]}),
        ("ReduceMax", (real(2, 3, 4),), {"noop_with_empty_axes": 1, "keepdims": 0}),
        ("TopK", (real(2, 3), np.array([0])), {"largest": 0, "known": (1,), "outputs": (True, True)}),
        ("ReduceSumSquare", (real(2, 3, 4), np.array([1])), {"noop_with_empty_axes": 1, "known": (1,)}),
    ],
)
def test_what_others_of_the_node_make_void_may_be_there(op: str, inputs: tuple[Array, ...], arguments: dict[str, Any]):
    pools = {"kernel_shape": [3, 3]} if op.endswith("Pool") else {}
    check_node(op, *inputs, **pools, **arguments)


def test_a_region_of_interest_may_be_there_where_the_mode_takes_none():
    scales = np.array([1, 1, 2, 2], np.float32)
    check_node("Resize", real(1, 3, 7, 7), np.zeros(0, np.float32), scales, known=(1, 2), mode="linear")
