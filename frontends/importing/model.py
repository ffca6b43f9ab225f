"""A model that was read, and the format that it is of: what the importer and the interpreter know of either."""

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


def _all_inputs(step: Step, ctx: Any, stated: Sequence[Stated]) -> PythonCall:
    return PythonCall(list(range(len(step.inputs))), stated)


def _nothing_stated(model: Model, step: Step, ctx: Any, tensors: Mapping[str, Tensor]) -> Sequence[Stated]:
    return ()


def _as_it_is(module: ModuleOp) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of models: the functions by which the importer reads what steps come from."""

    name: str
    """The ledger's prefix for operators of the format: `onnx` in `onnx.Conv`."""
    context: Callable[..., Context]
    """The class of the contexts of converters."""
    fields: Callable[[Model, Any], Mapping[str, Any]] = _node
    """Callback for the fields of the context that the format adds, for a node."""
    converter: Callable[[Model, Any], Converter[Any] | None]
    """Callback for the converter of a node."""
    label: Callable[[Model, str, Any], str] | None = None
    """Callback for the layer of an input or constant beside a node that reads it. None: it has one of its own."""
    stated: Callable[[Model, Step, Any, Mapping[str, Tensor]], Sequence[Stated]] = _nothing_stated
    """Callback for what the model states of a step's results, given its context and the tensors so far."""
    states_shapes: bool = True
    """True if shapes must be as stated. False: they are notes of who wrote the model, as in ONNX and TFLite, whose
    runtimes compute them anew: models have stale ones."""
    check_types: Callable[[Any], Callable[[Results], None]] | None = None
    """Callback that holds a node's inputs against the standard of the format, and returns one that does so with its
    outputs; both raise FrontendError."""
    folded: Callable[[Any, Callable[[Any], Results]], tuple[Result, ...] | None] = folded
    """Callback for the outputs of a node whose inputs are known and few, by its context and its converter's function;
    None where operators compute them."""
    expansion: Callable[[Model, Step, Any, Region], list[Step] | None] | None = None
    """Callback for the steps of the function that a step without a converter calls in a region, by its context; None
    where it calls none."""
    operator_names: Callable[[Any], Sequence[str]] = _nameless
    """Callback for the names that the user may call a node's operator by, the most exact first."""
    python_call: Callable[[Step, Any, Sequence[Stated]], PythonCall] = _all_inputs
    """Callback for the operator of a step as a Python function takes it, with the results that are stated."""
    library_call: Callable[[Step, Any, str, PythonCall], LibraryCall | tuple[Array, ...]] | None = None
    """Callback for the operator of a step as a library computes it, or its results; raises FrontendError if it cannot.
    """
    finish: Callable[[ModuleOp], None] = _as_it_is
    """Callback for a module that was imported, to be changed in place."""


@dataclass(eq=False, kw_only=True)
class Model:
    """A loaded and checked model, as what imports it and runs it needs to know it."""

    format: Format
    source: Any
    """What the format read, for its own functions."""
    file: str
    """The name of the file, without folders; what locations say."""
    name: str = "main"
    """Of the graph."""
    region: Region
    """Its steps."""
    inputs: Inputs
    outputs: Sequence[OpenSpec] = ()
    """The outputs, as far as the model says."""
    states: Sequence[State] = ()
    """The state that a call changes for the next one: each is an input and an output."""
    homes: Mapping[str, tuple[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    """Input or constant -> its layer, and the number of its node, where these are not its name and 0."""
    metadata: ModelMetadata = field(default_factory=ModelMetadata)
    """The metadata that the file states."""
    custom_ops: CustomOps = NO_CUSTOM_OPS
    """The operators that Python functions compute."""
    control: Callable[[Any, Step, Region], None] | None = None
    """Callback of an importer, by which what only values decide becomes branches and loops of the language. None: it is
    for the interpreter."""
