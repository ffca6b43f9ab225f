"""A checked model as the importer takes it: names of layers and tensors, and the converters of layers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.element_types import element_type
from ...dialects.sizes import RESERVED, Size, proves, symbol
from ...dialects.sizes.types import tensor_of
from ...runtime.flow import Region, Step
from ...runtime.open_specs import OPEN, OpenSpec
from ...support.errors import FrontendError
from ..importing import importer
from ..importing.converter import Converter
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.limits import excess, expectation
from ..importing.node import node_of
from ..importing.python_calls import PythonCall, Stated
from ..importing.tensor import Tensor, Undecided
from .context import Context, Node
from .convert import row_of
from .kept_states import InputInfo
from .load import Source, load
from .rows import Row

BATCH = "batch"
"""The symbol of the first dimension of every input: they agree on it."""
OF_ANY_LAYER = ("name", "trainable", "dtype", "batch_input_shape", "quantization_config")
"""Entries of the configuration of any layer, which say nothing of what it computes."""
DTYPES = ("float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
"""Dtypes of inputs."""


class Model(importer.Model):
    """A loaded Keras model."""

    prefix = "keras"

    def __init__(self, source: Source):
        self.source = source
        self.file, self.region, self.name = source.file, source.region, source.name
        self.custom_ops = source.custom_ops
        self.states = source.states
        """The state that a call changes for the next one."""

    def importer(self, region: Region) -> Importer:
        return Importer(self, region)

    def input_types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        """Raises Undecided for open dimensions that `shapes` does not fix."""
        specs = self.open_inputs(shapes)
        if unfixed := [spec for spec in specs if OPEN in spec.shape]:
            example = ",".join(str(1 if extent == OPEN else extent) for extent in unfixed[0].shape)
            listed = ", ".join(map(str, unfixed))
            raise Undecided(
                f"{self.file}: expected static shapes, got dynamic dimensions in inputs {listed}; "
                f'give their shapes, such as "{unfixed[0].name}:[{example}]" (input_shapes, --input-shapes)',
                None,
            )
        types: dict[str, TensorType[Attribute]] = {}
        for spec in specs:
            if too_big := excess(spec.shape, spec.dtype.itemsize):
                raise FrontendError(f"input '{spec.name}': expected {expectation()}, got {too_big}")
            types[spec.name] = TensorType(element_type(spec.dtype), spec.shape)
        return types

    def symbolic_types(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
        """Batches share a symbol; other open dimensions have one each, called after input and place."""
        self._check_names(shapes)
        types: dict[str, TensorType[Attribute]] = {}
        for info in self.source.inputs.values():
            shape = shapes.get(info.name)
            names = [BATCH if at == 0 else _identifier(f"{info.name}_{at}") for at in range(len(info.shape))]
            if shape is None:
                shape = [symbol(name) if n is None else n for name, n in zip(names, info.shape, strict=True)]
            _check_shape(info, shape)
            types[info.name] = tensor_of(element_type(_dtype(info)), shape)
        return types

    def open_inputs(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        self._check_names(shapes)
        specs: list[OpenSpec] = []
        for info in self.source.inputs.values():
            if (shape := shapes.get(info.name)) is not None:
                _check_shape(info, shape)
            extents = [OPEN if n is None else n for n in info.shape] if shape is None else list(map(int, shape))
            names = [BATCH if at == 0 and n == OPEN else None for at, n in enumerate(extents)]
            specs.append(OpenSpec(info.name, tuple(extents), _dtype(info), tuple(names)))
        return tuple(specs)

    def open_outputs(self) -> tuple[OpenSpec, ...]:
        by_name = {state.next: state.initial for state in self.states}
        return tuple(
            OpenSpec(name, by_name[name].shape, by_name[name].dtype, (None,) * by_name[name].ndim)
            if name in by_name
            else OpenSpec(name, (), np.dtype(np.float32), (), ranked=False)
            for name in self.region.outputs
        )

    def _check_names(self, shapes: Mapping[str, object]) -> None:
        if unknown := [name for name in shapes if name not in self.source.inputs]:
            listed = ", ".join(unknown)
            raise FrontendError(f"User specified the shape for inputs that weren't found in the graph: {listed}")

    @property
    def channels_first(self) -> bool:
        """Return whether a layer has its channels first."""
        nodes = (cast(Node, step.source) for step in self.region.steps)
        return any(node.config.get("data_format") == "channels_first" for node in nodes)

    @property
    def constants(self) -> set[str]:
        """The names of the weights that layers read."""
        return set(self.region.constants)


def open_model(
    model: bytes | str | os.PathLike[str] | Any, keep: bool = False, custom_ops: CustomOps = NO_CUSTOM_OPS
) -> Model:
    """Read and check a model: a path, the bytes of a file, or a Keras model in memory.

    keep: whether states of layers are inputs and outputs (`Model.states`), to be kept for the next call.
    Raises FrontendError when it is none, damaged, holds code, or uses unsupported layers.
    """
    return Model(load(model, keep, custom_ops))


def _check_shape(info: InputInfo, shape: Sequence[Size]) -> None:
    """Complain of a shape that contradicts the model."""
    agree = len(shape) == len(info.shape) and not any(proves(size, "<", 0) for size in shape)
    if not agree or any(n is not None and proves(size, "!=", n) for n, size in zip(info.shape, shape, strict=True)):
        own = [n if n is not None else BATCH if at == 0 else "?" for at, n in enumerate(info.shape)]
        wanted = f"a shape that agrees with the model's [{', '.join(map(str, own))}]"
        raise FrontendError(f"input '{info.name}': expected {wanted}, got [{', '.join(map(str, shape))}]")


def _dtype(info: InputInfo) -> np.dtype[Any]:
    if info.dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    if info.dtype not in DTYPES:
        raise FrontendError(f"input '{info.name}': expected a dtype among {', '.join(DTYPES)}, got {info.dtype}")
    return np.dtype(info.dtype)


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    return name if name.isidentifier() and name not in RESERVED else f"_{name}"


class Importer(importer.Importer):
    """The state of one import."""

    def place(self, name: str, region: Region, reader: Step | None = None) -> tuple[str, int]:
        """An input or weight has a name of its own, at the first call that reads it."""
        users = self.users(region)
        return name, node_of(users[name]).index if name in users else 0

    def context(self, step: Step, inputs: Sequence[Tensor | None]) -> Context:
        node = cast(Node, step.source)
        return Context(
            op_type=node.op_type, leaf=node.leaf, inputs=inputs, builder=self.builder, module=self.module, node=node
        )

    def operator_names(self, step: Step) -> tuple[str, ...]:
        node = cast(Node, step.source)
        return () if node.is_mask else node.names

    def python_call(self, step: Step, context: Context) -> PythonCall:
        """Tensors of the call, then the layer's variables; the configuration by name, but for what any layer has."""
        node = cast(Node, step.source)
        variables = set(node.weights.values())
        inputs = [number for number in range(len(step.inputs)) if number not in variables]
        config = {name: value for name, value in node.config.items() if name not in OF_ANY_LAYER}
        results = [Stated() for _ in step.outputs]
        return PythonCall([*inputs, *node.weights.values()], results, config)

    def converter(self, step: Step) -> Converter[Context] | None:
        node = cast(Node, step.source)
        row = row_of(node.op_type, node.is_layer)
        return Row(row.masks.computed) if row is not None and node.is_mask and row.masks.computed else row
