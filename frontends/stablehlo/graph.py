"""A checked program as the importer takes it: names of layers and tensors, and the converters of operators."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import numpy_dtype
from ...dialects.sizes import Size
from ...runtime.flow import Region, Step
from ...runtime.open_specs import OPEN, OpenSpec
from ...support.errors import FrontendError
from ..importing import importer
from ..importing.converter import Converter, Narrowed, Result
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.node import node_of
from ..importing.python_calls import PythonCall, Stated
from ..importing.tensor import Tensor, dtype_of, shape_of
from .context import Context
from .convert import CONVERTERS
from .inputs import Inputs
from .load import Source, load, operator_names
from .nodes import CUSTOM_CALL, Node
from .program import RENAMING
from .raising import raise_operators
from .symbolic import folded_sizes


class Model(importer.Model):
    """A loaded program of StableHLO."""

    prefix = "stablehlo"

    def __init__(self, source: Source, custom_ops: CustomOps = NO_CUSTOM_OPS):
        self.source, self.custom_ops = source, custom_ops
        self.file, self.region, self.name = source.file, source.region, source.name
        self.inputs = Inputs(source.file, source.builder.inputs, source.builder.symbols)

    def importer(self, region: Region) -> Importer:
        return Importer(self, region)

    def input_types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        return self.inputs.types(shapes)

    def symbolic_types(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
        return self.inputs.symbolic_types(shapes)

    def open_inputs(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        return self.inputs.specs(shapes)

    def open_outputs(self) -> tuple[OpenSpec, ...]:
        return tuple(_output(name, type_, self.file) for name, type_ in self.source.builder.outputs.items())


def _output(name: str, type_: TensorType[Attribute], file: str) -> OpenSpec:
    try:
        dtype = numpy_dtype(type_.element_type)
    except VerifyException as error:
        raise FrontendError(f"{file}: output '{name}': {error}") from error
    extents = tuple(OPEN if extent < 0 else extent for extent in type_.get_shape())
    return OpenSpec(name, extents, dtype, (None,) * len(extents))


def open_model(
    model: bytes | str | os.PathLike[str] | Any,
    params: Mapping[str, Any] | None = None,
    custom_ops: CustomOps = NO_CUSTOM_OPS,
) -> Model:
    """Read and check a program; raises FrontendError when it is none, damaged or uses unsupported operators."""
    return Model(load(model, params, custom_ops), custom_ops)


class Importer(importer.Importer):
    """The state of one import."""

    def place(self, name: str, region: Region, reader: Step | None = None) -> tuple[str, int]:
        """An input or weight is `<layer>.<tensor>` for a layer that reads it, of a weight the last part of its name."""
        if (step := reader or self.users(region).get(name)) is None:
            return name, 0
        return self.beside(node_of(step), "constant" if name.startswith("constant") else name.rpartition(".")[2])

    def context(self, step: Step, inputs: Sequence[Tensor | None]) -> Context:
        node = cast(Node, step.source)
        return Context(
            op_type=node.op_type, leaf=node.leaf, inputs=inputs, builder=self.builder, module=self.module, node=node
        )

    def converter(self, step: Step) -> Converter[Context] | None:
        converter = CONVERTERS[node_of(step).op_type]
        return Converter(lambda ctx: _agreeing(ctx, converter.convert(ctx)), unread=converter.unread)

    def operator_names(self, step: Step) -> Sequence[str]:
        return operator_names(node_of(step).op_type)

    def python_call(self, step: Step, context: Context) -> PythonCall:
        """An op's properties by name; of a custom call those of its backend, if they have names."""
        node = context.node
        results = [Stated(context.result_shape(at), context.result_dtype(at)) for at in range(len(node.results))]
        attributes = node.attributes
        if node.op_type.startswith(CUSTOM_CALL):
            config = attributes.get("mhlo.backend_config") or attributes.get("backend_config")
            attributes = cast("dict[str, Any]", config) if isinstance(config, dict) else {}
        return PythonCall(list(range(len(step.inputs))), results, attributes)

    def folded(self, context: Any, convert: Callable[[Any], Result | tuple[Result, ...]]) -> tuple[Result, ...] | None:
        if (sizes := folded_sizes(context)) is not None:
            return (sizes,)
        arrays = [tensor.array for tensor in context.inputs if tensor is not None and tensor.array is not None]
        if any(array.dtype.kind not in "iubO" and array.size > 1 for array in arrays):
            # Weights are no shapes: what is computed of them is FoldConstant's, behind the patterns that ask for it.
            return None
        if context.op_type == "broadcast_in_dim" and arrays and arrays[0].dtype.kind not in "iubO":
            # One number is better than many, wherever it is read.
            return None
        return super().folded(context, convert)

    def finish(self, values: Sequence[SSAValue]) -> ModuleOp:
        module = super().finish(values)
        raise_operators(module)
        return module


def _agreeing(ctx: Context, results: Result | tuple[Result, ...]) -> Result | tuple[Result, ...]:
    """Return a converter's results if they are what the program says."""
    outputs = results if isinstance(results, tuple) else (results,)
    if len(outputs) != len(ctx.node.results) and ctx.op_type != "shape_assertion" and ctx.node.results:
        ctx.fail(f"{len(ctx.node.results)} results, as the program says", str(len(outputs)))
    for type_, result in zip(ctx.node.results, outputs, strict=False):
        _check(ctx, type_, result)
    return results


def _check(ctx: Context, type_: TensorType[Attribute], result: Result) -> None:
    """Complain of a result whose element type or extents are not those that the program says."""
    if isinstance(result, Narrowed):
        return
    if isinstance(result, SSAValue):
        dtype, shape = dtype_of(result), shape_of(result)
    elif isinstance(result, Tensor):
        if ctx.op_type == RENAMING or result.array is None:
            return
        dtype, shape = result.dtype, result.array.shape
    else:
        dtype, shape = (None if result.dtype == np.object_ else result.dtype), result.shape
    try:
        wanted = numpy_dtype(type_.element_type)
    except VerifyException as error:
        ctx.fail("a result of numbers", str(error))
    extents = type_.get_shape()
    pairs = list(zip(cast("Sequence[Size]", shape), extents, strict=False))
    differ = any(isinstance(a, int) and b >= 0 and a != b for a, b in pairs)
    if (dtype is not None and dtype != wanted) or len(shape) != len(extents) or differ:
        ctx.fail(f"a result of {type_}, as the program says", f"{dtype}[{', '.join(map(str, shape))}]")
