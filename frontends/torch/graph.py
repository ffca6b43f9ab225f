"""A checked program as the importer takes it: names of layers and tensors, and the converters of operators."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ...dialects.sizes import Ranges, Size
from ...runtime.flow import Region, Step
from ...runtime.open_specs import OPEN, OpenSpec
from ..importing import importer
from ..importing.converter import Converter, Narrowed, Result
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.node import node_of
from ..importing.python_calls import LibraryCall, PythonCall
from ..importing.tensor import Tensor, dtype_of, shape_of
from .calls import Call, State
from .context import Context
from .convert import CONVERTERS
from .expressions import lone_symbol
from .inputs import Inputs
from .late_numbers import LATE, late_number
from .load import Source, load, operator_names
from .program import RENAMING
from .promotion import cast_to
from .python_calls import python_call_of
from .relay_control import choose_in_language
from .schema import TensorMeta
from .shaping import broadcast
from .tensors import DTYPES
from .tensors import dtype_of as element_of


class Model(importer.Model):
    """A loaded PyTorch program."""

    prefix = "torch"
    language = False
    """True if what only values decide becomes branches and loops of the language; else it is for the interpreter."""

    def __init__(self, source: Source):
        self.source = source
        self.file, self.region, self.custom_ops = source.file, source.region, source.custom_ops
        self.name = "main"
        self.inputs = Inputs(source.file, source.builder.inputs, source.program.ranges, source.builder.dims)
        self.states: Sequence[State] = source.builder.states
        """The state that a call changes for the next one."""

    @property
    def ranges(self) -> Ranges:
        return self.inputs.ranges

    def importer(self, region: Region) -> Importer:
        return Importer(self, region)

    def input_types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        return self.inputs.types(shapes) | {state.name: _type_of(state) for state in self.states}

    def symbolic_types(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
        return self.inputs.symbolic_types(shapes) | {state.name: _type_of(state) for state in self.states}

    def open_inputs(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        return (*self.inputs.specs(shapes), *map(_spec_of, self.states))

    def open_outputs(self) -> tuple[OpenSpec, ...]:
        result: list[OpenSpec] = []
        for name in self.region.outputs[: len(self.region.outputs) - len(self.states)]:
            meta = self.source.builder.outputs[name]
            if meta is None:
                result.append(OpenSpec(name, (), np.dtype(np.int64), ()))
                continue
            extents = tuple(size if isinstance(size, int) else OPEN for size in meta.sizes)
            result.append(OpenSpec(name, extents, element_of(meta.dtype, f"output '{name}'"), (None,) * len(extents)))
        kept = (OpenSpec(s.next, s.initial.shape, s.initial.dtype, (None,) * s.initial.ndim) for s in self.states)
        return (*result, *kept)


def _type_of(state: State) -> TensorType[Attribute]:
    from ...dialects.element_types import tensor_type

    return tensor_type(state.initial)


def _spec_of(state: State) -> OpenSpec:
    return OpenSpec(state.name, state.initial.shape, state.initial.dtype, (None,) * state.initial.ndim)


def open_model(
    model: bytes | str | os.PathLike[str] | Any, keep: bool = False, custom_ops: CustomOps = NO_CUSTOM_OPS
) -> Model:
    """Read and check a program; raises FrontendError when it is none, damaged or uses unsupported operators.

    keep: whether what a call changes is an input and an output (`Model.states`), to be kept for the next one.
    """
    return Model(load(model, keep, custom_ops))


class Importer(importer.Importer):
    """The state of one import."""

    source: Model  # pyright: ignore[reportIncompatibleVariableOverride]

    def place(self, name: str, region: Region, reader: Step | None = None) -> tuple[str, int]:
        """An input or weight is `<layer>.<tensor>` for a layer that reads it, of a weight the last part of its name."""
        if (step := reader or self.users(region).get(name)) is None:
            return name, 0
        return self.beside(node_of(step), name.rpartition(".")[2])

    def context(self, step: Step, inputs: Sequence[Tensor | None]) -> Context:
        node = cast(Call, step.source)
        return Context(
            op_type=node.op_type,
            leaf=node.leaf,
            inputs=inputs,
            builder=self.builder,
            module=self.module,
            call=node,
        )

    def operator_names(self, step: Step) -> tuple[str, ...]:
        return operator_names(node_of(step).op_type)

    def python_call(self, step: Step, context: Context) -> PythonCall:
        return python_call_of(context, self._symbols())

    def library_call(self, step: Step, context: Context, library: str) -> LibraryCall:
        from .fallback import library_call

        return library_call(context, self.python_call(step, context))

    def _symbols(self) -> dict[str, Size]:
        """The sizes that symbols of the exporter are, by the inputs that there are."""
        symbols: dict[str, Size] = {}
        for name, meta in self.source.inputs.metas.items():
            tensor = self.tensors.get(name)
            if tensor is None or tensor.value is None:
                continue
            for size, extent in zip(meta.sizes, shape_of(tensor.value), strict=False):
                if isinstance(size, str) and (symbol := lone_symbol(size)) is not None:
                    symbols.setdefault(symbol, extent)
        return symbols

    def choose(self, step: Step, region: Region) -> bool:
        """A branch or loop that only values decide is one of the language where the model says so."""
        if not self.source.language or (
            step.kind == "If" and self.lookup(step.inputs[0], region, step).array is not None
        ):
            return super().choose(step, region)
        choose_in_language(self, step, region)
        return False

    def converter(self, step: Step) -> Converter[Context] | None:
        if (converter := CONVERTERS.get(node_of(step).op_type)) is None:
            return None
        if node_of(step).op_type in LATE:
            whole = self.source.language
            return Converter(lambda ctx: late_number(ctx, whole) or converter.convert(ctx), unread=converter.unread)
        return Converter(lambda ctx: _agreeing(ctx, converter.convert(ctx)), unread=converter.unread)


def _agreeing(ctx: Context, results: Result | tuple[Result, ...]) -> Result | tuple[Result, ...]:
    """Return a converter's results if they are what the exporter knew; those in place have their target's type."""
    if ctx.op_type == RENAMING:
        return results
    outputs = list(results) if isinstance(results, tuple) else [results]
    if ctx.call.in_place:
        outputs[0] = _contents(ctx, outputs[0])
    for meta, result in zip(ctx.call.metas, outputs, strict=False):
        if meta is not None:
            _check(ctx, meta, result)
    return tuple(outputs) if isinstance(results, tuple) or len(outputs) != 1 else outputs[0]


def _contents(ctx: Context, result: Result) -> Result:
    """New contents of a tensor, in its own shape and element type."""
    dtype, shape = ctx.dtype(0), ctx.shape(0)
    if isinstance(result, np.ndarray):
        return result if result.dtype == np.object_ else np.broadcast_to(result.astype(dtype), shape)
    if not isinstance(result, SSAValue):
        ctx.fail("a tensor of the shape of its target", "one of another kind")
    return broadcast(ctx, cast_to(ctx, result, dtype), shape)


def _check(ctx: Context, meta: TensorMeta, result: Result) -> None:
    """Complain of a result whose element type, rank or extents are not those that the exporter knew."""
    if isinstance(result, Narrowed):
        dtype, shape = dtype_of(result.value), None
    elif isinstance(result, SSAValue):
        dtype, shape = dtype_of(result), shape_of(result)
    elif isinstance(result, Tensor):
        dtype, shape = result.dtype, result.array.shape if result.array is not None else None
    else:
        dtype, shape = (result.dtype if result.dtype != np.object_ else None), result.shape
    wanted = DTYPES.get(meta.dtype)
    if dtype is not None and wanted is not None and dtype != wanted:
        ctx.fail(f"a result of {wanted}, as the program says", str(dtype))
    if shape is None:
        return
    pairs = zip(cast("Sequence[Size]", shape), meta.sizes, strict=False)
    if len(shape) != len(meta.sizes) or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs):
        ctx.fail(f"a result of shape [{', '.join(map(_shown, meta.sizes))}], as the program says", str(list(shape)))


def _shown(size: int | str) -> str:
    return str(size) if isinstance(size, int) else "?"
