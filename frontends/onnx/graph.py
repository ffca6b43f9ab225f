"""A checked model as the importer takes it: names of layers and tensors, nodes, and functions in their place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
from onnx import ModelProto, TypeProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.sizes import Size
from ...provenance.diagnostics import message
from ...runtime.flow import Region, Step
from ...runtime.open_specs import OpenSpec
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing import importer
from ..importing.converter import Converter, Result
from ..importing.custom import NO_CUSTOM_OPS, CustomOp, CustomOps
from ..importing.python_calls import LibraryCall, PythonCall
from ..importing.tensor import Tensor
from ..importing.unsupported import Call, refusal, source_line
from .context import Context
from .convert import converter_of, operator_names, spelled
from .element_types import check_inputs, check_outputs
from .expand import body_of, expanded
from .inputs import input_types, open_inputs, open_outputs, symbolic_types
from .load import Source, load
from .model_metadata import metadata_of
from .program import canonical, node_of
from .python_calls import python_call_of, type_of
from .symbolic import folded_sizes


class Model(importer.Model):
    """A loaded ONNX model."""

    prefix = "onnx"

    def __init__(self, source: Source):
        self.source = source
        self.file, self.name, self.region = source.file, source.model.graph.name, source.region
        self.custom_ops = source.builder.custom_ops
        self.metadata = metadata_of(source.model)

    def importer(self, region: Region) -> Importer:
        return Importer(self, region)

    def input_types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        return input_types(self.source, shapes)

    def symbolic_types(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
        return symbolic_types(self.source, shapes)

    def open_inputs(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        return open_inputs(self.source, shapes)

    def open_outputs(self) -> tuple[OpenSpec, ...]:
        return open_outputs(self.source)


def open_model(model: ModelProto | bytes | str | os.PathLike[str], custom_ops: CustomOps = NO_CUSTOM_OPS) -> Model:
    """Read and check a model; raises FrontendError when it is not one, broken or uses unsupported operators."""
    return Model(load(model, custom_ops))


MOST_SPLICED = 1 << 16
"""The nodes that the functions of a model may come to, each counted wherever it is called."""


class Importer(importer.Importer):
    """The state of one import."""

    def __init__(self, model: Model, region: Region):
        super().__init__(model, region)
        self.onnx = model.source
        self._spliced = 0
        """The nodes of functions that were put in the place of their calls so far."""

    def place(self, name: str, region: Region, reader: Step | None = None) -> tuple[str, int]:
        """An input or initializer is `<layer>.<tensor>` for a layer that reads it."""
        if (step := reader or self.users(region).get(name)) is None:
            return name, 0
        return self.beside(node_of(step), name)

    def context(self, step: Step, inputs: Sequence[Tensor | None]) -> Context:
        node = node_of(step)
        return Context(
            op_type=node.op_type,
            leaf=node.leaf,
            inputs=inputs,
            builder=self.builder,
            module=self.module,
            node=node.proto,
            opset=node.opset,
            folder=self.onnx.builder.folder,
        )

    def converter(self, step: Step) -> Converter[Context] | None:
        proto = node_of(step).proto
        return converter_of(canonical(proto.domain), proto.op_type)

    def converted_by(self, step: Step, context: Any, custom: CustomOp | None) -> Result | tuple[Result, ...]:
        if custom is not None:
            return super().converted_by(step, context, custom)
        types = check_inputs(context)
        results = super().converted_by(step, context, custom)
        check_outputs(context, results, types)
        return results

    def operator_names(self, step: Step) -> tuple[str, ...]:
        proto = node_of(step).proto
        return operator_names(canonical(proto.domain), proto.op_type)

    def python_call(self, step: Step, context: Context) -> PythonCall:
        return python_call_of(self.onnx, step, context)

    def library_call(self, step: Step, context: Any, library: str) -> LibraryCall | tuple[Array, ...]:
        from .fallback import library_call

        return library_call(step, context, library, self.python_call(step, context))

    def folded(self, context: Any, convert: Callable[[Any], Result | tuple[Result, ...]]) -> tuple[Result, ...] | None:
        sizes = folded_sizes(context)
        return super().folded(context, convert) if sizes is None else (sizes,)

    def splice(self, region: Region, at: int) -> bool:
        """Put the body of the function that a step calls in its place, if it calls one."""
        step = region.steps[at]
        node = node_of(step)
        names = self.operator_names(step)
        converter = converter_of(canonical(node.proto.domain), node.proto.op_type)
        if step.kind or converter is not None or self.source.custom_ops.has(*names):
            return False
        check_inputs(self.context(step, [self.lookup(name, region, step) if name else None for name in step.inputs]))
        function = body_of(
            node, lambda: [self.type_of(name, region, step) for name in step.inputs], self.onnx.functions
        )
        if function is None and self.source.custom_ops.fallback is not None:
            return False
        if function is None:
            name = spelled(canonical(node.proto.domain), node.op_type)
            call = Call(name, f"{node.layer}, for these types", source_line(node.leaf))
            raise refusal(self.source.file, "ONNX", [call], ())
        opsets = {**node.opsets, **{canonical(entry.domain): entry.version for entry in function.opset_import}}
        self._spliced += len(function.node)
        if self._spliced > MOST_SPLICED:
            # Each function that calls the one before twice doubles what a few lines stand for.
            allowed = f"functions that come to at most {MOST_SPLICED} nodes"
            raise FrontendError(message(node.op_type, allowed, "a call that makes it more", node.leaf))
        nodes = expanded(node.proto, function, f"{node.layer}/")
        region.splice(at, self.onnx.builder.steps(nodes, opsets, node, region))
        self.forget(region)
        return True

    def type_of(self, name: str, region: Region, reader: Step) -> TypeProto:
        """The ONNX type of a value; an empty one for an input that is left out."""
        if not name:
            return TypeProto()
        tensor = self.lookup(name, region, reader)
        if tensor.items is not None:
            inner = type_of(tensor.items[0]) if tensor.items else TypeProto()
            return onnx.helper.make_sequence_type_proto(inner)
        return type_of(tensor)
