"""Opening models: as relay modules, or as programs for the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp

from whence.compiler.formats import has_signatures, is_model, is_module, read_model
from whence.dialects.relay.call_tir import hold_kernels
from whence.passes.relay.match_casts import resolve_casts
from whence.passes.relay.packed_calls import outline_packed_calls
from whence.passes.transform.passes import HoldsModule
from whence.reading.input_shapes import GivenShapes, InputShapes, given_shapes
from whence.reading.models import Source, model_path
from whence.reading.textio import read_module
from whence.runtime.program.model_facts import ModelMetadata
from whence.runtime.values.open_specs import OPEN
from whence.support.doors import door
from whence.support.errors import FrontendError, PipelineError, expectation
from whence.support.names import shortened

if TYPE_CHECKING:
    from whence.executables.choice import Tier
    from whence.frontends.importing.custom import CustomOp, Fallback
    from whence.frontends.importing.model import Model
    from whence.frontends.importing.state import State


@door()
def load(
    source: Source,
    shapes: InputShapes | None = None,
    signature: str | None = None,
) -> ModuleOp:
    """Return the relay module of a model, in which states have their initial values.

    source: an ONNX, TFLite, Keras or PyTorch (.pt2) file or model (or its bytes, or a file open for reading them), a
    program of JAX or a text of StableHLO, a frozen graph (or its bytes)
    or the folder of a saved model of TensorFlow, an .mlir or .relay file with its .params beside it, a module (copied),
    or the name of a network that the onnx package ships (`light_resnet50`).
    shapes: shapes of inputs that the model leaves open: numbers or named sizes.
    signature: the key of a signature of a TFLite or saved model, which names inputs and outputs.

    Raises FrontendError if the source is not a readable model or the shapes do not fit it, PipelineError for malformed
    shapes.
    """
    requested = given_shapes(shapes) if shapes is not None else GivenShapes({}, {})
    path = _path(source, signature)
    if isinstance(path, ModuleOp):
        return _shaped(path.clone(), requested)
    if is_module(path):
        return _shaped(read_module(path), requested)
    return import_at(read_model(path, signature), shapes)


def import_at(model: Model, shapes: InputShapes | None) -> ModuleOp:
    """Import a model for shapes of its inputs, with sizes for open extents.

    Raises FrontendError for shapes that do not fit the model, and where values decide control flow or shapes.
    """
    from whence.frontends.importing.tensor import Undecided
    from whence.frontends.importing.whole_models import import_model, import_symbolic

    requested = requested_of(model, shapes)
    if (numbers := requested.numbers) is None:
        return import_symbolic(model, requested.shapes, requested.ranges)
    try:
        return import_model(model, numbers)
    except Undecided as undecided:
        if all(OPEN not in spec.shape and spec.ranked for spec in model.inputs.after(numbers)):
            raise
        try:
            return import_symbolic(model, requested.shapes, requested.ranges)
        except Undecided:
            # There the shapes are missing.
            raise undecided from None


def requested_of(model: Model, shapes: InputShapes | None) -> GivenShapes:
    """The shapes that a user wants, with the model's own names of sizes."""
    return given_shapes(shapes).named(model.inputs.after({})) if shapes is not None else GivenShapes({}, {})


_LONGEST = 60
"""The greatest number of letters of a bad source that an error shows."""


@dataclass
class Opened:
    """A model as far as it can be imported before a call."""

    module: ModuleOp | None
    """None if there is no module for all sizes, or if the caller wants none."""
    reopen: Callable[[], Model] | None = None
    """Callback that reads the model once more. None: the source is a relay module."""
    model: Model | None = None
    """The model of a file, where a call decides sizes or the model keeps something."""
    again: Callable[[], ModuleOp] | None = None
    """Callback that imports a module of known sizes once more, for the values of its weights."""
    undecided: str = ""
    """The sizes or steps that only a call decides, where there is no module."""
    aliases: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    """Other name of an input, which a call may use -> its name."""
    fallback: Fallback | None = None
    """The library that computes operators without a row, and the layers that it computes."""
    metadata: ModelMetadata = field(default_factory=ModelMetadata)
    """The metadata that the file states."""


def open_model(
    source: Any,
    shapes: InputShapes | None,
    tier: Tier,
    signature: str | None,
    custom_ops: Mapping[str, Callable[..., Any] | CustomOp] | None = None,
    fallback: str | None = None,
) -> Opened:
    """Import a model as the tier allows; arguments and errors are those of `whence.compile`."""
    path = _path(source, signature)
    if isinstance(path, ModuleOp) or is_module(path):
        for option, value in ("custom_ops", custom_ops), ("fallback", fallback):
            if value is not None:
                raise PipelineError(f"{option}: expected the file of a framework's model, got a relay module")
        module = load(path, shapes)
        hold_kernels(module)
        outline_packed_calls(module)
        resolve_casts(module)
        return Opened(module)
    from whence.frontends.importing.custom import CustomOps, Fallback
    from whence.frontends.importing.tensor import Undecided
    from whence.frontends.importing.whole_models import import_model, import_symbolic

    library = Fallback(fallback) if fallback is not None else None
    functions = None if custom_ops is None and library is None else CustomOps(custom_ops, library)

    def read() -> Model:
        return read_model(path, signature, keep=True, custom_ops=functions)

    written = _written(path)
    model = read()

    def opened(module: ModuleOp | None, undecided: str = "") -> Opened:
        return Opened(
            module,
            read,
            model,
            undecided=undecided,
            aliases=model.inputs.aliases,
            fallback=library,
            metadata=model.metadata,
        )

    requested = requested_of(model, shapes)
    numbers, leaves_open = requested.numbers, not requested.shapes and model.inputs.leaves_open
    if leaves_open and tier != "static":
        # The file has numbers for open dimensions, too, for where there is no program for all.
        try:
            return opened(import_symbolic(model, {}, requested.ranges))
        except Undecided as undecided:
            if tier == "symbolic":
                raise refused(undecided) from undecided
    if numbers is not None:

        def again() -> ModuleOp:
            if _written(path) != written:
                raise FrontendError(f"{path}: expected the weights that were compiled, got another file")
            return import_model(read(), numbers)

        try:
            module, kept = import_model(model, numbers), model if model.states else None
            return Opened(
                module, read, kept, again, aliases=model.inputs.aliases, fallback=library, metadata=model.metadata
            )
        except Undecided:
            pass
    if tier == "static":
        return opened(None)
    try:
        return opened(import_symbolic(model, requested.shapes, requested.ranges))
    except Undecided as undecided:
        if tier == "symbolic":
            raise refused(undecided) from undecided
        return opened(None, str(undecided))


def refused(error: Exception) -> FrontendError:
    """Return the error for a request of one program for all sizes of a model that has none."""
    return FrontendError(f'tier "symbolic": expected a model of which one program is for all sizes, got: {error}')


def states_of(model: Model | None) -> tuple[State, ...]:
    """Return the states that a model keeps from call to call."""
    return () if model is None else tuple(model.states)


def model_source(source: Any) -> Any:
    """Return the file, the bytes, the module or the model in memory that is meant; raises PipelineError for none."""
    if isinstance(source, str | PathLike):
        source = model_path(fspath(source))
    elif isinstance(source, bytearray | memoryview):
        source = bytes(cast(bytearray, source))
    elif callable(read := getattr(source, "read", None)):
        source = read()
        if not isinstance(source, bytes):
            raise PipelineError(
                expectation("source", "a file opened for bytes", f"one that gives {type(source).__name__}")
            )
    if not isinstance(source, ModuleOp | HoldsModule) and not is_model(source):
        wanted = "a model: its file or bytes, a module, or what a framework has of it in memory"
        raise PipelineError(expectation("source", wanted, shortened(repr(source), _LONGEST)))
    return source.module if isinstance(source, HoldsModule) else source


def _path(source: Any, signature: str | None) -> Any:
    """Return the source, as `model_source`; raises PipelineError for a signature where there are none."""
    source = model_source(source)
    if signature is not None and not has_signatures(source):
        wanted = "a TFLite or saved model, which has signatures"
        raise PipelineError(f"signature: expected {wanted}, got {signature!r} for another")
    return source


def _shaped(module: ModuleOp, requested: GivenShapes) -> ModuleOp:
    if requested.shapes or requested.ranges:
        from whence.compiler.open_modules import give_shapes

        give_shapes(module, requested)
    return module


def _written(source: object) -> tuple[int, int] | None:
    """Return the modification time and size of a file; None for anything else."""
    status = source.stat() if isinstance(source, Path) and source.exists() else None
    return None if status is None else (status.st_mtime_ns, status.st_size)
