"""`whence.compile`: a model becomes something that runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from xdsl.passes import ModulePass

from whence.executables.choice import Specialize, Tier, check_tier
from whence.executables.executable import Executable
from whence.lowering.external.registry import split_target
from whence.lowering.kernel.tuned import TUNED, Tuned
from whence.lowering.llvm_to_native.target import Target
from whence.passes.pipelines import precision_of
from whence.provenance.ledger import Ledger, recording
from whence.reading.input_shapes import InputShapes
from whence.reading.models import Source, model_path
from whence.reading.pipeline_text import parse_passes
from whence.runtime.program.random_state import check_seed
from whence.support.context import PassContext
from whence.support.doors import door
from whence.support.errors import PipelineError
from whence.support.garbage import fewer_collections

if TYPE_CHECKING:
    from whence.frontends.importing.custom import CustomOp
    from whence.planning.kernels import Progress
    from whence.planning.usmp import PoolInfo

Precision: TypeAlias = Literal["f32", "f16", "bf16", "auto"]
Library: TypeAlias = Literal["onnxruntime", "reference", "torch"]


@door()
def compile(
    source: Source,
    target: str | Target = "native",
    *,
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
    ledger: Ledger | None = None,
    snapshots: bool = False,
    pipeline: str | Sequence[ModulePass] | None = None,
    precision: Precision | None = None,
    tuned: str | PathLike[str] | Tuned | None = None,
    custom_ops: Mapping[str, Callable[..., Any] | CustomOp] | None = None,
    fallback: Library | None = None,
    seed: int | None = None,
    cache: Literal["kernels", "model"] = "kernels",
) -> Executable:
    """Compile a model.

    source: a source of `whence.load`; a relay module is not changed.
    target: "native", or "llvm -mcpu=.. -mattr=..". Code for another machine can be inspected, not run.
    External compilers before it take the operators that they support, in order: "onnxruntime, llvm"; see docs/byoc.md.
    opt_level: 0-4, with TVM's level for each pass; docs/relay-passes.md shows the effect of each on numbers.
    threads: the number of threads; None for WHENCE_NUM_THREADS, or all CPUs that the process may use.
    input_shapes: shapes of inputs that the model leaves open: name -> shape, or text such as `data:[1,3,224,224]`;
    `shapes` is another name for it. Extents may be sizes with bounds, `ids:[batch,seq<=512]`. For open sizes there is
    one program for all of them (SizedExecutable). If that is impossible, each set of sizes has a program, compiled by
    the first call with them (DynamicExecutable).
    tier: "symbolic" for only the one program, "static" for a program for each size, "auto" for the one program first,
    and others for frequent sizes, compiled in the background.
    specialize: sizes to compile programs for ahead of time, `{"batch": 1, "seq": [128, 256]}`.
    audit: raise LocationError if a pass loses a layer.
    progress: called with a stage's name, steps done and steps in all.
    workspace_memory_pools: pools for intermediate tensors and kernels' workspaces, first choice first. The option
    `tir.usmp.algorithm` of the current PassContext names the algorithm. Without pools and without the option
    `tir.usmp.enable`, there is one block, planned by the best algorithm.
    desired_layouts: operator -> the data layout and optional kernel layout to convert it to first, or text such as
    `nn.conv2d:NHWC,HWIO;nn.max_pool2d:NHWC`.
    signature: the key of a signature of a TFLite model, which then names the inputs and outputs.
    ledger: the record of earlier passes on the module, `run_passes(module, passes, ledger=ledger)`. It is not changed,
    and the compiled model answers questions about both.
    snapshots: keep the module and each kernel after every pass, in `Executable.snapshots`.
    pipeline: the relay passes that run instead of those of `opt_level`, of layouts and of external compilers: objects,
    or text of `whence-opt -p`. Some pass has to make kernels, such as `relay-fuse-ops`.
    precision: the type of the operands of convolutions, dense layers and matrix products: "f32", "f16", "bf16", or
    "auto" for the fastest on the target; the rest is computed in float32. None: products of bfloat16 stay so if the
    target gains by it, others are computed in float32, and sums are float32. See docs/precision.md.
    tuned: a file, or a folder of files, with records of tuning, or `whence.tuning.records.Records`; None for those of
    the scope `whence.autotvm.apply_history_best`, if any. A kernel takes the decisions that were measured to be faster
    for it on this machine, else those of a similar machine, else those of the rules. Nothing is measured: the same
    records give the same code.
    custom_ops: Python functions for operators of the model, by the operators' names in their framework: a function, or
    `whence.CustomOp(function, result)`; see docs/custom-operators.md.
    fallback: the library that computes an operator without a row, and a node that its row refuses: "onnxruntime" or
    "reference" (the reference evaluator of the standard) for ONNX, "torch" for PyTorch. Each such node is a kernel
    of its own, which `Executable.choice` and `report()` name. None refuses such a model.
    seed: the seed of the model's random numbers, an integer of 64 bits: each load of the program draws the same ones,
    call by call. None: the operating system seeds each load. Nodes with a seed of their own keep it.
    cache: "model" also keeps the whole compiled model of an ONNX or TFLite file, and reads it where the file's bytes,
    the options, the machine and the compiler's sources are the same. Use it where your program has replaced and
    registered nothing in the compiler, which the key does not see. "kernels" keeps kernels alone.
    A module without `@main` gives an object of which `function(name)` is the program of a function, compiled with the
    same options, and one of kernels alone what `whence.build` gives.
    Raises FrontendError for a bad model, PipelineError for bad options and for pools that are too small.
    """
    options = {name: value for name, value in locals().items() if name != "source"}
    model: Any = source
    if not isinstance(model, str | PathLike | bytes):
        # A model of a file does without all this.
        from whence.compiler.without_main import without_main

        if (found := without_main(model, options, compile)) is not None:
            return found
    if opt_level not in range(5):
        raise PipelineError(f"opt_level: expected 0-4, got {opt_level!r}")
    if input_shapes is not None and shapes is not None:
        raise PipelineError("compile: expected input_shapes or shapes, got both")
    check_tier(tier)
    if cache not in ("kernels", "model"):
        raise PipelineError(f'cache: expected "kernels" or "model", got {cache!r}')
    if pipeline is not None and precision is not None:
        raise PipelineError("compile: expected precision or pipeline, got both")
    external, rest = split_target(target) if isinstance(target, str) else ((), target)
    machine = rest if isinstance(rest, Target) else Target.parse(rest)
    wanted = shapes if input_shapes is None else input_shapes
    layouts = desired_layouts
    if not isinstance(layouts, str):
        from whence.passes.relay.convert_layout import ConvertLayoutPass

        layouts = ConvertLayoutPass.of(layouts).desired_layouts

    if isinstance(pipeline, str):
        from whence.universe import multiverse

        pipeline = parse_passes(pipeline, multiverse().all_passes)
    precision_of(precision or "", machine.hardware)
    if precision is not None:
        from whence.compiler.slow_halves import warn_of_slow_half

        warn_of_slow_half(precision, machine)
    records = TUNED.get()
    if tuned is not None:
        from whence.tuning.records import records_of

        records = records_of(tuned, machine, "compile")
    start = check_seed(seed)

    def compiled() -> Executable:
        # Who reads a whole model does without all this.
        from whence.compiler.load import open_model
        from whence.compiler.policy import Policy
        from whence.planning.build import Building

        build = Building(
            target=machine,
            opt_level=opt_level,
            audit=audit,
            progress=progress,
            workspace_memory_pools=workspace_memory_pools,
            external=external,
            desired_layouts=layouts,
            precision=precision or "",
            snapshots=snapshots,
            pipeline=pipeline,
            tuned=records,
            seed=start,
        )
        history = Ledger()
        if ledger is not None:
            history.go_on(ledger)
        with fewer_collections(), PassContext.current().at_level(opt_level):
            with recording(history, "import"):
                opened = open_model(source, wanted, tier, signature, custom_ops, fallback)
            executable = Policy(build, history, wanted, threads, tier, specialize).executable(opened)
        executable.aliases, executable.metadata = opened.aliases, opened.metadata
        executable.choice = replace(executable.choice, fallback=opened.fallback)
        return executable

    given = (ledger, custom_ops, fallback, specialize, pipeline, records, *external, *workspace_memory_pools)
    if cache == "kernels" or audit or snapshots or any(value is not None for value in given):
        return compiled()
    options = (opt_level, layouts, precision, start, wanted, tier, signature)
    return _whole(source, machine, options, threads, compiled)


def _whole(
    source: Source, machine: Target, options: Sequence[object], threads: int | None, compiled: Callable[[], Executable]
) -> Executable:
    """Return the model that is kept, else the one that is compiled now, which is kept if nobody was warned."""
    from whence.compiler.kept import find, keep, model_key

    if not isinstance(source, str | PathLike):
        return compiled()
    path = model_path(fspath(cast("str | PathLike[str]", source)))
    if (key := model_key(path, machine, options)) is None:
        return compiled()
    if (found := find(key, path, threads)) is not None:
        return found
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        executable = compiled()
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if not caught:
        keep(key, executable)
    return executable
