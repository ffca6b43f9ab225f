"""The public API: `compile` a model, run it, and ask it where everything came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from whence.build import Progress, build
from whence.lowering.cache import KernelCache
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.llvm_to_native.thread_pool import thread_pool
from whence.models import model_path
from whence.planning.artifact import Artifact
from whence.planning.loading import load as load_artifact
from whence.planning.memory import MemoryInfo
from whence.planning.usmp import PoolInfo
from whence.provenance.ledger import Ledger, recording
from whence.runtime.tensors import Tensor, TensorSpec
from whence.support.context import PassContext
from whence.support.dtypes import Array
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from onnx import ModelProto

    from whence.explorer.where import Where
    from whence.explorer.why import Why


def load(source: str | PathLike[str] | ModuleOp | ModelProto, shapes: Mapping[str, tuple[int, ...]] | None = None):
    """The relay module of a model.

    source: an ONNX file or model, an .mlir file with its .params beside it, a module (copied), or the name of a network
    that the onnx package ships (`light_resnet50`).

    Raises FrontendError when the source is no readable model.
    """
    if isinstance(source, ModuleOp):
        return source.clone()
    if isinstance(source, str | PathLike):
        source = path = model_path(fspath(source))
        if path.suffix == ".mlir":
            from whence.textio import read_module

            return read_module(path)
    from whence.frontends.onnx import from_onnx

    return from_onnx(source, shapes=shapes)


class Executable:
    """A compiled model."""

    artifact: Artifact

    def __init__(self, artifact: Artifact, threads: int | None = None):
        self.artifact = artifact
        self._runner = load_artifact(artifact)
        self._pool = thread_pool(threads)
        self._names = tuple(spec.name for spec in artifact.outputs)

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

        Raises FrontendError when names, shapes or dtypes are not the model's.
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
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    audit: bool = False,
    progress: Progress | None = None,
    workspace_memory_pools: Sequence[PoolInfo] = (),
) -> Executable:
    """Compile a model for this machine.

    source: an ONNX file or model, an .mlir file, or a relay module (left as it is).
    target: "native", or "llvm -mcpu=.. -mattr=..".
    opt_level: 0-3, with TVM's level for each pass.
    threads: how many the model runs on; WHENCE_NUM_THREADS or all cores when None.
    shapes: input name -> shape, for inputs whose shape the model leaves open.
    audit: raise LocationError when a pass loses a layer.
    progress: called with a stage's name, steps done and steps in all.
    workspace_memory_pools: where intermediate tensors and kernels' workspaces may lie, first choice first; planned by
    the algorithm that the option `tir.usmp.algorithm` of the current PassContext names. Without pools and without the
    option `tir.usmp.enable`, in one block by whatever does best.
    Raises FrontendError for a bad model, PipelineError for bad options and for pools that are too small.
    """
    if opt_level not in range(4):
        raise PipelineError(f"opt_level: expected 0-3, got {opt_level!r}")
    machine = target if isinstance(target, Target) else Target.parse(target)
    ledger = Ledger()
    around = PassContext.current()
    with PassContext(opt_level, around.required_pass, around.disabled_pass, around.config):
        with recording(ledger, "import"):
            module = load(source, shapes)
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
