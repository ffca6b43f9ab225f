"""What a node states changes its result as onnxruntime's, or is refused: element types, attributes, optional inputs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx.parser
import pytest
from against_onnxruntime import Array, check_node, one_node
from mutated_onnx import KNOWN, WRONG, draw

from whence.frontends.onnx import from_onnx
from whence.support.errors import FrontendError

F, I64 = np.ones((2, 3), np.float32), np.ones((2, 3), np.int64)


def refused(text: str, op: str, *inputs: Array | None, **arguments: Any) -> None:
    model, _ = one_node(op, inputs, **arguments)
    with pytest.raises(FrontendError, match=re.escape(text)):
        from_onnx(model)


_NAMES = (
    "add argmax batch_normalization concat cumsum gelu gemm lrn maxpool neg onehot pad pow "
    "quantizelinear slice split topk trilu unique"
)
MODULES = tuple(f"onnx.backend.test.case.node.{name}" for name in _NAMES.split())
"""None of those that the test of conformance imports: a module makes its cases once in a process."""


def test_changed_nodes_give_what_onnxruntime_gives():
    outcomes = [outcome for seed in range(60) if (outcome := draw(seed, modules=MODULES)) is not None]
    assert [outcome for outcome in outcomes if outcome.verdict in WRONG] == []
    assert sum(outcome.verdict in ("right", "refused") for outcome in outcomes) > len(outcomes) // 2


def test_what_is_known_to_differ_has_a_reason():
    assert all(KNOWN.values())


def test_types_of_inputs_are_those_of_the_opset():
    refused("Neg: expected an input 0 (X) of bfloat16 or float16 or float32 or", "Neg", F.astype(np.bool_))
    refused("HardSwish: expected an input 0 (X) of", "HardSwish", I64.astype(np.uint32))
    refused("LayerNormalization: expected an input 0 (X) of", "LayerNormalization", I64, I64[0], I64[0])
    refused(
        "Clip: expected an input 0 (input) of float16 or float32 or float64, got int32",
        "Clip",
        I64.astype(np.int32),
        opset=11,
    )
    check_node("Clip", I64.astype(np.int32), None, np.zeros((), np.int32), opset=13)


def test_one_letter_is_one_type():
    refused("Add: expected an input 1 (B) of float32, the type of A, got int64", "Add", F, I64)
    refused("an input 1 (data_0) of float32, the type of data_0, got int64", "Max", F, I64)
    check_node("Pow", F, I64)  # its exponent has a type of its own


def test_types_of_outputs_are_those_of_the_opset():
    refused("Cast: expected an output 0 (output) of", "Cast", F, to=int(onnx.TensorProto.BFLOAT16), opset=9)


def test_calls_of_functions_have_the_types_and_attributes_that_these_take():
    refused("MeanVarianceNormalization: expected an input 0 (X) of", "MeanVarianceNormalization", I64[None, :, :, None])
    text = """<ir_version: 8, opset_import: ["": 17, "own": 1]>
    net (float[2] x) => (float[2] y) { y = own.twice <%s> (%s) }
    <domain: "own", opset_import: ["": 17]> twice (a) => (b) { b = Add (a, a) }"""
    for attributes, inputs, expected in (("k = 1", "x", "no attribute 'k', got 1"), ("", "x, x", "at most 1 inputs")):
        model = onnx.parser.parse_model((text % (attributes, inputs)).replace("<> (", "("))
        with pytest.raises(FrontendError, match=f"twice: expected {expected}"):
            from_onnx(model)


def test_resize_takes_scales_or_sizes():
    x, scales, sizes = F[None, None], np.array([1, 1, 2, 2], np.float32), np.array([1, 1, 4, 6])
    refused("Resize: expected either scales or sizes, got both", "Resize", x, None, scales, sizes, known=[2, 3])
    check_node("Resize", x, None, scales, known=[2])
    check_node("Resize", x, None, None, sizes, known=[3])


def test_split_has_as_many_outputs_as_it_says():
    refused("Split: expected num_outputs 2, as many as outputs, got 3", "Split", F, outputs=(True, True), num_outputs=3)


def test_a_clip_below_0_is_none():
    weights = [np.ones((1, 4, 3), np.float32), np.ones((1, 4, 4), np.float32)]
    data = np.ones((2, 1, 3), np.float32)
    refused("RNN: expected a clip of at least 0, got -0.5", "RNN", data, *weights, hidden_size=4, clip=-0.5)
