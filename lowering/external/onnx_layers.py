"""Operators that become several nodes or outputs of ONNX: layers of whole models, beside the table of `onnx_export`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.element_types import dtype_name, numpy_dtype
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.recurrent import GRUOp, LSTMOp, parse_activations, units_of
from ...dialects.relay.sorting import TopKOp
from ...support.dtypes import limits
from .onnx_export import Graph, Row, element_kind

_METHODS = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}
_COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def _resized(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    sig = op.signature
    method, scales = _METHODS[sig.str("method")], sig.get("scales")
    factors = graph.constant(np.array([1, 1, *scales], np.float32)) if scales else ""
    sizes = [] if scales else [graph.shape(shape_of(op.results[0]))]
    more: dict[str, Any] = {"nearest_mode": sig.str("rounding_method")} if method == "nearest" else {}
    if method == "cubic":
        more = {"cubic_coeff_a": sig.get("cubic_alpha"), "exclude_outside": sig.int("cubic_exclude")}
    mode = sig.str("coordinate_transformation_mode")
    operands = [inputs[0], "", factors, *sizes]
    return [graph.node("Resize", operands, mode=method, coordinate_transformation_mode=mode, **more)]


def _resizes(op: Operator) -> bool:
    """Return whether ONNX's coordinates and sizes are those of the op, for images with channels first."""
    sig = op.signature
    extents, result = shape_of(op.operands[0])[2:], shape_of(op.results[0])[2:]
    scales = sig.get("scales") or ()
    fits = all(int(np.floor(e * s)) == n for e, s, n in zip(extents, scales, result, strict=False))
    nearest = sig.str("method") == "nearest_neighbor"
    return (
        fits
        and _is_single(op)
        and sig.str("layout") == "NCHW"
        and sig.str("coordinate_transformation_mode") in _COORDINATES
        and (not nearest or sig.str("rounding_method") in _ROUNDINGS)
        and not any(sig.get(name) for name in ("antialias", "roi", "ratio", "out_dtype"))
    )


def _is_single(op: Operator) -> bool:
    return all(dtype_name(element_of(value)) == "float32" for value in op.operands)


def _largest(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    sig = op.signature
    count, kind = graph.shape([TopKOp.count(sig)]), sig.str("ret_type")
    options = {"axis": sig.int("axis"), "largest": int(not sig.get("is_ascend")), "sorted": 1}
    values, indices = graph.several("TopK", [inputs[0], count], 2, **options)
    indices = graph.node("Cast", [indices], to=element_kind(op.results[-1])) if kind != "values" else ""
    return {"both": [values, indices], "values": [values], "indices": [indices]}[kind]


def _log1p(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    """The logarithm of 1 + x, corrected by what rounding that sum does to x: as exact as log is."""
    (x,) = inputs
    one = graph.constant(np.array(1, numpy_dtype(element_of(op.operands[0]))))
    total = graph.node("Add", [x, one])
    rest = graph.node("Sub", [total, one])
    logarithm = graph.node("Log", [total])
    corrected = graph.node("Mul", [logarithm, graph.node("Div", [x, rest])])
    # A number so small that the sum is 1 is its own logarithm; one so large that it is the sum needs no correction.
    small = graph.node("Where", [graph.node("Equal", [total, one]), x, corrected])
    return [graph.node("Where", [graph.node("Equal", [total, x]), logarithm, small])]


def _round(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    return [graph.node("Round", inputs)]


def _zeros(graph: Graph, zero_point: str, scale: SSAValue, kind: int) -> str:
    """A zero point of the dtype of what is quantised, with as many elements as the scale."""
    shape = graph.shape(shape_of(scale))
    return graph.node("Expand", [graph.node("Cast", [zero_point], to=kind), shape])


def _quantized(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    zeros = _zeros(graph, inputs[2], op.operands[1], element_kind(op.results[0]))
    return [graph.node("QuantizeLinear", [*inputs[:2], zeros], axis=op.signature.int("axis"))]


def _dequantized(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    axis = op.signature.int("axis")
    if dtype_name(element_of(op.operands[0])) == "int32":
        return [graph.node("DequantizeLinear", inputs[:2], axis=axis)]
    zeros = _zeros(graph, inputs[2], op.operands[1], element_kind(op.operands[0]))
    return [graph.node("DequantizeLinear", [*inputs[:2], zeros], axis=axis)]


def _quantizes(op: Operator) -> bool:
    return dtype_name(element_of(op.results[0])) in ("int8", "uint8") and _parameters(op)


def _dequantizes(op: Operator) -> bool:
    """Return whether ONNX has the dtype; words have no zero point there."""
    dtype = dtype_name(element_of(op.operands[0]))
    return (dtype in ("int8", "uint8") or (dtype == "int32" and _is_zero(op.operands[2]))) and _parameters(op)


def _parameters(op: Operator) -> bool:
    """Return whether the zero point is one number, or has those of the scale."""
    scale, zero = (shape_of(value) for value in op.operands[1:3])
    return zero in ((), (1,), scale) and len(scale) <= 1


def _is_zero(value: SSAValue) -> bool:
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return False
    module = owner.get_toplevel_object()
    return not np.any(owner.value(cast(ModuleOp, module)))


def _product(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    """A product of bytes, each above its zero point."""
    kinds = [element_kind(value) for value in op.operands[:2]]
    first, second = (graph.node("Cast", [name], to=kind) for name, kind in zip(inputs[2:4], kinds, strict=True))
    turned = graph.node("Transpose", [inputs[1]], perm=[1, 0])
    return [graph.node("MatMulInteger", [inputs[0], turned, first, second])]


def _multiplies(op: Operator) -> bool:
    scalars = all(shape_of(value) in ((), (1,)) for value in op.operands[2:4])
    return scalars and op.signature.str("out_dtype") == "int32"


_ACTIVATIONS = {
    **{name: name.title() for name in ("affine", "elu", "relu", "sigmoid", "softplus", "softsign", "tanh")},
    "hardsigmoid": "HardSigmoid",
    "leakyrelu": "LeakyRelu",
    "scaledtanh": "ScaledTanh",
    "thresholdedrelu": "ThresholdedRelu",
}


def _lstm(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    assert isinstance(op, LSTMOp)
    names = dict(zip(op.operands, inputs, strict=True))
    more = {"input_forget": int(op.signature.get("input_forget"))}
    peephole: list[str] = []
    if op.peephole is not None:
        peephole = [graph.node("Reshape", [names[op.peephole], graph.shape([1, 3 * units_of(op.signature)])])]
    return _recurrent(graph, op, names, "LSTM", "", [op.initial_h, op.initial_c], peephole, more)


def _gru(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    assert isinstance(op, GRUOp)
    names, units = dict(zip(op.operands, inputs, strict=True)), units_of(op.signature)
    # Of all biases only that of the hidden gate's product with the state is not in the data.
    none = graph.constant(np.zeros(5 * units, numpy_dtype(element_of(op.operands[0]))))
    flat = graph.node("Concat", [none, names[op.hidden_bias]], axis=0)
    bias = graph.node("Reshape", [flat, graph.shape([1, 6 * units])])
    more = {"linear_before_reset": int(op.signature.get("linear_before_reset"))}
    return _recurrent(graph, op, names, "GRU", bias, [op.initial_h], [], more)


def _recurrent(
    graph: Graph,
    op: LSTMOp | GRUOp,
    names: Mapping[SSAValue, str],
    kind: str,
    bias: str,
    states: Sequence[SSAValue],
    last: Sequence[str],
    more: Mapping[str, int],
) -> list[str]:
    """A layer of ONNX whose product with the input is one with the unit matrix, as ours has that behind it."""
    sig = op.signature
    gates, units = op.GATES, units_of(sig)
    unit = graph.constant(np.eye(gates * units, dtype=numpy_dtype(element_of(op.operands[0])))[None])
    turned = graph.node("Transpose", [names[op.weight]], perm=[2, 0, 3, 1])
    rows = graph.node("Reshape", [turned, graph.shape([1, gates * units, units])])
    lengths = "" if op.lengths is None else graph.node("Cast", [names[op.lengths]], to=_INT32)
    first, second = graph.shape([0]), graph.shape([1])
    initial = [graph.node("Unsqueeze", [names[value], first]) for value in states]
    parsed = parse_activations(sig.str("activations"))
    options: dict[str, Any] = {
        "activations": [_ACTIVATIONS[name] for name, _ in parsed],
        "direction": "reverse" if sig.get("reverse") else "forward",
        "hidden_size": units,
        **more,
    }
    for place, name in enumerate(("activation_alpha", "activation_beta")):
        if numbers := [values[place] for _, values in parsed if len(values) > place]:
            options[name] = numbers
    if sig.get("clip"):
        options["clip"] = sig.get("clip")
    operands = [names[op.data], unit, rows, bias, lengths, *initial, *last]
    every, *ends = graph.several(kind, operands, 1 + len(states), **options)
    return [graph.node("Squeeze", [every, second]), *(graph.node("Squeeze", [end, first]) for end in ends)]


def _stacked(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    axis = op.signature.int("axis") % len(shape_of(op.results[0]))
    place = graph.shape([axis])
    return [graph.node("Concat", [graph.node("Unsqueeze", [name, place]) for name in inputs], axis=axis)]


def _cast(graph: Graph, op: Operator, inputs: Sequence[str]) -> list[str]:
    return [graph.node("Cast", inputs, to=element_kind(op.results[0]))]


def _holds_all(op: Operator) -> bool:
    """Return whether a float is cut to the range of the integers that it becomes."""
    clip = op.operands[0].owner
    if not isinstance(clip, Operator) or clip.name != "relay.clip":
        return False
    low, high = limits(dtype_name(element_of(op.results[0])))
    return low <= float(clip.signature.get("a_min")) <= float(clip.signature.get("a_max")) <= high


_INT32 = 6
"""ONNX's number of the dtype."""


def _recurs(op: Operator) -> bool:
    """Return whether no panel of weights has units more than there are, and states are as they are."""
    hidden = shape_of(op.operands[1])[1]
    exact = hidden == units_of(op.signature) and dtype_name(element_of(op.operands[0])) == "float32"
    return exact and not (isinstance(op, LSTMOp) and op.signature.get("quantized_state"))


LAYERS: Mapping[str, Row] = {
    "image.resize2d": (_resized, _resizes),
    "topk": (_largest, lambda op: dtype_name(element_of(op.operands[0])) in ("float32", "float64", "int32", "int64")),
    "log1p": (_log1p, _is_single),
    "round": (_round, _is_single),
    "qnn.quantize": (_quantized, _quantizes),
    "qnn.dequantize": (_dequantized, _dequantizes),
    "qnn.dense": (_product, _multiplies),
    "nn.lstm": (_lstm, _recurs),
    "nn.gru": (_gru, _recurs),
    "stack": (_stacked, _is_single),
    "cast": (_cast, _holds_all),
}
"""Operator -> its row."""
