"""TVM's names at `driver.build_module`: kernels of schedules, in modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, cast, overload

from xdsl.dialects.builtin import BoolAttr, ModuleOp

from whence import kernels
from whence.dialects.tir import SCHEDULED, PrimFuncOp, prim_funcs
from whence.ir.containers import Map
from whence.kernels.function_table import FunctionTable
from whence.kernels.functions import Function
from whence.lowering.kernel.tuned import Tuned
from whence.lowering.llvm_to_native.target import Target
from whence.passes.tir.pipeline import run_tir_passes
from whence.relay.module import IRModule
from whence.support.doors import door
from whence.support.dtypes import INT
from whence.support.errors import PipelineError, ScheduleError
from whence.te.language.expr import Expr, Range, Read, Var
from whence.te.language.extents import size_expression
from whence.te.language.statements import Buffer, BufferStore, Stmt
from whence.te.language.tensor import Tensor
from whence.te.language.walks import walk
from whence.te.schedule.bounds import bounds_by_axis
from whence.te.schedule.schedule import Schedule
from whence.tir.function import PrimFunc
from whence.tir.stmt_functor import post_order_visit
from whence.tuning.records import records_of


@door()
def lower(
    inputs: Schedule | PrimFunc | IRModule,
    args: Sequence[Any] | str | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
    *,
    simple_mode: bool = False,
) -> IRModule:
    """Return the module of the loops of a schedule, or of kernels after the passes; what is given stays unchanged.

    The passes are those of models, in their order (`passes/tir/pipeline.py`), under the options of the PassContext.
    args: the tensors that are the kernel's arguments, in any order; by default those of the schedule. Of a stage that
    is computed on the way to an output, a call gets the elements that the others need; outputs that are not among them
    are not. A text is the name. binds: buffers that stand for tensors among args.
    simple_mode: return the loops before all passes. Loops that primitives made have the attribute `tir.is_scheduled`.
    Raises ScheduleError for a schedule that cannot be applied, and PipelineError for a bad option.
    """
    if isinstance(args, str):
        args, name = None, args
    if isinstance(inputs, Schedule):
        func = kernels.lower(inputs, args, name, binds, simple_mode=simple_mode)
        if inputs.primitives:
            func.attributes[SCHEDULED] = BoolAttr.from_bool(True)
        return IRModule.of(ModuleOp([func]))
    if args is not None:
        raise PipelineError("lower: expected no args beside functions, which have their own")
    source = IRModule({name: inputs}) if isinstance(inputs, PrimFunc) else inputs
    module = source.module.clone()
    if not simple_mode:
        for func in list(prim_funcs(module)):
            run_tir_passes(func)
    return source.holding(module)


@door()
def schedule_to_module(sch: Schedule, args: Sequence[Any] | None = None, name: str = "main") -> IRModule:
    """Return the module of the loops of a schedule before all passes, as `lower(.., simple_mode=True)`."""
    return lower(sch, args, name, simple_mode=True)


@door()
def InferBound(sch: Schedule) -> Map:
    """Return the range of each iteration variable, of the stages' and of the operations' axes, as expressions.

    `min` is a text where loops further out decide it. Raises ScheduleError for a schedule that cannot be carried out.
    """
    tensors = [*sch.arguments, *(tensor for operation in sch.operations for tensor in operation.outputs)]
    nodes = walk([extent for tensor in tensors for extent in tensor.shape if isinstance(extent, Expr)])
    known = {node.name: node for node in nodes if isinstance(node, Var)}
    names = enumerate(sch.func.size_names)
    variables = {f"s{number}": known[name] if name in known else Var(name, INT) for number, name in names}

    def number(value: Any) -> Any:
        return value if isinstance(value, str) else size_expression(value, variables)

    return Map({axis: Range(number(each.min), number(each.extent)) for axis, each in bounds_by_axis(sch).items()})


@door()
def ScheduleOps(sch: Schedule, bounds: object = None, debug_keep_trivial_loop: bool = False) -> Stmt:
    """Return the loops of a schedule as statements, before all passes; bounds are inferred."""
    del bounds, debug_keep_trivial_loop
    results = [tensor for operation in sch.outputs for tensor in operation.outputs]
    return schedule_to_module(sch, [*sch.arguments, *results])["main"].body


@door()
def SchedulePostProcToPrimFunc(
    args: Sequence[Tensor | Buffer | Var], stmt: Stmt, extern_buffer_map: Mapping[Tensor, Buffer] | None = None
) -> PrimFunc:
    """Return the kernel of statements that `ScheduleOps` gave: its parameters are the buffers named like `args`.

    Raises ScheduleError for an argument that the statements neither read nor write.
    """
    buffers: dict[str, Buffer] = {}

    def look(node: Any) -> None:
        buffer = node.buffer if isinstance(node, BufferStore | Read) else None
        if isinstance(buffer, Buffer):
            buffers.setdefault(buffer.name, buffer)

    post_order_visit(stmt, look)
    given = {tensor.name: buffer for tensor, buffer in (extern_buffer_map or {}).items()}
    names = [argument.name for argument in args]
    if missing := [name for name in names if name not in buffers and name not in given]:
        raise ScheduleError(f"SchedulePostProcToPrimFunc: expected buffers of the statements, got {', '.join(missing)}")
    return PrimFunc([buffers.get(name) or given[name] for name in names], stmt)


@door()
def create_prim_func(
    ops: Sequence[Tensor], index_dtype_override: str | None = None, *, name: str = "main", blocks: bool = True
) -> PrimFunc:
    """Return the unscheduled loops of te tensors, of which the placeholders are arguments, the others results.

    index_dtype_override: int64 or int32. Both give the same function, whose loops and indices have 64 bits (type
    `index`) and are shown as int32; a value that a compute makes of its axes is of int32, as without it.
    blocks: each tensor is a block over its axes, as in TVM; else there are loops alone. Raises ScheduleError for
    another dtype.
    """
    if index_dtype_override not in (None, "int32", "int64"):
        raise ScheduleError(f"create_prim_func: expected indices of int32 or int64, got {index_dtype_override}")
    return PrimFunc.of(kernels.create_prim_func(ops, name, blocks=blocks))


@overload
def build(
    inputs: Schedule | PrimFunc | PrimFuncOp | str,
    args: Sequence[Any] | None = None,
    target: str | Target = "native",
    *,
    name: str | None = None,
    binds: Mapping[Tensor, Buffer] | None = None,
    threads: int | None = None,
    tuned: str | PathLike[str] | Tuned | None = None,
) -> Function: ...
@overload
def build(
    inputs: IRModule | Mapping[Any, IRModule],
    args: None = None,
    target: str | Target = "native",
    *,
    name: None = None,
    binds: None = None,
    threads: int | None = None,
    tuned: str | PathLike[str] | Tuned | None = None,
) -> Function | FunctionTable: ...
@door()
def build(
    inputs: Schedule | PrimFunc | PrimFuncOp | IRModule | Mapping[Any, IRModule] | str,
    args: Sequence[Any] | None = None,
    target: str | Target = "native",
    *,
    name: str | None = None,
    binds: Mapping[Tensor, Buffer] | None = None,
    threads: int | None = None,
    tuned: str | PathLike[str] | Tuned | None = None,
) -> Function | FunctionTable:
    """Compile a schedule, a kernel or the text of one, or the kernels of a module, without changing what is given.

    inputs: a module of one kernel gives its function, one of several a module of functions by name; modules by targets
    give all of theirs. args: the tensors that a call passes arrays for, in this order: `f(a, b, c)` writes c if that is
    an output, and `f(a, b)` returns it. A call passes a number for a variable among args. They and binds are
    as for `lower`; default: as in `build_schedule`. tuned: records of tuning about kernels, as for `whence.compile`;
    `Function.tuned` says what was decided.
    Raises ScheduleError if the schedule cannot be carried out or a tensor is missing in args, PipelineError for a
    module without kernels.
    """
    if isinstance(inputs, IRModule):
        inputs = {target: inputs}
    if not isinstance(inputs, Mapping):
        return kernels.build(inputs, args, target, name=name, binds=binds, threads=threads, tuned=tuned)
    if args is not None:
        raise PipelineError("build: expected no args beside a module, whose functions have their own")
    records = records_of(tuned, Target.native(), "build")
    found = [(func, machine) for machine, module in inputs.items() for func in prim_funcs(module.module)]
    if not found:
        raise PipelineError("build: expected a module with kernels, got none; relay.build compiles functions of relay")
    return kernels.compiled_kernels(found, threads, records)


def build_for(
    inputs: Schedule | PrimFunc | PrimFuncOp | IRModule, target: str | Target | None = None
) -> Function | FunctionTable:
    """Compile for a target, as TVM's `target.build.llvm` does; without one for this machine. Errors as `build`."""
    return build(cast(Any, inputs), target=target or "native")
