"""The public API: `compile` a model, run it, and ask it where everything came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from whence.building import Progress, build
from whence.input_shapes import InputShapes, input_shapes_of
from whence.lowering.cache import KernelCache
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.llvm_to_native.thread_pool import thread_pool
from whence.models import model_path
from whence.planning.artifact import Artifact
from whence.planning.loading import load as load_artifact
from whence.planning.memory import MemoryInfo
from whence.planning.usmp import PoolInfo
from whence.provenance.ledger import Ledger, recording
from whence.runtime.executor import Runner
from whence.runtime.tensors import Tensor, TensorSpec
from whence.support.context import PassContext
from whence.support.dtypes import Array
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from onnx import ModelProto

    from whence.explorer.times import Times
    from whence.explorer.where import Where
    from whence.explorer.why import Why


def load(source: str | PathLike[str] | ModuleOp | ModelProto, shapes: InputShapes | None = None) -> ModuleOp:
    """The relay module of a model.

    source: an ONNX file or model, an .mlir file with its .params beside it, a module (copied), or the name of a network
    that the onnx package ships (`light_resnet50`).
    shapes: of inputs whose shape the model leaves open.

    Raises FrontendError when the source is no readable model or the shapes do not fit it, PipelineError for shapes that
    are none, or given with a module, whose shapes are fixed.
    """
    given = input_shapes_of(shapes) if shapes is not None else {}
    if isinstance(source, str | PathLike):
        source = model_path(fspath(source))
    if isinstance(source, ModuleOp) or (isinstance(source, Path) and source.suffix == ".mlir"):
        if given:
            what = "a module" if isinstance(source, ModuleOp) else str(source)
            raise PipelineError(
                f"input shapes: expected none for {what}, whose shapes are fixed, got {', '.join(given)}"
            )
        if isinstance(source, ModuleOp):
            return source.clone()
        from whence.textio import read_module

        return read_module(source)
    from whence.frontends.onnx import from_onnx

    return from_onnx(source, shapes=given)


class Executable:
    """A compiled model."""

    artifact: Artifact

    def __init__(self, artifact: Artifact, threads: int | None = None):
        self.artifact = artifact
        self._pool = thread_pool(threads)
        self._names = tuple(spec.name for spec in artifact.outputs)

    @cached_property
    def _runner(self) -> Runner:
        return load_artifact(self.artifact)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Name, shape and dtype of each input."""
        return self.artifact.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Name, shape and dtype of each output."""
        return self.artifact.outputs

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the layers of the imported model, in order."""
        from whence.explorer.layers import layers_of

        return tuple(layer.name for layer in layers_of(self.artifact))

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernel calls, in order."""
        return tuple(call.name for call in self.artifact.calls)

    @property
    def memory(self) -> MemoryInfo:
        """The bytes that the model takes, and how they were planned."""
        return MemoryInfo.of(self.artifact)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Tensor]:
        """Output name -> array, for input name -> array.

        Raises FrontendError when names, shapes or dtypes are not the model's, PipelineError when it was compiled for
        another machine.
        """
        results = self._runner.run(inputs, self._pool)
        return dict(zip(self._names, results, strict=True))

    def __call__(self, *arrays: Array) -> Tensor | tuple[Tensor, ...]:
        """The short form: inputs in order; one output as an array, several as a tuple."""
        results = self._runner.run(arrays, self._pool)
        return results[0] if len(results) == 1 else tuple(results)

    def profile(self, inputs: Mapping[str, Array], repeat: int = 10) -> Any:
        """Seconds per run and kernel call, shape (repeat, calls); calls are `artifact.calls`."""
        return self._runner.profile(inputs, self._pool, repeat)

    def times(self, inputs: Mapping[str, Array], repeat: int = 10) -> Times:
        """Median seconds of each kernel call, and of the layers in it: the call's, in proportion to estimated work."""
        from statistics import median

        from whence.explorer.times import Times

        columns: list[list[float]] = self.profile(inputs, repeat).T.tolist()
        return Times.of(self.artifact, [median(column) for column in columns])

    def why(self, kernel: str | int, line: int | None = None) -> Why:
        """The layers, passes and stages behind a kernel (a name of `kernels`, a symbol, an index) or a line of its TIR.

        Raises FrontendError when there is no such kernel or line.
        """
        from whence.explorer.why import why

        return why(self.artifact, kernel, line)

    def where(self, layer: str) -> Where:
        """What became of a layer at every level; raises FrontendError when there is none of that name."""
        from whence.explorer.where import where

        return where(self.artifact, layer)

    def coverage(self) -> dict[str, float]:
        """Level -> the fraction of its ops, or machine instructions, that name the layers they serve."""
        from whence.explorer.coverage import coverage

        return coverage(self.artifact)


def compile(
    source: str | PathLike[str] | ModuleOp | ModelProto,
    *,
    target: str | Target = "native",
    opt_level: int = 3,
    threads: int | None = None,
    input_shapes: InputShapes | None = None,
    shapes: InputShapes | None = None,
    audit: bool = False,
    progress: Progress | None = None,
    workspace_memory_pools: Sequence[PoolInfo] = (),
) -> Executable:
    """Compile a model.

    source: an ONNX file or model, an .mlir file, or a relay module (left as it is).
    target: "native", or "llvm -mcpu=.. -mattr=..". What is compiled for another machine can be looked at, not run.
    opt_level: 0-3, with TVM's level for each pass.
    threads: how many the model runs on; WHENCE_NUM_THREADS or all CPUs that the process may use when None.
    input_shapes: of inputs whose shape the model leaves open: name -> shape, or text such as `data:[1,3,224,224]`;
    `shapes` is another name of it.
    audit: raise LocationError when a pass loses a layer.
    progress: called with a stage's name, steps done and steps in all.
    workspace_memory_pools: where intermediate tensors and kernels' workspaces may lie, first choice first; planned by
    the algorithm that the option `tir.usmp.algorithm` of the current PassContext names. Without pools and without the
    option `tir.usmp.enable`, in one block by whatever does best.
    Raises FrontendError for a bad model, PipelineError for bad options and for pools that are too small.
    """
    if opt_level not in range(4):
        raise PipelineError(f"opt_level: expected 0-3, got {opt_level!r}")
    if input_shapes is not None and shapes is not None:
        raise PipelineError("compile: expected input_shapes or shapes, got both")
    machine = target if isinstance(target, Target) else Target.parse(target)
    ledger = Ledger()
    with PassContext.current().at_level(opt_level):
        with recording(ledger, "import"):
            module = load(source, shapes if input_shapes is None else input_shapes)
        artifact = build(
            module,
            machine,
            opt_level,
            ledger=ledger,
            cache=KernelCache(),
            audit=audit,
            progress=progress,
            workspace_memory_pools=workspace_memory_pools,
        )
    return Executable(artifact, threads)
