"""TFLite models by script, with the object API of the schema's classes, and LiteRT's reference kernels as the judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import ml_dtypes
import numpy as np
from ai_edge_litert import schema_py_generated as _schema
from numpy.typing import NDArray

Array = NDArray[Any]
tflite: Any = _schema
"""The classes that hold models, which have no types."""

TYPES: dict[str, int] = {
    "float32": tflite.TensorType.FLOAT32,
    "float16": tflite.TensorType.FLOAT16,
    "float64": tflite.TensorType.FLOAT64,
    "int8": tflite.TensorType.INT8,
    "uint8": tflite.TensorType.UINT8,
    "int16": tflite.TensorType.INT16,
    "uint16": tflite.TensorType.UINT16,
    "int32": tflite.TensorType.INT32,
    "uint32": tflite.TensorType.UINT32,
    "int64": tflite.TensorType.INT64,
    "bool": tflite.TensorType.BOOL,
    "int4": tflite.TensorType.INT4,
    "complex64": tflite.TensorType.COMPLEX64,
    "resource": tflite.TensorType.RESOURCE,
}


@dataclass
class Quant:
    """Scales and zero points, one of each or one per index of `axis`."""

    scale: Sequence[float] | float
    zero_point: Sequence[int] | int = 0
    axis: int = 0


@dataclass
class Net:
    """A model under construction; tensors are numbers."""

    name: str = "main"
    tensors: list[Any] = field(default_factory=list[Any])
    operators: list[Any] = field(default_factory=list[Any])
    buffers: list[Any] = field(default_factory=lambda: [tflite.BufferT()])
    codes: list[Any] = field(default_factory=list[Any])
    inputs: list[int] = field(default_factory=list[int])
    outputs: list[int] = field(default_factory=list[int])
    graphs: list[Any] = field(default_factory=list[Any])
    """Subgraphs beside the main one, finished."""

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str = "float32",
        quant: Quant | None = None,
        data: Array | None = None,
        variable: bool = False,
    ) -> int:
        tensor: Any = tflite.TensorT()
        tensor.name, tensor.shape, tensor.type = name.encode(), list(shape), TYPES[dtype]
        tensor.buffer, tensor.isVariable = 0, variable
        if data is not None:
            buffer: Any = tflite.BufferT()
            raw = packed(data) if dtype == "int4" else np.ascontiguousarray(data).tobytes()
            buffer.data = np.frombuffer(raw, np.uint8)
            tensor.buffer = len(self.buffers)
            self.buffers.append(buffer)
        if quant is not None:
            parameters: Any = tflite.QuantizationParametersT()
            parameters.scale = np.atleast_1d(np.asarray(quant.scale, np.float32))
            parameters.zeroPoint = np.atleast_1d(np.asarray(quant.zero_point, np.int64))
            parameters.quantizedDimension = quant.axis
            tensor.quantization = parameters
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def input(self, name: str, shape: Sequence[int], dtype: str = "float32", quant: Quant | None = None) -> int:
        self.inputs.append(self.tensor(name, shape, dtype, quant))
        return self.inputs[-1]

    def const(self, name: str, data: Array, quant: Quant | None = None, dtype: str | None = None) -> int:
        return self.tensor(name, data.shape, dtype or data.dtype.name, quant, data)

    def op(
        self,
        op: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: str = "",
        version: int = 1,
        custom: tuple[str, bytes] | None = None,
        intermediates: Sequence[int] = (),
        **fields: Any,
    ) -> None:
        """Add an operator; `options` is the name of their class, `fields` what they say."""
        code: Any = tflite.OperatorCodeT()
        code.builtinCode = getattr(tflite.BuiltinOperator, op)
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = version
        operator: Any = tflite.OperatorT()
        if custom is not None:
            code.customCode = custom[0].encode()
            operator.customOptions = list(custom[1])
        operator.opcodeIndex = len(self.codes)
        self.codes.append(code)
        operator.inputs, operator.outputs = list(inputs), list(outputs)
        if intermediates:
            operator.intermediates = list(intermediates)
        if options:
            made: Any = getattr(tflite, f"{options}T")()
            for name, value in fields.items():
                assert hasattr(made, name), (options, name)
                setattr(made, name, value)
            if hasattr(tflite.BuiltinOptions, options):
                operator.builtinOptionsType = getattr(tflite.BuiltinOptions, options)
                operator.builtinOptions = made
            else:
                operator.builtinOptions2Type = getattr(tflite.BuiltinOptions2, options)
                operator.builtinOptions2 = made
        self.operators.append(operator)

    def subgraph(self) -> Net:
        """Another subgraph of the same model, to be `finish`ed."""
        return Net("inner", buffers=self.buffers, codes=self.codes, graphs=self.graphs)

    def graph(self) -> Any:
        made: Any = tflite.SubGraphT()
        made.name, made.tensors, made.operators = self.name.encode(), self.tensors, self.operators
        made.inputs, made.outputs = self.inputs, self.outputs
        return made

    def finish(self) -> int:
        """Add a subgraph to its model; its number."""
        self.graphs.append(self.graph())
        return len(self.graphs)

    def build(self, outputs: Sequence[int] | None = None) -> bytes:
        if outputs is not None:
            self.outputs = list(outputs)
        model: Any = tflite.ModelT()
        model.version, model.description = 3, b"by script"
        model.operatorCodes, model.buffers = self.codes, self.buffers
        model.subgraphs = [self.graph(), *self.graphs]
        builder: Any = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def packed(data: Array) -> bytes:
    """Numbers of 4 bits, two to a byte, the first in the lower half."""
    flat = data.astype(np.int8).reshape(-1).view(np.uint8) & 15
    if len(flat) % 2:
        flat = np.append(flat, 0).astype(np.uint8)
    return (flat[0::2] | flat[1::2] << 4).tobytes()


def litert(data: bytes, inputs: Mapping[str, Array], reference: bool = True, calls: int = 1) -> list[Array]:
    """The outputs by LiteRT; raises ValueError or RuntimeError for a model that it does not take."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kind = OpResolverType.BUILTIN_REF if reference else OpResolverType.AUTO
    runtime: Any = Interpreter(model_content=data, num_threads=1, experimental_op_resolver_type=kind)
    details = runtime.get_input_details()
    for detail in details:
        given = inputs[detail["name"]]
        if list(detail["shape"]) != list(given.shape):
            runtime.resize_tensor_input(detail["index"], list(given.shape))
    runtime.allocate_tensors()
    for _ in range(calls):
        for detail in details:
            runtime.set_tensor(detail["index"], inputs[detail["name"]])
        runtime.invoke()
    return [np.asarray(runtime.get_tensor(detail["index"])) for detail in runtime.get_output_details()]


def random_inputs(data: bytes, rng: np.random.Generator, low: float = -3, high: float = 3) -> dict[str, Array]:
    """Inputs of a model at random: of floats between two numbers, of integers all that there are."""
    flat: Any = tflite.Model.GetRootAsModel(data, 0)
    graph = flat.Subgraphs(0)
    names = {code: name for name, code in TYPES.items()}
    found: dict[str, Array] = {}
    for place in range(graph.InputsLength()):
        tensor = graph.Tensors(graph.Inputs(place))
        shape = [tensor.Shape(axis) for axis in range(tensor.ShapeLength())]
        found[tensor.Name().decode()] = random_array(rng, shape, names[tensor.Type()], low, high)
    return found


def random_array(rng: np.random.Generator, shape: Sequence[int], dtype: str, low: float = -3, high: float = 3) -> Array:
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.startswith("float") or dtype == "bfloat16":
        kind: Any = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
        return rng.uniform(low, high, shape).astype(kind)
    if dtype in ("int32", "int64", "uint32"):
        return rng.integers(int(low) if dtype[0] == "i" else 0, int(high) + 1, shape).astype(dtype)
    if dtype == "uint64":
        return rng.integers(0, 1 << 64, shape, np.uint64)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)
