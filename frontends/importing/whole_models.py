"""Whole models -> modules, for static shapes or with sizes that a call decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute

from ...dialects.relay.size_ranges import main_of
from ...dialects.sizes import Ranges, Size, known_ranges
from ...provenance.diagnostics import message
from ...runtime.interpreting.flow import Argument
from ...support.errors import FrontendError
from .importer import Importer
from .model import Model
from .names import strings
from .narrowed_sizes import Taken
from .tensor import Undecided


def import_model(source: Model, shapes: Mapping[str, Sequence[int]]) -> ModuleOp:
    """Return the relay module of a loaded model; `shapes` are those of inputs that the model leaves open.

    Raises Undecided when a step depends on values.
    """
    return _imported(source, source.inputs.types(shapes))


def import_symbolic(source: Model, shapes: Mapping[str, Sequence[Size]], ranges: Ranges) -> ModuleOp:
    """Return the relay module of a loaded model with symbolic sizes for open extents; `ranges` are those of symbols.

    `@main` keeps the ranges in its attribute `sizes`. If the model is valid only for some values of a symbol, because
    its table of positions ends, for example, the range shrinks; if two symbols have to be equal, one remains. Raises
    Undecided when not all sizes follow from the inputs', or operators do not accept them; FrontendError for `shapes`
    that contradict the model.
    """
    taken = Taken(source.inputs.symbolic_types(shapes), {**source.inputs.ranges, **ranges})
    while True:
        try:
            with known_ranges(taken.ranges):
                module = _imported(source, taken.types)
        except Undecided as undecided:
            if (fewer := taken.narrowed(undecided)) is None:
                raise
            taken = fewer
        except FrontendError as error:
            # The model may still be valid for the sizes of some calls.
            raise Undecided(str(error), None) from error
        else:
            taken.note(main_of(module))
            return module


def _imported(source: Model, types: Mapping[str, TensorType[Attribute]]) -> ModuleOp:
    importer = Importer(source, source.region)
    for name, type_ in types.items():
        importer.tensors[name] = importer.argument(name, type_, Argument(name))
    importer.main.attributes["input_names"] = strings(types)
    importer.convert_steps(source.region)
    outputs = source.region.outputs
    tensors = [importer.lookup(name, source.region, None) for name in outputs]
    for tensor in tensors:
        if tensor.narrowed is not None or not tensor.plain:
            raise Undecided(message("output", "a tensor whose shape is known at import", tensor.name), tensor)
    importer.main.attributes["output_names"] = strings(outputs)
    values = [tensor.materialise(importer.builder, importer.module) for tensor in tensors]
    by_name = dict(zip(outputs, values, strict=True))
    for state in source.states:
        before, after = types[state.name], by_name[state.next].type
        if before != after:
            text = f"{source.file}: state '{state.name}': expected a value of type {before} after a call, got {after}"
            raise Undecided(text, None)
    return importer.finish(values)
