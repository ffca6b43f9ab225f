"""The public API: `load` a model, or `compile` it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from whence.building import Building, Progress
from whence.dialects.relay.binding import LetOp
from whence.dialects.relay.tuples import TupleOp
from whence.dialects.sizes import Size
from whence.dynamic import DynamicExecutable
from whence.executable import Executable
from whence.input_shapes import GivenShapes, InputShapes, given_shapes, numbers_in
from whence.lowering.external.registry import split_target
from whence.lowering.llvm_to_native.target import Target
from whence.models import model_path
from whence.passes.pipelines import preparation, run_passes
from whence.passes.relay.convert_layout import ConvertLayoutPass
from whence.passes.transform.passes import HoldsModule
from whence.planning.artifact import Artifact
from whence.planning.usmp import PoolInfo
from whence.provenance.ledger import Ledger, recording
from whence.sized import SizedExecutable, Specialize, Tier, check_tier, is_sized, refused
from whence.support.context import PassContext
from whence.support.doors import door
from whence.support.errors import FrontendWarning, PipelineError, ScheduleError
from whence.textio import MODULES, read_module

if TYPE_CHECKING:
    from onnx import ModelProto

    from whence.dynamic import DynamicExecutable
    from whence.frontends.importing.importer import Model
    from whence.frontends.tflite.variables import State


@door()
def load(
    source: str | PathLike[str] | bytes | ModuleOp | HoldsModule | ModelProto,
    shapes: InputShapes | None = None,
    signature: str | None = None,
) -> ModuleOp:
    """The relay module of a model. What a model keeps from call to call has its initial value in it.

    source: an ONNX or TFLite file or model (or the bytes of one), an .mlir or .relay file with its .params beside it, a
    module (copied), or the name of a network that the onnx package ships (`light_resnet50`).
    shapes: of inputs whose shape the model leaves open, numbers or sizes that have names.
    signature: the key of the signature of a TFLite model that is wanted, whose names inputs and outputs have then.

    Raises FrontendError when the source is no readable model or the shapes do not fit it, PipelineError for shapes that
    are none.
    """
    given = given_shapes(shapes) if shapes is not None else GivenShapes({}, {})
    if isinstance(source, str | PathLike):
        source = model_path(fspath(source))
    _check_signature(source, signature)
    if isinstance(source, HoldsModule):
        source = source.module
    if isinstance(source, ModuleOp) or (isinstance(source, Path) and source.suffix in MODULES):
        module = source.clone() if isinstance(source, ModuleOp) else read_module(source)
        if given.shapes or given.ranges:
            from whence.open_modules import give_shapes

            give_shapes(module, given)
        return module
    if (numbers := given.numbers) is None:
        module, _ = _open(source, shapes, "symbolic", signature)
        assert module is not None
        return module
    if _is_tflite(source):
        from whence.frontends.tflite import from_tflite

        return from_tflite(source, shapes=numbers, signature=signature)
    from whence.frontends.onnx import from_onnx

    return from_onnx(source, shapes=numbers)


@door()
def compile(
    source: str | PathLike[str] | bytes | ModuleOp | HoldsModule | ModelProto,
    *,
    target: str | Target = "native",
    opt_level: int = 3,
    threads: int | None = None,
    input_shapes: InputShapes | None = None,
    shapes: InputShapes | None = None,
    audit: bool = False,
    progress: Progress | None = None,
    workspace_memory_pools: Sequence[PoolInfo] = (),
    desired_layouts: str | Mapping[str, Sequence[str]] = "",
    tier: Tier = "auto",
    specialize: Specialize | None = None,
    signature: str | None = None,
) -> Executable:
    """Compile a model.

    source: an ONNX or TFLite file or model, an .mlir or .relay file, or a relay module (left as it is).
    target: "native", or "llvm -mcpu=.. -mattr=..". What is compiled for another machine can be looked at, not run.
    External compilers before it take what they can, the first one first: "onnxruntime, llvm"; see docs/byoc.md.
    opt_level: 0-4, with TVM's level for each pass.
    threads: how many the model runs on; WHENCE_NUM_THREADS or all CPUs that the process may use when None.
    input_shapes: of inputs whose shape the model leaves open: name -> shape, or text such as `data:[1,3,224,224]`;
    `shapes` is another name of it. Extents may be sizes with bounds, `ids:[batch,seq<=512]`. For what stays open there
    is one program for all sizes (SizedExecutable); where that cannot be, what a call brings is specialised for when it
    first does (DynamicExecutable).
    tier: "symbolic" for the one program only, "static" for a program for each size, "auto" for the one first and
    others, made beside the calls, for sizes that are met often.
    specialize: sizes to compile programs for now, `{"batch": 1, "seq": [128, 256]}`.
    audit: raise LocationError when a pass loses a layer.
    progress: called with a stage's name, steps done and steps in all.
    workspace_memory_pools: where intermediate tensors and kernels' workspaces may lie, first choice first; planned by
    the algorithm that the option `tir.usmp.algorithm` of the current PassContext names. Without pools and without the
    option `tir.usmp.enable`, in one block by whatever does best.
    desired_layouts: operator -> its data layout and, if any, kernel layout, which it is brought to first, or text such
    as `nn.conv2d:NHWC,HWIO;nn.max_pool2d:NHWC`.
    signature: the key of the signature of a TFLite model that is wanted, whose names inputs and outputs have then.
    Raises FrontendError for a bad model, PipelineError for bad options and for pools that are too small.
    """
    if opt_level not in range(5):
        raise PipelineError(f"opt_level: expected 0-4, got {opt_level!r}")
    if input_shapes is not None and shapes is not None:
        raise PipelineError("compile: expected input_shapes or shapes, got both")
    check_tier(tier)
    external, rest = split_target(target) if isinstance(target, str) else ((), target)
    machine = rest if isinstance(rest, Target) else Target.parse(rest)
    given = shapes if input_shapes is None else input_shapes
    layouts = desired_layouts
    if not isinstance(layouts, str):
        layouts = ConvertLayoutPass.of(layouts).desired_layouts

    made = Building(machine, opt_level, audit, progress, workspace_memory_pools, external, layouts)
    ledger = Ledger()
    with PassContext.current().at_level(opt_level):
        with recording(ledger, "import"):
            found, model = _open(source, given, tier, signature)
        if found is not None:
            from whence.virtual_machine import VirtualExecutable, needs_machine

            if any(isinstance(op, LetOp | TupleOp) for op in found.walk()):
                run_passes(found, preparation(), ledger=ledger, audit=audit)
            original = found
            if needs_machine(found) and model is None:
                opened = _opened(found, tier)
                if opened is None:
                    return VirtualExecutable(_bare(found), made, threads, tier=tier)
                found = opened
            if not is_sized(found):
                states = _states(model)
                if not states:
                    return Executable(made(found, ledger), threads)
                from whence.stateful import StatefulExecutable

                kept = StatefulExecutable(made(found, ledger), threads)
                kept.keep(states)
                return kept
            of_relay = model is None
            if of_relay and found is original:
                original = found.clone()
            # The module has the weights: those of the model make room for what becomes of them.
            model = None
            try:
                return SizedExecutable(made(found, ledger), made, threads, tier=tier, specialize=specialize)
            except (VerifyException, ScheduleError) as error:
                if tier == "symbolic":
                    raise refused(error) from error
                if of_relay:
                    return VirtualExecutable(_bare(original), made, threads, tier=tier)
                assert not isinstance(source, ModuleOp | HoldsModule)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FrontendWarning)  # once is enough
                    model = _model(source, signature)
        assert model is not None
        return _dynamic(model, given, made, threads, tier)


def _opened(module: ModuleOp, tier: Tier) -> ModuleOp | None:
    """A relay module that leaves sizes open with names for them; None where a virtual machine has to run it."""
    from whence.open_modules import for_all_sizes

    try:
        found = for_all_sizes(module)
        return None if tier == "static" and is_sized(found) else found
    except VerifyException as error:
        if tier == "symbolic":
            raise refused(error) from error
        return None


def _bare(module: ModuleOp) -> ModuleOp:
    """A module for the virtual machine, which knows no names of sizes."""
    from whence.open_modules import without_names

    try:
        return without_names(module)
    except VerifyException as error:
        raise refused(error) from error


def _dynamic(
    model: Model,
    given: InputShapes | None,
    made: Callable[[ModuleOp, Ledger], Artifact],
    threads: int | None,
    tier: Tier,
) -> DynamicExecutable:
    shapes: Mapping[str, tuple[Size, ...]] = given_shapes(given).shapes if given is not None else {}
    fixed = {name: numbers for name, shape in shapes.items() if (numbers := numbers_in(shape)) is not None}
    if states := _states(model):
        from whence.stateful import StatefulDynamicExecutable

        kept = StatefulDynamicExecutable(model, fixed, made, threads, tier=tier)
        kept.keep(states)
        return kept
    return DynamicExecutable(model, fixed, made, threads, tier=tier)


def _states(model: Model | None) -> tuple[State, ...]:
    """What a model keeps from call to call."""
    return tuple(getattr(model, "states", ()))


def _check_signature(source: object, signature: str | None) -> None:
    if signature is not None and not _is_tflite(source):
        raise PipelineError(f"signature: expected a TFLite model, which has signatures, got {signature!r} for another")


def _open(
    source: str | PathLike[str] | bytes | ModuleOp | HoldsModule | ModelProto,
    shapes: InputShapes | None,
    tier: Tier,
    signature: str | None,
) -> tuple[ModuleOp | None, Model | None]:
    """The relay module of a model, and the model itself when it leaves open, or keeps, what only a call decides."""
    path = model_path(fspath(source)) if isinstance(source, str | PathLike) else source
    _check_signature(path, signature)
    if isinstance(path, HoldsModule):
        path = path.module
    if isinstance(path, ModuleOp) or (isinstance(path, Path) and path.suffix in MODULES):
        return load(path, shapes), None
    from whence.frontends.importing.importer import import_model, import_symbolic
    from whence.frontends.importing.tensor import Undecided

    model = _model(path, signature)
    given = given_shapes(shapes).named(model.open_inputs({})) if shapes is not None else GivenShapes({}, {})
    numbers, leaves_open = given.numbers, not given.shapes and bool(getattr(model, "leaves_open", False))
    if leaves_open and tier != "static":
        # The file has numbers for open dimensions, too, for where there is no program for all.
        try:
            return import_symbolic(model, {}, given.ranges), model
        except Undecided as undecided:
            if tier == "symbolic":
                raise refused(undecided) from undecided
    if numbers is not None:
        try:
            return import_model(model, numbers), model if _states(model) else None
        except Undecided:
            pass
    if tier == "static":
        return None, model
    try:
        return import_symbolic(model, given.shapes, given.ranges), model
    except Undecided as undecided:
        if tier == "symbolic":
            raise refused(undecided) from undecided
        return None, model


def _model(source: str | PathLike[str] | bytes | ModelProto, signature: str | None) -> Model:
    """A TFLite or ONNX model, read and checked."""
    if isinstance(source, str | PathLike):
        source = model_path(fspath(source))
    if _is_tflite(source):
        from whence.frontends.tflite.graph import open_model as open_tflite

        return open_tflite(source, signature, keep=True)
    from whence.frontends.onnx.graph import open_model

    return open_model(source)


def _is_tflite(source: object) -> bool:
    """Whether a source is a TFLite model: a file of that name, bytes that say so, or a `tflite.Model`."""
    if isinstance(source, Path):
        return source.suffix == ".tflite"
    if isinstance(source, bytes):
        return source[4:8] == b"TFL3"
    return type(source).__module__.partition(".")[0] == "tflite"
