"""From a te schedule or tir text to loops, and to a function on numpy arrays: tools of a kernel engineer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import ParseError

from whence.dialects.element_types import DTYPES
from whence.dialects.kernel_context import kernel_context
from whence.dialects.located_parser import LocatedParser
from whence.dialects.sizes import UndecidedSize
from whence.dialects.sizes.kernel import kernel_size
from whence.dialects.te import packed_calls
from whence.dialects.tir import BufferType, PrimFuncOp
from whence.kernels.function_table import FunctionTable
from whence.kernels.functions import Function
from whence.kernels.open_functions import OpenFunction
from whence.lowering.kernel.tuned import TUNED, Tuned
from whence.lowering.kernel.written import chosen
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.passes.tir.pipeline import run_tir_passes
from whence.passes.transform.passes import HoldsModule
from whence.reading.textio import one_line
from whence.support.doors import door
from whence.support.errors import FrontendError, PipelineError, ScheduleError
from whence.te.language.expr import Var
from whence.te.language.extents import Sizes, extent_value
from whence.te.language.statements import Buffer
from whence.te.language.tensor import PlaceholderOp
from whence.te.language.tensor import Tensor as TeTensor
from whence.te.schedule.create import create_schedule, with_sizes
from whence.te.schedule.normalize import normalize
from whence.te.schedule.schedule import Schedule
from whence.tuning.records import records_of


@door()
def lower(
    schedule: Schedule,
    args: Sequence[TeTensor | Var | Buffer] | str | None = None,
    name: str = "main",
    binds: Mapping[TeTensor, Buffer] | None = None,
    *,
    simple_mode: bool = False,
) -> PrimFuncOp:
    """Return the loops of a schedule, which stays unchanged.

    The passes are those of models, in their order (`passes/tir/pipeline.py`), under the options of the PassContext.
    args: the tensors that are the kernel's arguments, in any order; by default those of the schedule. Of a stage that
    is computed on the way to an output, a call gets the elements that the others need; outputs that are not among them
    are not. A text is the name. binds: buffers that stand for tensors among args.
    simple_mode: return the loops of the schedule before all passes.
    Raises ScheduleError for a schedule that cannot be applied, and PipelineError for a bad option.
    """
    if isinstance(args, str):
        args, name = None, args
    func = _loops(schedule, _Signature.of(schedule, args, "lower", binds), name, {})
    if not simple_mode:
        run_tir_passes(func)
    return func


@door()
def create_prim_func(tensors: Sequence[TeTensor], name: str = "main", *, blocks: bool = False) -> PrimFuncOp:
    """The unscheduled loops of te tensors: arguments are the placeholders among `tensors`, results the others.

    blocks: each tensor is a block over its axes, for `tir.Schedule`, as in TVM.
    """
    inputs = [tensor for tensor in tensors if isinstance(tensor.op, PlaceholderOp)]
    outputs = [tensor for tensor in tensors if tensor not in inputs]
    return _loops(create_schedule(outputs, inputs, name), None, name, {}, blocks=blocks)


@dataclass(frozen=True)
class _Signature:
    """The arguments of a kernel."""

    parameters: tuple[TeTensor | Var, ...]
    """The arguments in the order of a call."""
    inputs: tuple[tuple[TeTensor, int | None], ...]
    """Each with its position among the arguments of the schedule's function; None: nothing reads it."""
    outputs: tuple[TeTensor, ...]
    """The tensors that the kernel writes for its caller: results, and those on the way to them."""

    @staticmethod
    def of(
        schedule: Schedule,
        args: Sequence[TeTensor | Var | Buffer] | None,
        what: str,
        binds: Mapping[TeTensor, Buffer] | None = None,
    ) -> _Signature | None:
        """Return the signature for `args`; None without `args`. Raises ScheduleError for missing or unknown tensors."""
        if args is None:
            return None
        tensors = {buffer: tensor for tensor, buffer in (binds or {}).items()}
        for buffer, tensor in tensors.items():
            buffer.check_packed(what)
            if (buffer.shape, buffer.dtype) != (tensor.shape, tensor.dtype):
                raise ScheduleError(f"{what}: expected a buffer like {tensor} in binds, got {buffer}")
        parameters = [tensors.get(each, each) if isinstance(each, Buffer) else each for each in args]
        inputs: list[tuple[TeTensor, int | None]] = []
        outputs: list[TeTensor] = []
        places = {tensor: position for position, tensor in enumerate(schedule.arguments)}
        for parameter in parameters:
            if isinstance(parameter, Var):
                if schedule.open is None:
                    raise ScheduleError(
                        f"{what}: expected no variables among args, as all have values, got {parameter}"
                    )
            elif isinstance(parameter, Buffer):
                raise ScheduleError(f"{what}: expected a tensor for '{parameter.name}' in binds, got none")
            elif not isinstance(parameter, TeTensor):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ScheduleError(f"{what}: expected tensors and variables as args, got {type(parameter).__name__}")
            elif isinstance(parameter.op, PlaceholderOp):
                inputs.append((parameter, places.get(parameter)))
            elif (stage := schedule.operations.get(parameter.op)) is None:
                raise ScheduleError(f"{what}: expected tensors of the schedule as args, got '{parameter.name}'")
            elif stage.inlined:
                raise ScheduleError(
                    f"{what}: expected tensors that are computed as args, got '{parameter.name}', inlined"
                )
            else:
                outputs.append(parameter)
        named = [parameter for parameter in parameters if isinstance(parameter, TeTensor)]
        if len(set(named)) != len(named):
            raise ScheduleError(f"{what}: expected each tensor once among args")
        if missing := [tensor.name for tensor in schedule.arguments if tensor not in named]:
            raise ScheduleError(f"{what}: expected every placeholder among args, missing {', '.join(missing)}")
        arguments = [parameter for parameter in parameters if isinstance(parameter, TeTensor | Var)]
        return _Signature(tuple(arguments), tuple(inputs), tuple(outputs))

    @property
    def order(self) -> list[int]:
        """The position of each argument of the kernel among a call's tensors."""
        tensors = [parameter for parameter in self.parameters if isinstance(parameter, TeTensor)]
        return [tensors.index(tensor) for tensor in (*(tensor for tensor, _ in self.inputs), *self.outputs)]

    def results(self, schedule: Schedule, lowered: Schedule) -> list[SSAValue]:
        """Return the values of the outputs in `lowered`, a copy of the schedule that is normalized."""
        stages = {stage.origin: stage for stage in lowered.stages}
        return [stages[schedule.operations[each.op].origin].outputs[each.value_index] for each in self.outputs]

    def arrange(self, func: PrimFuncOp, sizes: Sizes) -> None:
        """Put the inputs of a kernel of the schedule into this order; the outputs are in it."""
        block = func.block
        old = list(block.args)[: len(block.args) - func.outputs.value.data]
        for number, (tensor, position) in enumerate(self.inputs):
            shape = [extent_value(extent, sizes) for extent in tensor.shape]
            type_ = BufferType.of(shape, DTYPES[tensor.dtype]) if position is None else old[position].type
            new = block.insert_arg(type_, len(old) + number)
            new.name_hint = tensor.name if new.is_valid_name(tensor.name) else None
            new.location = tensor.op.location if position is None else old[position].location
            if position is not None:
                old[position].replace_all_uses_with(new)
        for argument in old:
            block.erase_arg(argument)
        for argument, tensor in zip(block.args[len(self.inputs) :], self.outputs, strict=True):
            argument.name_hint = tensor.name if argument.is_valid_name(tensor.name) else None


def _loops(
    schedule: Schedule,
    signature: _Signature | None,
    name: str,
    sizes: Mapping[str, float],
    *,
    blocks: bool = False,
) -> PrimFuncOp:
    """Return the loops of a schedule before all passes; where its sizes are open, for these sizes or for all."""
    opened = schedule.open
    known = opened is not None and not (opened.symbolic and not sizes)
    lowered = with_sizes(schedule, sizes) if known else schedule.snapshot()
    normalize(lowered)
    results = None if signature is None else signature.results(schedule, lowered)
    func = lower_schedule(lowered, results=results, own_layouts=True, blocks=blocks)
    func.sym_name = StringAttr(name)
    if signature is not None:
        names = opened.names if opened is not None else ()
        symbols = {each: kernel_size(number) for number, each in enumerate(names)}
        signature.arrange(func, {**symbols, **sizes})
    return func


def _target(target: str | Target) -> Target:
    return target if isinstance(target, Target) else Target.parse(target)


@door()
def build(
    inputs: Schedule | PrimFuncOp | HoldsModule | str,
    args: Sequence[TeTensor | Var | Buffer] | None = None,
    target: str | Target = "native",
    *,
    name: str | None = None,
    binds: Mapping[TeTensor, Buffer] | None = None,
    threads: int | None = None,
    tuned: str | PathLike[str] | Tuned | None = None,
) -> Function:
    """Compile a schedule, a `tir.prim_func` or the text of one, without changing it.

    args: the tensors that a call passes arrays for, in this order: `f(a, b, c)` writes c if that is an output, and
    `f(a, b)` returns it. A call passes a number for a variable among args. They and binds are as for `lower`; default:
    as in `build_schedule`. A kernel whose loops have no marks of a schedule gets one by strategies (`scheduled`).
    tuned: records of `tune_prim_func`, as of `whence.compile`; they come before strategies, and `Function.tuned` says
    what was decided.
    Raises ScheduleError if the schedule cannot be carried out or a tensor is missing in args.
    """
    if not isinstance(inputs, Schedule):
        if args is not None:
            raise PipelineError("build: expected no args beside a prim_func, which has its own")
        machine = _target(target)
        func, applied = chosen(kernel_of(inputs), machine, records_of(tuned, machine, "build"))
        return Function(func.clone(), machine, threads, applied=applied)
    if tuned is not None:
        raise PipelineError("build: expected no records of tuning beside a schedule, which decides all by itself")
    return _build(inputs, _Signature.of(inputs, args, "build", binds), target, name, threads)


def compiled_kernels(
    kernels: Iterable[tuple[PrimFuncOp, str | Target]],
    threads: int | None = None,
    tuned: str | PathLike[str] | Tuned | None = None,
) -> Function | FunctionTable:
    """Compile kernels for their targets, as `build` does: one gives its function, several functions by name."""
    functions = {
        func.sym_name.data: build(func, target=target, threads=threads, tuned=tuned) for func, target in kernels
    }
    return FunctionTable(functions) if len(functions) > 1 else next(iter(functions.values()))


@door()
def build_schedule(schedule: Schedule, *, target: str | Target = "native", threads: int | None = None) -> Function:
    """Compile a schedule to a function on numpy arrays, without changing the schedule.

    The arrays of a call decide open sizes. Raises ScheduleError when the schedule cannot be
    carried out, PipelineError where an option does not fit.
    """
    return _build(schedule, None, target, None, threads)


def _build(
    schedule: Schedule, signature: _Signature | None, target: str | Target, name: str | None, threads: int | None
) -> Function:
    machine, symbol = _target(target), name or schedule.func.sym_name.data

    def function(source: Schedule, sizes: Mapping[str, float]) -> Function:
        intrinsics = source.intrinsics.values()
        calls = [*packed_calls(source.func), *(op for intrin in intrinsics for op in intrin.packed_calls)]
        order = None if signature is None else signature.order
        return Function(_loops(source, signature, symbol, sizes), machine, threads, calls, order)

    if schedule.open is None:
        return function(schedule, {})
    # Later primitives on the schedule must not change this build.
    kept = schedule.copy()
    parameters = schedule.open.parameters if signature is None else signature.parameters
    outputs = schedule.open.outputs if signature is None else signature.outputs
    symbolic = None
    if schedule.open.symbolic:
        try:
            symbolic = function(kept, {})
        except UndecidedSize:
            # Code that depends on a size is made for each one.
            pass
    return OpenFunction(symbol, parameters, outputs, lambda sizes: function(kept, sizes), symbolic)


@door()
def scheduled(func: PrimFuncOp | HoldsModule | str, target: str | Target = "native") -> PrimFuncOp:
    """Return a kernel with loops by the compiler's strategies, if the loops that it has are surely tensor expressions.

    The rows that its stages are scheduled by are its attribute `raised`. Another kernel is returned as it is: one that
    a schedule made (`tir.is_scheduled`), or whose loops are parallel, vectorized, unrolled or annotated, or do more
    than `tir_to_te` says. None is changed under `tir.raise_kernels=False`, nor where passes of one's own, or checks of
    bounds, expect the loops as written. A record of tuning in the scope `autotvm.apply_history_best` comes first.
    Raises errors as `build_prim_func` does.
    """
    machine = _target(target)
    return chosen(kernel_of(func), machine, TUNED.get()).func


@door()
def build_prim_func(
    func: PrimFuncOp | HoldsModule | str, *, target: str | Target = "native", threads: int | None = None
) -> Function:
    """Compile a `tir.prim_func`, its text, or a `tir.PrimFunc`, to a function on numpy arrays, without changing the op.

    The function takes all arguments but the last `outputs`, and returns these. A call raises WhenceError if a
    `tir.assert` does not hold, or with `tir.instrument_bound_checkers` if an access leaves its buffer.
    Raises FrontendError for malformed text, VerifyException for a broken rule of the dialect.
    """
    return Function(kernel_of(func).clone(), _target(target), threads)


def kernel_of(func: PrimFuncOp | HoldsModule | str) -> PrimFuncOp:
    """The kernel that is meant, verified."""
    if not isinstance(func, PrimFuncOp):
        func = parsed_prim_func(func) if isinstance(func, str) else only_kernel(func.module)
    func.verify()
    return func


def parsed_prim_func(text: str) -> PrimFuncOp:
    """Return the kernel of a text; raises FrontendError for malformed text, PipelineError if it has not one kernel."""
    try:
        return only_kernel(LocatedParser(kernel_context(), text, "<text>").parse_module())
    except ParseError as error:
        raise FrontendError(f"build_prim_func: {one_line(error)}") from error


def only_kernel(module: ModuleOp) -> PrimFuncOp:
    """The kernel of a module; raises PipelineError for one that has not one kernel alone."""
    functions = [op for op in module.ops if isinstance(op, PrimFuncOp)]
    if len(functions) != 1 or len(module.body.block.ops) != 1:
        raise PipelineError(f"build_prim_func: expected one tir.prim_func, got {len(functions)}")
    return functions[0]
