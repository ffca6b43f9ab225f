"""One relay operator evaluated in numpy, and one ONNX node under onnxruntime."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from onnx import helper
from reference_runtime import onnxruntime_outputs
from xdsl.utils.test_value import create_ssa_value

from whence.dialects.element_types import tensor_type
from whence.dialects.relay.attributes import Value
from whence.dialects.relay.evaluation import evaluate
from whence.dialects.relay.operator import Operator, element_of, shape_of

Array = npt.NDArray[Any]


def run(cls: type[Operator], *inputs: Array, **attributes: Value) -> tuple[Array, ...]:
    """Build the op for the arrays' types, evaluate it, and check that the results have the types it states."""
    build: Any = cls
    op: Operator = build(*(create_ssa_value(tensor_type(x)) for x in inputs), **attributes)
    results = cast(tuple[Array, ...], evaluate(op, inputs))
    for result, value in zip(results, op.results, strict=True):
        assert result.shape == shape_of(value)
        assert tensor_type(result).element_type == element_of(value)
    return results


def ort(op_type: str, *inputs: Array | None, domain: str = "", **attributes: Any) -> Array:
    """The first result of one ONNX node under onnxruntime; None is an omitted input."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    given = {name: x for name, x in zip(names, inputs, strict=True) if x is not None}
    node = helper.make_node(op_type, names, ["y"], domain=domain, **attributes)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in given.items()
    ]
    output = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], "g", declared, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return onnxruntime_outputs(model, given)[0]


rng = np.random.default_rng(7)


def random(*shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def close(mine: Array, reference: Array, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(mine, reference, rtol=tolerance, atol=tolerance)
