"""`relay.build`: a module compiled for a graph executor, with what TVM's users ask of the result.

>>> lib = relay.build(mod, target="llvm", params=params)
>>> module = graph_executor.GraphModule(lib["default"](whence.cpu()))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import SSAValue

from whence.api import compile as compile_model
from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.dialects.relay.tuples import TupleGetItemOp
from whence.dialects.relay.types import fields_of
from whence.executable import Executable
from whence.executors import bound_params, check_static
from whence.exporting import BuildModule, export_artifact, node_schedule
from whence.frontends.relay.expr import Function
from whence.lowering.kernel.record import Kernel
from whence.lowering.llvm_to_native.thread_pool import thread_pool
from whence.planning.graph import GraphPlan, graph_plan
from whence.planning.loading import load_library
from whence.relay.binding import bind as bind
from whence.relay.binding import bind_params_by_name as bind_params_by_name
from whence.relay.execution import create_executor as create_executor
from whence.relay.module import IRModule
from whence.runtime.factory import GraphExecutorFactory, Origin
from whence.runtime.library import Library
from whence.runtime.threads import ThreadPool
from whence.support.context import PassContext
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation
from whence.target import TargetLike, params_beside, target_of
from whence.te.schedule.schedule import Schedule

if TYPE_CHECKING:
    from whence.lowering.llvm_to_native.target import Target
    from whence.planning.artifact import Artifact


@dataclass(frozen=True)
class FunctionInfo:
    """What is known of a function of a build. Sizes are in bytes, by target."""

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
        """What the compiler made."""
        return self.executable.artifact

    @property
    def target(self) -> Target:
        """What the code is for."""
        return self.artifact.target

    @property
    def build_module(self) -> BuildModule:
        """What made it, by TVM's name: `lib.build_module.get_node_schedule(17)`."""
        return BuildModule(self.get_node_schedule)

    def get_node_schedule(self, index: int) -> Schedule:
        """The schedule of node number `index` of the graph, with its record, as it was lowered.

        Raises PipelineError for a node that has none: an argument, or another view of a tensor.
        """
        return node_schedule(self.artifact, self.plan, index)

    def export_library(
        self,
        file_name: str | PathLike[str],
        fcompile: Callable[..., object] | None = None,
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
            link=fcompile,
            addons=[Path(one) for one in addons or ()],
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
        from whence.origins import origins

        return origins(self.artifact, self.plan)

    def sample(self, inputs: Mapping[str, Array], seconds: float = 1.0) -> None:
        """Run the model under the sampler, so that debug modules share out nodes' times by what it saw.

        Errors as `Executable.sample`.
        """
        from whence.origins import origins

        self._known_origins = origins(self.artifact, self.plan, self.executable.sample(inputs, seconds))

    @cached_property
    def function_metadata(self) -> dict[str, FunctionInfo]:
        """What is known of each function, by name; `__tvm_main__` is the graph as a whole."""
        artifact, target = self.artifact, "llvm"
        fused = _fused(artifact)
        found: dict[str, FunctionInfo] = {}
        for name, number in self.plan.functions.items():
            kernel = artifact.kernels[number]
            call = next(call for call in artifact.calls if call.kernel == number)
            tir = kernel.tir if isinstance(kernel, Kernel) else ""
            io = sum(spec.nbytes for spec in call.run.results) + sum(
                self.plan.graph.entries[self.plan.graph.entry(ref)].nbytes
                for ref in self.plan.graph.nodes[self._node_of(name)].inputs
            )
            found[name] = FunctionInfo(
                {target: kernel.workspace}, {target: io}, {target: 0}, {target: tir}, {target: fused[call.name]}
            )
        memory = self.executable.memory
        found["__tvm_main__"] = FunctionInfo(
            {target: memory.workspace_bytes},
            {target: memory.io_bytes},
            {target: memory.constant_bytes},
            {},
            {target: fused["main"]},
        )
        return found

    def _node_of(self, function: str) -> int:
        """The first node that calls a function."""
        return next(place for place, node in enumerate(self.plan.graph.nodes) if node.function == function)


def build_config(
    opt_level: int = 2,
    required_pass: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | None = None,
    trace: object = None,
) -> PassContext:
    """A PassContext, by an older name."""
    return PassContext(opt_level, required_pass=required_pass or (), disabled_pass=disabled_pass or ())


@door()
def build(
    ir_mod: ModuleOp | IRModule | Function,
    target: TargetLike = "llvm",
    target_host: TargetLike = None,
    executor: object = None,
    runtime: object = None,
    workspace_memory_pools: Any = None,
    constant_memory_pools: object = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> GraphExecutorFactoryModule:
    """Compile a module for a graph executor, at the opt level of the current PassContext.

    params: values of arguments of `@main` by name; a mapping in the place of `target_host` is taken for them.
    Outputs in tuples of a tuple are outputs of their own, in order.
    target: "llvm" is this machine, as "native" and None are. target_host: what the target is, as there is no other.
    executor: None, "graph" or "aot". The rest is there for programs written for TVM.
    Raises PipelineError, in the name of the layer, for a program with control flow or open shapes, which the virtual
    machine runs, and for arguments that stand where others belong; errors as `whence.compile`.
    """
    params = params_beside("relay.build", target, target_host, params)
    if executor is not None and str(executor) not in ("graph", "aot"):
        found = "params, which go by name" if isinstance(executor, Mapping) else str(executor)
        raise PipelineError(expectation("relay.build", "executor graph or aot", found))
    if isinstance(ir_mod, Function):
        ir_mod = IRModule.from_expr(ir_mod)
    module = ir_mod.module if isinstance(ir_mod, IRModule) else ir_mod
    check_static(module, "graph")
    bound = bound_params(module, {name: _array(value) for name, value in params.items()}) if params else module
    executable = compile_model(
        _flat(bound),
        target=target_of(target),
        opt_level=PassContext.current().opt_level,
        workspace_memory_pools=workspace_memory_pools or (),
    )
    return GraphExecutorFactoryModule(executable, module, mod_name)


def _library(artifact: Artifact, plan: GraphPlan, pool: ThreadPool, name: str) -> Library:
    """The linked functions, which can be exported, too."""
    found = load_library(artifact, plan, pool)
    found.exporter = partial(export_artifact, artifact, plan, None, name=name, params=not plan.params)
    return found


def _flat(module: ModuleOp) -> ModuleOp:
    """The module, or a copy of which `@main` returns what tuples among its results hold, one by one."""
    if not any(isinstance(value.type, TupleType) for value in _main(module).return_op.values):
        return module
    made = module.clone()
    main = _main(made)
    end = main.return_op
    stack, values = list(reversed(end.values)), list[SSAValue]()
    while stack:
        value = stack.pop()
        if (fields := fields_of(value.type)) is None:
            values.append(value)
            continue
        parts = [TupleGetItemOp(value, index) for index in range(len(fields))]
        for part in parts:
            part.location = end.location
        main.block.insert_ops_before(parts, end)
        stack.extend(part.result for part in reversed(parts))
    last = ReturnOp(*values)
    last.location = end.location
    end.detach()
    end.erase()
    main.block.add_op(last)
    main.attributes.pop("output_names", None)
    main.update_type()
    return made


def _main(module: ModuleOp) -> FuncOp:
    main = next((op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"), None)
    if main is None:
        raise PipelineError(expectation("relay.build", "a function @main", "none"))
    return main


def _array(value: Any) -> Array:
    return value.numpy() if hasattr(value, "numpy") else value


def _fused(artifact: Artifact) -> dict[str, FuncOp]:
    from whence.explorer.layers import functions, snapshot

    return functions(snapshot(artifact, "fused"))
