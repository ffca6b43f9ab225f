"""A loaded model and its format, as the importer and the interpreter know them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...runtime.interpreting.flow import Region, Step
from ...runtime.program.model_facts import ModelMetadata
from ...runtime.values.open_specs import OpenSpec
from ...support.dtypes import Array
from .context import Context
from .converter import Converter, Result
from .custom import NO_CUSTOM_OPS, CustomOps
from .fold import folded
from .inputs import Inputs
from .python_calls import LibraryCall, PythonCall
from .results import Results, Stated
from .state import State
from .tensor import Tensor


def _node(model: Model, node: Any) -> dict[str, Any]:
    return {"node": node}


def _nameless(node: Any) -> Sequence[str]:
    return ()


def _no_row(node: Any) -> Converter[Any] | None:
    return None


def _all_inputs(step: Step, ctx: Any, stated: Sequence[Stated]) -> PythonCall:
    return PythonCall(list(range(len(step.inputs))), stated)


def _nothing_stated(model: Model, step: Step, ctx: Any, tensors: Mapping[str, Tensor]) -> Sequence[Stated]:
    return ()


def _as_it_is(module: ModuleOp) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of models: the callbacks through which the importer reads the nodes behind steps."""

    name: str
    """The ledger's prefix for operators of the format: `onnx` in `onnx.Conv`."""
    context: Callable[..., Context]
    """The class of the contexts of converters."""
    fields: Callable[[Model, Any], Mapping[str, Any]] = _node
    """Callback for the fields of the context that the format adds, for a node."""
    converter: Callable[[Model, Any], Converter[Any] | None]
    """Callback for the converter of a node."""
    named: Callable[[Any], Converter[Any] | None] = _no_row
    """Callback for the row with the names of a node's inputs, if other rows convert special forms of its operator."""
    label: Callable[[Model, str, Any], str] | None = None
    """Callback for the layer of an input or constant, named after a node that reads it. None: it has its own layer."""
    stated: Callable[[Model, Step, Any, Mapping[str, Tensor]], Sequence[Stated]] = _nothing_stated
    """Callback for the results that the model states for a step, given its context and the tensors so far."""
    states_shapes: bool = True
    """True if the stated shapes are binding. False in ONNX and TFLite, whose runtimes compute shapes anew, so that
    models may have stale ones."""
    check_types: Callable[[Any], Callable[[Results], None]] | None = None
    """Callback that checks a node's inputs against the standard of the format, and returns a check of its outputs; both
    raise FrontendError."""
    folded: Callable[[Any, Callable[[Any], Results]], tuple[Result, ...] | None] = folded
    """Callback for the outputs of a node whose inputs are known and small, by its context and its converter's function;
    None if operators compute them."""
    expansion: Callable[[Model, Step, Any, Region], list[Step] | None] | None = None
    """Callback for the steps of the function that a step without a converter calls in a region, by its context; None
    if it calls none."""
    operator_names: Callable[[Any], Sequence[str]] = _nameless
    """Callback for the names that users may have for a node's operator, the most exact first."""
    python_call: Callable[[Step, Any, Sequence[Stated]], PythonCall] = _all_inputs
    """Callback for the call of a Python function instead of a step's operator, with the stated results."""
    library_call: Callable[[Step, Any, str, PythonCall], LibraryCall | tuple[Array, ...]] | None = None
    """Callback for a library's call for a step's operator, or its results; raises FrontendError if it has none."""
    finish: Callable[[ModuleOp], None] = _as_it_is
    """Callback that changes an imported module in place."""


@dataclass(eq=False, kw_only=True)
class Model:
    """A loaded and checked model, ready for import or interpretation."""

    format: Format
    source: Any
    """The format's own representation of the model, for its functions."""
    file: str
    """The name of the file, without folders, as locations have it."""
    name: str = "main"
    """The name of the graph."""
    region: Region
    """The steps of the model."""
    inputs: Inputs
    outputs: Sequence[OpenSpec] = ()
    """The outputs, as far as the model states them."""
    states: Sequence[State] = ()
    """The state that a call changes for the next one: each is an input and an output."""
    homes: Mapping[str, tuple[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    """Input or constant -> its layer, and the number of its node, if these are not its name and 0."""
    metadata: ModelMetadata = field(default_factory=ModelMetadata)
    """The metadata in the file."""
    custom_ops: CustomOps = NO_CUSTOM_OPS
    """The operators that Python functions compute."""
    control: Callable[[Any, Step, Region], None] | None = None
    """Callback of an importer that turns control flow that values decide into branches and loops of the language. None:
    the interpreter runs it."""
