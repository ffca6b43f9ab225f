"""A checked model as the importer takes it: names of layers and tensors, and the converters of operators."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from ...dialects.element_types import element_type
from ...dialects.relay.interpret import evaluate_module
from ...dialects.relay.size_ranges import main_of
from ...dialects.sizes import RESERVED, Size, proves, symbol
from ...dialects.sizes.types import tensor_of
from ...runtime.flow import Region, Step
from ...runtime.open_specs import OPEN, OpenSpec
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing import importer
from ..importing.converter import Converter, Result, result_dtype
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.fold import is_fixed
from ..importing.limits import excess, expectation
from ..importing.node import node_of
from ..importing.python_calls import PythonCall
from ..importing.tensor import Tensor, Undecided
from .complex_numbers import COMPLEX
from .context import Context
from .convert import converter_of
from .load import Source, load
from .model import TensorInfo
from .program import RENAMING, Builder, Node, operator_name
from .python_calls import python_call_of
from .symbolic import folded_sizes
from .values import DTYPES, dtype_of


class Model(importer.Model):
    """A loaded TFLite model."""

    prefix = "tflite"

    def __init__(self, source: Source):
        self.source = source
        self.file, self.region = source.model.file, source.region
        self.name = "main"
        self.states = source.builder.states
        """The state that a call changes for the next one."""
        self.custom_ops = source.builder.custom_ops

    def importer(self, region: Region) -> Importer:
        return Importer(self, region)

    def input_types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        self._check_names(shapes)
        return {name: _type(self._info(name), shapes.get(name)) for name in self.region.inputs}

    def symbolic_types(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
        """A symbol for each dimension that the file leaves open, called after tensor and place; others as given."""
        if self.states:
            raise Undecided(f"{self.file}: what a model keeps from call to call has one size", None)
        self._check_names(shapes)
        return {name: _symbolic_type(self._info(name), name, shapes.get(name)) for name in self.region.inputs}

    @property
    def leaves_open(self) -> bool:
        """Return whether the file says of an input's dimension that it is open."""
        return any(any(self._info(name).open) for name in self.region.inputs)

    def _check_names(self, shapes: Mapping[str, object]) -> None:
        for name in self.region.outputs:
            if (info := self.source.builder.infos.get(name)) is not None:
                dtype_of(info)
        if unknown := [name for name in shapes if name not in self.region.inputs]:
            listed = ", ".join(unknown)
            raise FrontendError(f"User specified the shape for inputs that weren't found in the graph: {listed}")

    def open_inputs(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        return tuple(_spec(name, self._info(name), shapes.get(name)) for name in self.region.inputs)

    def open_outputs(self) -> tuple[OpenSpec, ...]:
        alike = {state.next: state.name for state in self.states}
        return tuple(_spec(name, self._info(alike.get(name, name)), None) for name in self.region.outputs)

    @property
    def constants(self) -> set[str]:
        """The names of the tensors that have values in the file."""
        return set(self.region.constants)

    def _info(self, name: str) -> TensorInfo:
        return self.source.builder.infos[name]


def open_model(
    model: bytes | str | os.PathLike[str] | Any,
    signature: str | None = None,
    keep: bool = False,
    custom_ops: CustomOps = NO_CUSTOM_OPS,
) -> Model:
    """Read and check a model; raises FrontendError when it is none, damaged or uses unsupported operators.

    keep: whether what a call changes is an input and an output (`Model.states`), to be kept for the next one.
    """
    return Model(load(model, _evaluated, signature, keep, custom_ops))


def _evaluated(builder: Builder, region: Region) -> list[Array]:
    """Return the results of the operators of a region that is run once, before any call."""
    try:
        module = importer.import_model(Model(Source(builder.model, region, builder)), {})
    except Undecided as error:
        raise FrontendError(str(error)) from error
    if not all(map(is_fixed, main_of(module).block.ops)):
        raise FrontendError(f"{builder.file}: expected initial values that are functions of constants, got others")
    return evaluate_module(module, [])


def _shape(info: TensorInfo, given: Sequence[int] | None) -> tuple[int, ...]:
    """The shape of an input: what the file says, unless another is given, of as many dimensions."""
    if given is None:
        return info.shape
    extents = tuple(int(extent) for extent in given)
    if len(extents) != len(info.shape) or any(extent < 0 for extent in extents):
        raise FrontendError(
            f"input '{info.name}': expected a shape that agrees with the model's {list(info.shape)}, "
            f"got {list(extents)}"
        )
    return extents


def _type(info: TensorInfo, given: Sequence[int] | None) -> TensorType[Attribute]:
    dtype, shape = dtype_of(info), _shape(info, given)
    if too_big := excess(shape, dtype.itemsize):
        raise FrontendError(f"input '{info.name}': expected {expectation()}, got {too_big}")
    return TensorType(element_type(dtype), shape)


def _symbolic_type(info: TensorInfo, name: str, given: Sequence[Size] | None) -> TensorType[Attribute]:
    if given is None:
        places = enumerate(zip(info.shape, info.open, strict=True))
        given = [symbol(_identifier(f"{name}_{k}")) if open_ else extent for k, (extent, open_) in places]
    if len(given) != len(info.shape) or any(proves(size, "<", 0) for size in given):
        wanted = f"a shape that agrees with the model's {list(info.shape)}"
        raise FrontendError(f"input '{info.name}': expected {wanted}, got [{', '.join(map(str, given))}]")
    return tensor_of(element_type(dtype_of(info)), given)


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    return name if name.isidentifier() and name not in RESERVED else f"_{name}"


def _spec(name: str, info: TensorInfo, given: Sequence[int] | None) -> OpenSpec:
    shape = _shape(info, given)
    if given is None:
        shape = tuple(OPEN if open_ else extent for extent, open_ in zip(shape, info.open, strict=True))
    return OpenSpec(name, shape, dtype_of(info), (None,) * len(shape))


class Importer(importer.Importer):
    """The state of one import."""

    def folded(self, context: Any, convert: Callable[[Any], Result | tuple[Result, ...]]) -> tuple[Result, ...] | None:
        sizes = folded_sizes(context)
        return super().folded(context, convert) if sizes is None else (sizes,)

    def place(self, name: str, region: Region, reader: Step | None = None) -> tuple[str, int]:
        """An input or constant has a name of its own, at its first consumer."""
        users = self.users(region)
        layers = cast(Model, self.source).source.builder.layers
        return layers.get(name, name), node_of(users[name]).index if name in users else 0

    def finish(self, values: Sequence[SSAValue]) -> ModuleOp:
        module = super().finish(values)
        if (names := self.main.attributes.get("output_names")) is not None:
            given = [name.data for name in cast("ArrayAttr[StringAttr]", names)]
            sanitised = [StringAttr(re.sub(r"\W", "_", name)) for name in given]
            self.main.attributes["output_tensor_names"] = ArrayAttr(sanitised)
        return module

    def context(self, step: Step, inputs: Sequence[Tensor | None]) -> Context:
        node = cast(Node, step.source)
        return Context(
            op_type=node.op_type,
            leaf=node.leaf,
            inputs=inputs,
            builder=self.builder,
            module=self.module,
            node=node,
        )

    def operator_names(self, step: Step) -> tuple[str, ...]:
        return (operator_name(cast(Node, step.source).operator),)

    def python_call(self, step: Step, context: Context) -> PythonCall:
        return python_call_of(context)

    def converter(self, step: Step) -> Converter[Context] | None:
        node = cast(Node, step.source)
        if (row := converter_of(node)) is None:
            return None

        def convert(ctx: Context) -> Result | tuple[Result, ...]:
            return _agreeing(ctx, row.convert(ctx))

        return replace(row, convert=convert)


def _agreeing(ctx: Context, results: Result | tuple[Result, ...]) -> Result | tuple[Result, ...]:
    """Return a converter's results if the file agrees with them; behind the outputs there may be states."""
    outputs = results if isinstance(results, tuple) else (results,)
    if ctx.op_type == RENAMING:
        return results
    if len(outputs) < len(ctx.node.outputs):
        ctx.fail(f"{len(outputs)} outputs", str(len(ctx.node.outputs)))
    for info, result in zip(ctx.node.outputs, outputs, strict=False):
        own = result_dtype(result)
        parts = info.type == COMPLEX
        if own is not None and own != (np.dtype(np.float32) if parts else DTYPES.get(info.type)):
            ctx.fail(f"an output of {own}", info.type.lower())
    return results
