"""From a relay module to an artifact: passes, distinct kernels (cached), the main program."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType, bf16
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ..dialects.relay.convolution import Conv2D
from ..dialects.relay.core import CallOp, FuncOp
from ..dialects.relay.operator import Operator, element_of
from ..dialects.relay.size_ranges import ranges_of, required_of, set_required
from ..dialects.sizes import known_ranges
from ..lowering.cache import KernelCache, decode, encode
from ..lowering.external.kernel import ExternalKernel
from ..lowering.external.registry import external_codegen
from ..lowering.kernel.key import code_key
from ..lowering.kernel.printing import printed
from ..lowering.kernel.record import Kernel
from ..lowering.kernel.sizes import is_sized, with_kernel_sizes
from ..lowering.kernel.slots import anonymous
from ..lowering.kernel.tuned import TUNED, Applied, Tuned, workload_key
from ..lowering.llvm_to_native.compile import Native, compile_text
from ..lowering.llvm_to_native.compilers import Compile, Compilers, compilers
from ..lowering.llvm_to_native.emit import emit_module
from ..lowering.llvm_to_native.target import Target
from ..passes.functions import COMPILER, text_of
from ..passes.pipelines import partition_pipeline, precision_of, relay_pipeline, run_passes
from ..provenance.audit import check_input
from ..provenance.diagnostics import describe
from ..provenance.ledger import Ledger, recording
from ..provenance.lost import mark_lost
from ..provenance.numbers import same_module
from ..provenance.span import fuse
from ..support.context import PassContext, spans_enabled
from ..support.errors import PipelineError, ScheduleError, ScheduleWarning
from ..support.garbage import fewer_collections
from ..support.machine import Machine
from .artifact import Artifact, Snapshot
from .assemble import assemble
from .main_program import main_program
from .pools import Pools
from .random_state import give_state
from .snapshots import PassSnapshots
from .sources import source_folder, write_source
from .usmp import PoolInfo

_log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Callback with the work being done, how many pieces are done, and of how many."""

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
        inputs, outputs = names_of(main, "input_names"), names_of(main, "output_names")
        _check_sizes(module)
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
        compiled, kernel_of, applied = compile_kernels(module, target, cache, tell, records)
        left = {name: kernel for name, kernel in externals.items() if name in _called(module)}
        kernel_of |= {name: len(compiled) + number for number, name in enumerate(left)}
        kernels = [*compiled, *left.values()]
        assembly = assemble(module, kernels, kernel_of, inputs, outputs, pools)
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


class Kernels(NamedTuple):
    """The compiled kernels of a module."""

    kernels: list[Kernel]
    """Distinct ones."""
    kernel_of: dict[str, int]
    """Primitive function -> the index of its kernel."""
    applied: dict[str, Applied]
    """Symbol of a kernel -> what tuning decided about it."""


def primitive_functions(module: ModuleOp) -> list[FuncOp]:
    """The primitive functions of a fused module that are kernels of ours."""
    return [
        op for op in module.ops if isinstance(op, FuncOp) and op.primitive is not None and not text_of(op, COMPILER)
    ]


def compile_kernels(
    module: ModuleOp, target: Target, cache: KernelCache, tell: Progress, tuned: Tuned | None = None
) -> Kernels:
    """Compile the kernels of a fused module.

    tuned: the records by which knobs are set.

    Where an instrument is to see every kernel, those that are in the cache are lowered as well, each with a ledger of
    its own; their machine code is the cache's.

    Lowering is Python and LLVM releases its lock, so that LLVM works on some kernels while the next is lowered.
    """
    functions = primitive_functions(module)
    jobs: list[Future[Kernel]] = []
    records: list[Applied | None] = []
    index: dict[str, int] = {}
    kernel_of: dict[str, int] = {}
    redraft = any(instrument.every_kernel for instrument in PassContext.current().instruments)
    with compilers(target) as workers:
        for done, func in enumerate(functions):
            copy = anonymous(func)
            text = printed(copy)
            applied = _applied(tuned, copy, text, target, cache)
            key = code_key(target, text, applied.text if applied is not None else "")
            if key not in index:
                index[key] = len(jobs)
                records.append(applied)
                stored = _stored(cache, key, Kernel)
                with recording(Ledger(), "lower") if redraft else nullcontext():
                    if stored is not None and redraft:
                        from ..lowering.kernel.draft import redraft_kernel

                        redraft_kernel(copy, target, key, stored.decisions)
                    jobs.append(_kernel(copy, func, target, key, cache, workers, stored=stored, applied=applied))
            kernel_of[func.sym_name.data] = index[key]
            tell("kernels", done + 1, len(functions))
        kernels = [job.result() for job in jobs]
    _warn(functions, kernels, kernel_of)
    used = {
        kernel.symbol: applied
        for kernel, applied in zip(kernels, records, strict=True)
        if applied is not None and kernel.decisions == dict(applied.decisions)
    }
    return Kernels(kernels, kernel_of, used)


def _warn(functions: Sequence[FuncOp], kernels: Sequence[Kernel], kernel_of: Mapping[str, int]) -> None:
    """Say which kernels have the plain schedule, of which layers, and why."""
    for number, kernel in enumerate(kernels):
        if kernel.refusal:
            sources = [func for func in functions if kernel_of[func.sym_name.data] == number]
            layers = describe(fuse([op.location for func in sources for op in func.block.ops]))
            text = f"kernel '{kernel.symbol}' is slow, as it has the plain schedule; of others: {kernel.refusal}"
            warnings.warn(f"{text} ({layers})", ScheduleWarning, stacklevel=2)


def _applied(tuned: Tuned | None, func: FuncOp, text: str, target: Target, cache: KernelCache) -> Applied | None:
    """Return the decisions of tuning about an anonymous function, of which `text` is printed."""
    if tuned is None:
        return None

    def space() -> str:
        name = code_key(target, f"space\n{text}")
        if (stored := cache.get(name)) is not None:
            return stored.decode(errors="replace")
        from ..lowering.kernel.space import kernel_space

        key = kernel_space(func, target.hardware).key
        cache.put(name, key.encode())
        return key

    try:
        return tuned.find(workload_key(text), target, space)
    except (VerifyException, ScheduleError):
        return None  # drafting the kernel says what is wrong with it, and in which layers


def _kernel(
    func: FuncOp,
    original: FuncOp,
    target: Target,
    key: str,
    cache: KernelCache,
    workers: Compilers,
    stored: Kernel | None,
    applied: Applied | None,
) -> Future[Kernel]:
    """The kernel of an anonymous function; `original` is the one that knows its layers.

    stored: what the cache has of it. applied: what tuning decided; decisions that its knobs do not allow are left out.
    """
    sources = source_folder(cache.folder)
    if stored is not None:
        done: Future[Kernel] = Future()
        write_source(stored, sources)
        done.set_result(stored)
        return done
    # All that lowering stands on is loaded where there is something to lower.
    from ..lowering.kernel.draft import draft_kernel

    try:
        try:
            draft = draft_kernel(func, target, key, sources, applied.decisions if applied is not None else None)
        except ScheduleError as error:
            if applied is None:
                raise
            _log.warning("%s: what was tuned, %s, is left out: %s", func.sym_name.data, applied.text, error)
            draft = draft_kernel(func, target, key, sources)
    except (VerifyException, ScheduleError):
        # Once more, for an error that names layers instead of slots.
        draft_kernel(with_kernel_sizes(original) if is_sized(original) else original, target, key)
        raise

    def finish(compile: Compile) -> Kernel:
        kernel = draft.finish(compile(draft.llvm, target, draft.lines))
        cache.put(key, encode(vars(kernel)))
        write_source(kernel, sources)
        return kernel

    return workers.submit(finish)


RecordT = TypeVar("RecordT", Kernel, Native)


def _stored(cache: KernelCache, key: str, kind: type[RecordT]) -> RecordT | None:
    """Return what the cache holds under a key, if that is a record of this kind."""
    if (data := cache.get(key)) is None:
        return None
    try:
        return kind(**cast(dict[str, Any], decode(data)))
    except (ValueError, TypeError):  # bytes that are no record, or fields of another kind's
        return None


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
    if (stored := _stored(cache, key, Native)) is not None:
        return stored
    native = compile_text(text, target, level=0 if _straight(module) else 1)
    cache.put(key, encode(vars(native)))
    return native


def _straight(module: ModuleOp) -> bool:
    """Return True if a main program has no branch: it loads, computes sizes and calls; LLVM's passes leave it alone."""
    return all(len(op.body.blocks) < 2 for op in module.ops if isinstance(op, llvm.FuncOp))
