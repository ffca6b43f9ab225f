"""From a relay module to an artifact: passes, distinct kernels (cached), the main program."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType, bf16
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..dialects.relay.call_tir import calls_of
from ..dialects.relay.convolution import Conv2D
from ..dialects.relay.core import CallOp, FuncOp
from ..dialects.relay.operator import Operator, element_of
from ..dialects.relay.size_ranges import ranges_of, required_of, set_required
from ..dialects.sizes import known_ranges
from ..lowering.cache import KernelCache, encode
from ..lowering.external.kernel import ExternalKernel
from ..lowering.external.registry import external_codegen
from ..lowering.kernel.key import code_key
from ..lowering.kernel.tuned import TUNED, Tuned
from ..lowering.llvm_to_native.compile import Native, compile_text
from ..lowering.llvm_to_native.emit import emit_module
from ..lowering.llvm_to_native.target import Target
from ..passes.functions import COMPILER
from ..passes.pipelines import partition_pipeline, precision_of, relay_pipeline, run_passes
from ..passes.relay.match_casts import resolve_casts
from ..passes.relay.name_sizes import names_of_inputs
from ..provenance.audit import check_input
from ..provenance.ledger import Ledger, recording
from ..provenance.lost import mark_lost
from ..provenance.numbers import same_module
from ..support.context import PassContext, spans_enabled
from ..support.errors import PipelineError
from ..support.garbage import fewer_collections
from ..support.machine import Machine
from .artifact import Artifact, Snapshot
from .assemble import assemble
from .kernels import Progress, compile_kernels, stored_record
from .main_program import main_program
from .pools import Pools
from .random_state import give_state
from .snapshots import PassSnapshots
from .usmp import PoolInfo

_log = logging.getLogger(__name__)

_ALTERED = 3
"""The opt level from which on layouts are altered (relay-alter-op-layout)."""


def _silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def build(
    module: ModuleOp,
    target: Target,
    opt_level: int,
    *,
    ledger: Ledger,
    cache: KernelCache,
    audit: bool = False,
    progress: Progress | None = None,
    workspace_memory_pools: Sequence[PoolInfo] = (),
    external: Sequence[str] = (),
    desired_layouts: str = "",
    precision: str = "",
    snapshots: bool = False,
    pipeline: Sequence[ModulePass] | None = None,
    tuned: Tuned | None = None,
    seed: int | None = None,
) -> Artifact:
    """Compile `module`, which is rewritten in place, for `target`.

    ledger: holds what the frontend recorded; the passes go on in it. audit: check locations after every pass.
    workspace_memory_pools: where intermediate tensors and workspaces may lie.
    external: the compilers that take what they can before, the first one first.
    desired_layouts: of operators, as the pass `relay-convert-layout` has them. Where nobody asks for any, convolutions
    on NHWC come to NCHW where layouts are altered at all: blocks of channels are made of that.
    precision: of products with weights, a word that `precision_of` knows. Without one, products of bfloat16 stay such
    where the machine gains by it.
    snapshots: keep the module and each kernel, those from the cache, too, as they are after every pass.
    pipeline: the relay passes that run instead of those of the opt level, of external compilers and of layouts.
    tuned: the records by which knobs are set; those of the current context where there are none.
    seed: of the program's random numbers; without one, each load of the program has another.
    """
    tell = progress or _silent
    pools = Pools.current(workspace_memory_pools)
    kept = PassSnapshots()
    context = PassContext.current().at_level(opt_level, [kept]) if snapshots else nullcontext()
    with context, fewer_collections(), known_ranges(ranges_of(main_of(module))):
        stages = [Snapshot("relay", same_module(module))]
        if audit:
            check_input(module)
        elif spans_enabled():
            mark_lost(module, "import")
        main = main_of(module)
        give_state(module, main, seed)
        inputs, outputs = tuple(names_of_inputs(main)), names_of(main, "output_names")
        resolve_casts(module)
        main = main_of(module)
        _check_sizes(module)
        _note_patterns(module)
        shared = _partition_passes(external, opt_level)
        if pipeline is not None:
            shared, passes = _split(pipeline)
        else:
            layouts, machine = desired_layouts or _layouts(module, opt_level), target.hardware
            half = precision_of(precision, machine) or _own_precision(module, machine)
            # Who asks for bfloat16 gets it; a choice by speed has it where it is faster.
            tiles = half == "bfloat16" and precision != "bf16" and not machine.dot_bf16
            passes = relay_pipeline(opt_level, machine, layouts, half, tiles=tiles)
        done = 0

        def count(*_: object) -> None:
            nonlocal done
            done += 1
            tell("passes", done, len(shared) + len(passes))

        run_passes(module, shared, ledger=ledger, audit=audit, on_pass=count)
        with recording(ledger, "external"):
            externals = _externals(module) if external or _has_parts(module) else {}
        run_passes(module, passes, ledger=ledger, audit=audit, on_pass=count)
        stages.append(Snapshot("fused", module))
        records = TUNED.get() if tuned is None else tuned
        compiled, kernel_of, applied, sizes = compile_kernels(module, target, cache, tell, records)
        left = {name: kernel for name, kernel in externals.items() if name in _called(module)}
        kernel_of |= {name: len(compiled) + number for number, name in enumerate(left)}
        kernels = [*compiled, *left.values()]
        assembly = assemble(module, kernels, kernel_of, inputs, outputs, pools, sizes)
        native = compile_main(main_program(assembly), target, cache)
    return Artifact(
        **vars(assembly),
        kernels=tuple(kernels),
        main=native.object,
        target=target,
        ledger=ledger,
        snapshots=tuple(stages),
        main_assembly=native.assembly,
        passes=tuple(kept.kept),
        tuned=applied,
    )


@dataclass(frozen=True)
class Building:
    """The way modules of one model are compiled: the arguments of `build` besides module and ledger."""

    target: Target
    opt_level: int
    audit: bool = False
    progress: Progress | None = None
    workspace_memory_pools: Sequence[PoolInfo] = ()
    external: Sequence[str] = ()
    desired_layouts: str = ""
    precision: str = ""
    snapshots: bool = False
    pipeline: Sequence[ModulePass] | None = None
    tuned: Tuned | None = None
    seed: int | None = None

    def __call__(self, module: ModuleOp, ledger: Ledger) -> Artifact:
        """Compile `module`, which is rewritten in place."""
        return build(
            module,
            self.target,
            self.opt_level,
            ledger=ledger,
            cache=KernelCache(),
            audit=self.audit,
            progress=self.progress,
            workspace_memory_pools=self.workspace_memory_pools,
            external=self.external,
            desired_layouts=self.desired_layouts,
            precision=self.precision,
            snapshots=self.snapshots,
            pipeline=self.pipeline,
            tuned=self.tuned,
            seed=self.seed,
        )


def _own_precision(module: ModuleOp, machine: Machine) -> str:
    """Return bfloat16 where the model has it and the machine is faster in it: pairs of products are summed in float32.

    Products of float16 are summed in float16, which loses digits that the model has on other machines: only on request.
    """
    if machine.half != "bfloat16":
        return ""
    values = (result for op in module.walk() for result in op.results)
    has = any(isinstance(value.type, TensorType) and element_of(value) == bf16 for value in values)
    return machine.half if has else ""


def _check_sizes(module: ModuleOp) -> None:
    """Raise UndecidedSize for an operator that takes some values of its operands' sizes only.

    What some values would make negative, and operators need not to be, every call is checked for.
    """
    main = main_of(module)
    required = list(required_of(main))
    for op in module.walk():
        if isinstance(op, Operator):
            required += [(size, op.location) for size in op.check_sizes()]
    set_required(main, required)


def _note_patterns(module: ModuleOp) -> None:
    """Note how kernels that somebody wrote may fuse."""
    if any(calls_of(module)):
        from ..lowering.tir_to_te.fusion import note_patterns

        note_patterns(module)


def _has_parts(module: ModuleOp) -> bool:
    """Return whether parts were given to external compilers before."""
    return any(COMPILER in op.attributes for op in module.ops if isinstance(op, FuncOp))


def _externals(module: ModuleOp) -> dict[str, ExternalKernel]:
    # Patterns and all that they stand on are loaded by who has parts for them only.
    from ..lowering.external.codegen import compile_externals

    return compile_externals(module)


def _partition_passes(external: Sequence[str], opt_level: int) -> tuple[ModulePass, ...]:
    """Return the passes that give external compilers their parts; raises PipelineError for an unknown compiler."""
    for name in external:
        external_codegen(name)
    return partition_pipeline(opt_level, external) if external else ()


def _split(pipeline: Sequence[ModulePass]) -> tuple[Sequence[ModulePass], Sequence[ModulePass]]:
    """Return the passes up to the last that makes parts for external compilers, and those behind it."""
    partitions = [number for number, pass_ in enumerate(pipeline) if pass_.name == "relay-partition-graph"]
    cut = partitions[-1] + 1 if partitions else 0
    return pipeline[:cut], pipeline[cut:]


def _layouts(module: ModuleOp, opt_level: int) -> str:
    """The layouts that operators of a module come to by themselves."""
    if opt_level < _ALTERED:
        return ""
    last = {
        op.name.removeprefix("relay.")
        for op in module.walk()
        if isinstance(op, Conv2D) and op.data_layout.data == "NHWC"
    }
    return ";".join(f"{name}:NCHW" for name in sorted(last & {"nn.conv2d", "qnn.conv2d"}))


def main_of(module: ModuleOp) -> FuncOp:
    """The main function of a module; raises PipelineError where it has none."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            return op
    raise PipelineError("compile: expected a module with a relay.func @main, got none")


def _called(module: ModuleOp) -> set[str]:
    """The functions that the main function calls."""
    return {op.callee.string_value() for op in main_of(module).block.ops if isinstance(op, CallOp)}


def names_of(main: FuncOp, attribute: str) -> tuple[str, ...]:
    names = main.attributes.get(attribute)
    if not isinstance(names, ArrayAttr):
        return ()
    return tuple(name.data for name in cast("ArrayAttr[Any]", names) if isinstance(name, StringAttr))


def _callee(op: Operation) -> str | None:
    return op.callee.string_value() if isinstance(op, llvm.CallOp) and op.callee is not None else None


def _main_lines(module: ModuleOp) -> dict[Operation, int]:
    """The line of each op of the main program: k for the call or copy number k, one more for what serves them all."""
    lines: dict[Operation, int] = {}
    shared: list[Operation] = []
    line = 1
    parts = {op.sym_name.data for op in module.ops if isinstance(op, llvm.FuncOp) and op.body.blocks}
    for function in module.ops:
        if isinstance(function, llvm.FuncOp) and function.body.blocks:
            shared.append(function)
            for op in function.body.block.ops:
                if isinstance(op, llvm.ReturnOp) or _callee(op) in parts:
                    shared.append(op)
                    continue
                lines[op] = line
                line += isinstance(op, llvm.CallOp | llvm.CallIntrinsicOp)
    return lines | dict.fromkeys(shared, line)


def compile_main(module: ModuleOp, target: Target, cache: KernelCache) -> Native:
    """The machine code of a main program, from the cache where it is there."""
    text = emit_module(module, lines=_main_lines(module), source="whence_main", target=target)
    key = code_key(target, f"main\n{text}")
    if (stored := stored_record(cache, key, Native)) is not None:
        return stored
    native = compile_text(text, target, level=0 if _straight(module) else 1)
    cache.put(key, encode(vars(native)))
    return native


def _straight(module: ModuleOp) -> bool:
    """Return True if a main program has no branch: it loads, computes sizes and calls; LLVM's passes leave it alone."""
    return all(len(op.body.blocks) < 2 for op in module.ops if isinstance(op, llvm.FuncOp))
