"""A compiled model as a graph of calls, which TVM's graph executor and debugger run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from whence.dialects.relay.core import FuncOp
from whence.executables.executable import Executable
from whence.executables.exporting import BuildModule, export_artifact, node_schedule
from whence.lowering.kernel.record import Kernel
from whence.lowering.llvm_to_native.thread_pool import thread_pool
from whence.planning.graph import GraphPlan, graph_plan
from whence.planning.loading import load_library
from whence.planning.memory import MemoryInfo
from whence.runtime.program.factory import GraphExecutorFactory, Origin
from whence.runtime.program.library import Compile, Library
from whence.runtime.program.threads import ThreadPool
from whence.support.dtypes import Array
from whence.te.schedule.schedule import Schedule

if TYPE_CHECKING:
    from whence.lowering.llvm_to_native.target import Target
    from whence.planning.artifact import Artifact


@dataclass(frozen=True)
class FunctionInfo:
    """A function of a build: its memory sizes, in bytes, and its code, by target."""

    workspace_sizes: Mapping[str, int]
    io_sizes: Mapping[str, int]
    constant_sizes: Mapping[str, int]
    tir_primfuncs: Mapping[str, str]
    """The printed loops."""
    relay_primfuncs: Mapping[str, FuncOp]


class GraphExecutorFactoryModule(GraphExecutorFactory):
    """The result of `relay.build`: iterable as `graph_json, lib, params`, a source of graph modules, and the record of
    how everything in it came to be.
    """

    def __init__(self, executable: Executable, ir_mod: ModuleOp, libmod_name: str = "default"):
        self.executable = executable
        self.ir_mod = ir_mod
        self.plan: GraphPlan = graph_plan(executable.artifact, libmod_name)
        artifact, plan = executable.artifact, self.plan
        super().__init__(
            plan.graph.to_json(),
            lambda: _library(artifact, plan, thread_pool(executable.threads), libmod_name),
            plan.params,
            libmod_name,
            lambda: self._known_origins,
        )

    @property
    def artifact(self) -> Artifact:
        """The result of the compiler."""
        return self.executable.artifact

    @property
    def target(self) -> Target:
        """The target of the code."""
        return self.artifact.target

    @property
    def build_module(self) -> BuildModule:
        """The build that made this, by TVM's name: `lib.build_module.get_node_schedule(17)`."""
        return BuildModule(self.get_node_schedule)

    def get_node_schedule(self, index: int) -> Schedule:
        """Return the schedule of node number `index` of the graph, with its record, as it was lowered.

        Raises PipelineError for a node that has none: an argument, or another view of a tensor.
        """
        return node_schedule(self.artifact, self.plan, index)

    def export_library(
        self,
        file_name: str | PathLike[str],
        fcompile: Compile = None,
        addons: Sequence[str | PathLike[str]] | None = None,
        *,
        options: Sequence[str] = (),
    ) -> str:
        """Write the model, with all that it needs, to a .tar, .so or .o file, whole or not at all; returns the path.

        A .tar holds objects and needs no linker; the others are linked by the system's compiler (CC), a .so by
        `fcompile(path, objects, options)` if it is given. addons: more objects to link. `whence.runtime.load_module`
        loads each of them. Raises PipelineError where it cannot be written.
        """
        export_artifact(
            self.artifact,
            self.plan,
            self.origins,
            Path(file_name),
            name=self.libmod_name,
            params=bool(self.params) or not self.plan.params,
            link=fcompile or None,
            addons=[Path(addon) for addon in addons or ()],
            options=options,
        )
        return str(file_name)

    def remove_params(self) -> GraphExecutorFactoryModule:
        """The same without params, which are then loaded from elsewhere; exported, too, it has none."""
        twin = copy(self)
        twin.params = {}
        return twin

    def get_executor_config(self) -> str:
        return self.graph_json

    @cached_property
    def _known_origins(self) -> dict[str, Origin]:
        from whence.executables.origins import origins

        return origins(self.artifact, self.plan)

    def sample(self, inputs: Mapping[str, Array], seconds: float = 1.0) -> None:
        """Run the model under the sampler, so that debug modules divide nodes' times by its samples.

        Raises the errors of `Executable.sample`.
        """
        from whence.executables.origins import origins

        self._known_origins = origins(self.artifact, self.plan, self.executable.sample(inputs, seconds))

    @cached_property
    def function_metadata(self) -> dict[str, FunctionInfo]:
        """The sizes and the code of each function, by name; `__tvm_main__` is the whole graph."""
        artifact, target = self.artifact, "llvm"
        fused = _fused(artifact)
        metadata: dict[str, FunctionInfo] = {}
        for name, number in self.plan.functions.items():
            kernel = artifact.kernels[number]
            call = next(call for call in artifact.calls if call.kernel == number)
            tir = kernel.tir if isinstance(kernel, Kernel) else ""
            io = sum(spec.nbytes for spec in call.run.results) + sum(
                self.plan.graph.entries[self.plan.graph.entry(ref)].nbytes
                for ref in self.plan.graph.nodes[self._node_of(name)].inputs
            )
            metadata[name] = FunctionInfo(
                {target: kernel.workspace}, {target: io}, {target: 0}, {target: tir}, {target: fused[call.name]}
            )
        memory = MemoryInfo.of(self.artifact)
        metadata["__tvm_main__"] = FunctionInfo(
            {target: memory.workspace_bytes},
            {target: memory.io_bytes},
            {target: memory.constant_bytes},
            {},
            {target: fused["main"]},
        )
        return metadata

    def _node_of(self, function: str) -> int:
        """Return the first node that calls a function."""
        return next(number for number, node in enumerate(self.plan.graph.nodes) if node.function == function)


def _library(artifact: Artifact, plan: GraphPlan, pool: ThreadPool, name: str) -> Library:
    """Return the linked functions, which can be exported, too."""
    library = load_library(artifact, plan, pool)
    library.exporter = partial(export_artifact, artifact, plan, None, name=name, params=not plan.params)
    return library


def _fused(artifact: Artifact) -> dict[str, FuncOp]:
    from whence.explorer.layers import functions, snapshot

    return functions(snapshot(artifact, "fused"))
