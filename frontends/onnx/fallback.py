"""Single nodes that onnxruntime or the reference evaluator of the standard computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import ModelProto, NodeProto

from ...provenance.diagnostics import message
from ...runtime.interpreting.flow import Step
from ...support.dtypes import Array
from ...support.errors import FrontendError, PipelineError
from ..importing.custom import CustomOp
from ..importing.python_calls import LibraryCall, PythonCall
from ..importing.results import Stated
from .context import Context
from .program import node_of
from .python_calls import of_type, opset_imports, type_of

Run: TypeAlias = Callable[[dict[str, Array]], Sequence[Array]]
"""Compute a model of one node: values of inputs by name -> outputs in order."""
Opened: TypeAlias = tuple[Run, Sequence[Stated]]
"""The function that computes a model, and the types of outputs, where the library states them."""


def library_call(step: Step, ctx: Context, library: str, call: PythonCall) -> LibraryCall | tuple[Array, ...]:
    """Return a node as a library computes it, or its outputs where all inputs are known at import.

    call: the node as a Python function takes it, with the results that the model and the standard state.
    Raises FrontendError where the library refuses the node, PipelineError where it is not installed.
    """
    known = {number: ctx.known(number) for number in range(len(ctx.inputs)) if ctx.has(number)}
    unknown = [number for number, array in known.items() if array is None]
    model = _model_of(step, ctx, {number: array for number, array in known.items() if array is not None})
    try:
        run, kinds = _LIBRARIES[library](model)
        if not unknown:
            return tuple(run({}))
    except ImportError as error:
        raise PipelineError(f"fallback: expected the package {library} to be installed, got: {error}") from error
    except Exception as error:  # each library has exceptions of its own for nodes that it does not take
        actual = " ".join(f"{type(error).__name__}: {error}".split())
        raise FrontendError(message(ctx.op_type, f"a node that {library} computes", actual, ctx.leaf)) from error
    sources = zip(_inferred(model), kinds or call.results, call.results, strict=True)
    results = [next(filter(_is_whole, stated), stated[-1]) for stated in sources]

    def outputs(*arrays: Array) -> list[Array]:
        return list(run({f"input{number}": array for number, array in zip(unknown, arrays, strict=True)}))

    return LibraryCall(CustomOp(outputs), PythonCall(unknown, results))


def _model_of(step: Step, ctx: Context, constants: dict[int, Array]) -> ModelProto:
    """Return a model of one node. Its inputs and outputs are numbered, and known inputs are initializers."""
    node = NodeProto()
    node.CopyFrom(ctx.node)
    del node.input[:], node.output[:]
    node.input.extend(f"input{number}" if ctx.has(number) else "" for number in range(len(ctx.inputs)))
    node.output.extend(f"output{number}" for number in range(len(step.outputs)))
    graph = onnx.helper.make_graph(
        [node],
        node_of(step).layer,
        [
            onnx.helper.make_value_info(f"input{number}", type_of(tensor))
            for number, tensor in enumerate(ctx.inputs)
            if tensor is not None and number not in constants
        ],
        [onnx.ValueInfoProto(name=name) for name in node.output],
        [onnx.numpy_helper.from_array(array, f"input{number}") for number, array in constants.items()],
    )
    opsets = opset_imports(step)
    return onnx.helper.make_model(
        graph, opset_imports=opsets, ir_version=onnx.helper.find_min_ir_version_for(opsets, ignore_unknown=True)
    )


def _is_whole(stated: Stated) -> bool:
    return stated.dtype is not None and stated.shape is not None and None not in stated.shape


def _inferred(model: ModelProto) -> list[Stated]:
    """Return the types of outputs that follow from the standard."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except onnx.shape_inference.InferenceError:
        inferred = model
    return [of_type(output.type) for output in inferred.graph.output]


def _onnxruntime(model: ModelProto) -> Opened:
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run(feeds: dict[str, Array]) -> Sequence[Array]:
        return session.run(None, feeds)

    return run, [_of_argument(output) for output in session.get_outputs()]


_NAMES = {"float": "float32", "double": "float64"}


def _of_argument(argument: Any) -> Stated:
    """Return the type that onnxruntime says: `tensor(float)`, with an extent, or a name, per axis."""
    name = argument.type.removeprefix("tensor(").removesuffix(")")
    try:
        dtype = np.dtype(_NAMES.get(name, name))
    except TypeError:
        return Stated()
    return Stated([extent if isinstance(extent, int) else None for extent in argument.shape], dtype)


def _reference(model: ModelProto) -> Opened:
    evaluator = import_module("onnx.reference").ReferenceEvaluator(model)

    def run(feeds: dict[str, Array]) -> Sequence[Array]:
        return evaluator.run(None, feeds)

    return run, ()


_LIBRARIES: dict[str, Callable[[ModelProto], Opened]] = {"onnxruntime": _onnxruntime, "reference": _reference}
