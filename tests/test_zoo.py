"""The networks of the zoo: random weights keep activations in range from the first layer to the last."""

from __future__ import annotations

import onnx
import pytest
from reference_runtime import onnxruntime_outputs
from zoo import SMALL

LEAST, MOST = 0.06, 4.0
"""Deviations of what layers with weights compute: neither do networks die, nor do their numbers grow."""


def layers_of(model: onnx.ModelProto) -> list[str]:
    """The results of layers whose weights were drawn; products of two results are no such layers."""
    weights = {tensor.name for tensor in model.graph.initializer}
    weights |= {name for node in model.graph.node if node.op_type == "DequantizeLinear" for name in node.output}
    kinds = ("Conv", "ConvTranspose", "Gemm", "LSTM", "GRU", "MatMul")
    return [node.output[0] for node in model.graph.node if node.op_type in kinds and node.input[1] in weights]


# Its products are integers; those of "bert" are its own.
@pytest.mark.parametrize("name", [name for name in SMALL if name != "bert_dynamic"])
def test_activations_stay_in_range(name: str):
    model, inputs = SMALL[name]()
    names = layers_of(model)
    assert names
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    del shown.graph.output[:]
    shown.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    results = onnxruntime_outputs(shown, inputs)
    deviations = {name: float(result.std(dtype=float)) for name, result in zip(names, results, strict=True)}
    assert {name: spread for name, spread in deviations.items() if not LEAST <= spread <= MOST} == {}
