"""One ONNX node on given arrays: imported and evaluated, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.onnx import from_onnx
from whence.provenance.audit import check_located

Array = NDArray[Any]


def one_node(
    op: str,
    inputs: Sequence[Array | None],
    *,
    opset: int = 21,
    outputs: Sequence[bool] = (True,),
    known: Sequence[int] = (),
    domain: str = "",
    **attributes: Any,
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """The model of one node, and its inputs by name. outputs: which are wanted; known: inputs that are initializers.

    The types of outputs are not stated.
    """
    names = ["" if given is None else f"x{i}" for i, given in enumerate(inputs)]
    wanted = [f"y{i}" if there else "" for i, there in enumerate(outputs)]
    arrays = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    constants = [onnx.numpy_helper.from_array(arrays[f"x{i}"], f"x{i}") for i in known]
    free = {name: array for name, array in arrays.items() if name not in {f"x{i}" for i in known}}
    graph = helper.make_graph(
        [helper.make_node(op, names, wanted, "layer", domain=domain, **attributes)],
        "graph",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in free.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in wanted if name],
        constants,
    )
    opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), free


def onnxruntime_outputs(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    untyped = onnx.ModelProto()
    untyped.CopyFrom(model)
    for output in untyped.graph.output:
        output.ClearField("type")
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(untyped.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return cast(list[Array], session.run(None, inputs))


def check_node(op: str, *inputs: Array | None, rtol: float = 2e-5, atol: float = 2e-6, **arguments: Any) -> list[Array]:
    """Compare all outputs of a node, whose further arguments are those of `one_node`; returns them."""
    model, free = one_node(op, inputs, **arguments)
    module = from_onnx(model)
    module.verify()
    check_located(module, "from_onnx")
    found = cast(list[Array], evaluate_module(module, list(free.values())))
    expected = onnxruntime_outputs(model, free)
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(mine.astype(np.float64), theirs.astype(np.float64), rtol=rtol, atol=atol)
    return found
