"""From a te schedule or tir text to loops, and to a function on numpy arrays: what a kernel engineer works with."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, StringAttr
from xdsl.dialects.math import Math
from xdsl.dialects.vector import Vector
from xdsl.utils.exceptions import ParseError

from whence.dialects.element_types import numpy_dtype
from whence.dialects.te import ExternOp
from whence.dialects.tir import BufferType, PrimFuncOp, Tir, buffer_of
from whence.located_parser import LocatedParser
from whence.lowering.kernel.printing import print_with_lines
from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.emit import emit_module
from whence.lowering.llvm_to_native.link import link
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.llvm_to_native.thread_pool import pool_code, thread_pool
from whence.lowering.packed_calls import packed_call
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.lowering.tir_to_llvm.constants import ASSERT_FAILED
from whence.lowering.tir_to_llvm.convert import convert
from whence.passes.tir.instrument_bound_checkers import CALLBACK, sites_of
from whence.passes.tir.pipeline import run_tir_passes
from whence.runtime.assertions import FailedAssertions
from whence.runtime.bounds import BoundErrors
from whence.runtime.packed import PackedFunctions
from whence.runtime.program import PARALLEL_FOR
from whence.runtime.tensors import Arguments, Tensor, address, aligned_empty, readable
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, PipelineError
from whence.te.language.tensor import PlaceholderOp
from whence.te.language.tensor import Tensor as TeTensor
from whence.te.schedule.create import create_schedule
from whence.te.schedule.schedule import Schedule
from whence.textio import one_line


def lower(schedule: Schedule, name: str = "main", *, simple_mode: bool = False) -> PrimFuncOp:
    """The loops of a schedule, which stays as it is.

    The passes are those of models, in their order (`passes/tir/pipeline.py`), under the options of the PassContext.
    simple_mode: as the schedule says, before all of them.
    Raises ScheduleError when the schedule cannot be carried out, PipelineError where an option does not fit.
    """
    func = lower_schedule(schedule.snapshot())
    func.sym_name = StringAttr(name)
    if not simple_mode:
        run_tir_passes(func)
    return func


def create_prim_func(tensors: Sequence[TeTensor], name: str = "main") -> PrimFuncOp:
    """The unscheduled loops of te tensors: arguments are the placeholders among `tensors`, results the others."""
    inputs = [tensor for tensor in tensors if isinstance(tensor.op, PlaceholderOp)]
    outputs = [tensor for tensor in tensors if tensor not in inputs]
    return lower(create_schedule(outputs, inputs, name), name, simple_mode=True)


class Function:
    """A compiled kernel: call it with its inputs, in order; it returns its output, or a tuple of them."""

    def __init__(self, func: PrimFuncOp, target: Target, threads: int | None, calls: Sequence[ExternOp] = ()):
        """func: loops as they are written, consumed here; calls: the packed calls in them."""
        self.name = symbol = func.sym_name.data
        specs = [_spec(buffer_of(value)) for value in func.block.args]
        inputs = len(specs) - func.outputs.value.data
        self._inputs = specs[:inputs]
        self._arguments = Arguments(self._inputs, specs[inputs:])
        run_tir_passes(func)
        self.tir, lines = print_with_lines(func)
        low = convert(func, lines)
        self.llvm = emit_module(low.module, lines=low.lines, source=f"{symbol}.tir", target=target)
        native = compile_text(self.llvm, target)
        self.assembly = native.assembly
        self._packed = PackedFunctions(map(packed_call, calls))
        self._sites = sites_of(func)
        self._bounds, self._assertions = BoundErrors(), FailedAssertions()
        imports = {
            PARALLEL_FOR: pool_code().parallel_for,
            CALLBACK: self._bounds.address,
            ASSERT_FAILED: self._assertions.address,
            **self._packed.symbols,
        }
        self._code = link([native.object], [symbol], imports)
        count = len(specs) + 2
        self._call: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(self._code[symbol])
        self._workspace = aligned_empty((low.workspace,), np.uint8)
        self._scratch = address(self._workspace)
        self._pool = thread_pool(threads)

    def __call__(self, *arrays: Array) -> Tensor | tuple[Tensor, ...]:
        if len(arrays) != len(self._inputs):
            raise FrontendError(f"function: expected {len(self._inputs)} inputs, got {len(arrays)}")
        if (addresses := self._arguments.ready(arrays)) is None:
            arrays = self._checked(arrays)
            addresses = [address(array) for array in arrays]
        results, places = self._arguments.outputs()
        self._call(*addresses, *places, self._scratch, self._pool.handle or None)
        self._packed.check()
        self._assertions.check(self.name)
        self._bounds.check(self.name, self._site)
        return results[0] if len(results) == 1 else tuple(results)

    def _checked(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """The inputs, such as the kernel can read; raises FrontendError when they are of another shape or dtype."""
        for position, (array, (shape, dtype)) in enumerate(zip(arrays, self._inputs, strict=True)):
            if array.shape != shape or array.dtype != dtype:
                raise FrontendError(
                    f"function: expected input {position} of {dtype}{list(shape)}, got {array.dtype}{list(array.shape)}"
                )
        return tuple(readable(array) for array in arrays)

    def _site(self, number: int) -> tuple[str, list[str]]:
        site = self._sites[number]
        return site.buffer, [f"layer '{layer}'" for layer in site.layers]


def _spec(type_: BufferType) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    return type_.get_shape(), numpy_dtype(type_.element_type)


def _target(target: str | Target) -> Target:
    return target if isinstance(target, Target) else Target.parse(target)


def build_schedule(schedule: Schedule, *, target: str | Target = "native", threads: int | None = None) -> Function:
    """Compile a schedule to a function on numpy arrays; the schedule stays as it is.

    Raises ScheduleError when the schedule cannot be carried out, PipelineError where an option does not fit.
    """
    calls = [op for op in schedule.func.block.ops if isinstance(op, ExternOp) and op.packed is not None]
    func = lower(schedule, schedule.func.sym_name.data, simple_mode=True)
    return Function(func, _target(target), threads, calls)


def build_prim_func(func: PrimFuncOp | str, *, target: str | Target = "native", threads: int | None = None) -> Function:
    """Compile a `tir.prim_func`, or the text of one, to a function on numpy arrays; the op stays as it is.

    The function takes what comes before the last `outputs` arguments, and makes those. Where a `tir.assert` does not
    hold, or under `tir.instrument_bound_checkers` an access leaves its buffer, a call of it raises WhenceError.
    Raises FrontendError for text that is none, VerifyException for what breaks a rule of the dialect.
    """
    if isinstance(func, str):
        func = _parsed(func)
    func.verify()
    return Function(func.clone(), _target(target), threads)


def _parsed(text: str) -> PrimFuncOp:
    context = Context()
    for dialect in (Builtin, Tir, Arith, Math, Vector):
        context.load_dialect(dialect)
    try:
        module = LocatedParser(context, text, "<text>").parse_module()
    except ParseError as error:
        raise FrontendError(f"build_prim_func: {one_line(error)}") from error
    found = [op for op in module.ops if isinstance(op, PrimFuncOp)]
    if len(found) != 1 or len(module.body.block.ops) != 1:
        raise PipelineError(f"build_prim_func: expected the text of one tir.prim_func, got {len(found)}")
    return found[0]
