"""Recurrent layers, as ONNX has them, against onnxruntime."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import whence
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.onnx import from_onnx

runtime: Any = import_module("onnxruntime")
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
TIME, BATCH, FEATURES = 5, 3, 4


def layer(
    kind: str, both: bool, given: set[str], hidden: int, **attributes: Any
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A model of one node with constant weights, and its inputs; `given` are the optional ones."""
    rng = np.random.default_rng(len(given) + GATES[kind])
    directions, gates = 1 + both, GATES[kind]
    shapes = {
        "W": (directions, gates * hidden, FEATURES),
        "R": (directions, gates * hidden, hidden),
        "B": (directions, 2 * gates * hidden),
        "P": (directions, 3 * hidden),
    }
    weights = {name: rng.standard_normal(shape).astype(np.float32) / 2 for name, shape in shapes.items()}
    inputs: dict[str, Any] = {"x": rng.standard_normal((TIME, BATCH, FEATURES)).astype(np.float32)}
    if "lengths" in given:
        inputs["lengths"] = np.array([2, 5, 1], np.int32)
    for state in {"h", "c"} & given:
        inputs[state] = rng.standard_normal((directions, BATCH, hidden)).astype(np.float32)
    order = ["x", "W", "R", "B", "lengths", "h", "c", "P"]
    names = [name if name in given | {"x", "W", "R"} else "" for name in order]
    outputs = ["Y", "Y_h", "Y_c"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(kind, names[: 8 if kind == "LSTM" else 6], outputs, hidden_size=hidden, **attributes)
    kinds = {"lengths": TensorProto.INT32}
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info(n, kinds.get(n, TensorProto.FLOAT), a.shape) for n, a in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items() if name in names],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), inputs


CASES = [
    ("RNN", False, {"B", "h"}, {"direction": "reverse"}),
    ("RNN", True, {"lengths"}, {"direction": "bidirectional", "activations": ["Relu", "Tanh"], "clip": 0.5}),
    ("GRU", False, {"B", "lengths"}, {"activations": ["HardSigmoid", "Softsign"], "activation_alpha": [0.3]}),
    ("GRU", True, {"B", "h"}, {"direction": "bidirectional", "linear_before_reset": 1}),
    ("LSTM", False, {"B", "h", "c", "P"}, {"input_forget": 1}),
    ("LSTM", True, {"B", "lengths", "h", "c", "P"}, {"direction": "bidirectional"}),
    (
        "LSTM",
        False,
        {"B"},
        {
            "activations": ["HardSigmoid", "ScaledTanh", "Affine"],
            "activation_alpha": [0.3, 0.7, 1.1],
            "activation_beta": [0.4, 0.9, 0.1],
            "direction": "reverse",
        },
    ),
]


@pytest.mark.parametrize("hidden", [6, 17])
@pytest.mark.parametrize(("kind", "both", "given", "attributes"), CASES)
def test_recurrent(kind: str, both: bool, given: set[str], attributes: dict[str, Any], hidden: int):
    model, inputs = layer(kind, both, given, hidden, **attributes)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[Any] = evaluate_module(from_onnx(model), list(inputs.values()))
    for mine, theirs in zip(found, session.run(None, inputs), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize(
    ("kind", "attributes"), [("LSTM", {}), ("GRU", {}), ("GRU", {"linear_before_reset": 1}), ("RNN", {})]
)
def test_infinities_stay_in_their_sequence(kind: str, attributes: dict[str, Any], level: int):
    """The units that fill panels, whose weights are zeros, are NaN then, and nothing may read them."""
    model, inputs = layer(kind, False, {"B"}, 5, **attributes)
    inputs["x"][1, 0, 2], inputs["x"][3, 2, 0] = np.inf, -np.inf
    theirs = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)
    with np.errstate(all="ignore"):
        evaluated: list[Any] = evaluate_module(from_onnx(model), list(inputs.values()))
    for found in (evaluated, list(whence.compile(model, opt_level=level).run(inputs).values())):
        for mine, wanted in zip(found, theirs, strict=True):
            assert np.isfinite(wanted[..., :1, :]).all()
            np.testing.assert_allclose(mine, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("recurrent", "hidden", "text"),
    [
        ((1, 12, 3), 4, r"expected recurrent weights of shape \[1, 16, 4\], as hidden_size is 4, got \[1, 12, 3\]"),
        ((1, 12, 4), 3, r"expected recurrent weights of shape \[1, 12, 3\], as hidden_size is 3, got \[1, 12, 4\]"),
        ((1, 16, 3), 3, r"expected recurrent weights of shape \[1, 12, 3\], got \[1, 16, 3\]"),
        ((12, 3), 3, r"expected 3-d recurrent weights .*, got shape \[12, 3\]"),
    ],
)
def test_weights_that_do_not_fit_are_told_from_what_they_should_be(recurrent: tuple[int, ...], hidden: int, text: str):
    weights = [
        numpy_helper.from_array(np.zeros(shape, np.float32), name)
        for name, shape in (("W", (1, 12, FEATURES)), ("R", recurrent))
    ]
    node = helper.make_node("LSTM", ["x", "W", "R"], ["Y"], hidden_size=hidden)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (TIME, BATCH, FEATURES))
    y = helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "net", [x], [y], weights)
    with pytest.raises(whence.FrontendError, match=f"^LSTM: {text}"):
        from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]))
