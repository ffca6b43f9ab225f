"""From a te schedule to loops, and to a function on numpy arrays: what a kernel engineer works with."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from whence.dialects.relay.constants import Array, numpy_dtype
from whence.dialects.te import ExternOp
from whence.dialects.tir import PrimFuncOp
from whence.lowering.kernel import print_with_lines
from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.emit import emit_module
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.lowering.tir_to_llvm.convert import convert
from whence.passes.tir.pipeline import run_tir_passes
from whence.provenance.diagnostics import FrontendError
from whence.runtime.jit import link
from whence.runtime.packed import PackedFunctions
from whence.runtime.tensors import Tensor, address, aligned_empty, readable
from whence.runtime.threads import ThreadPool, pool_library
from whence.te.language import create_schedule
from whence.te.schedule import Schedule
from whence.te.tensor import PlaceholderOp
from whence.te.tensor import Tensor as TeTensor


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
    """A compiled schedule: call it with its inputs, in order; it returns its output, or a tuple of them."""

    def __init__(self, schedule: Schedule, target: Target, threads: int | None):
        func = lower(schedule, schedule.func.sym_name.data)
        self.tir, lines = print_with_lines(func)
        low = convert(func, lines)
        self.llvm = emit_module(low.module, lines=low.lines, source=f"{func.sym_name.data}.tir", target=target)
        native = compile_text(self.llvm, target)
        self.assembly = native.assembly
        symbol = func.sym_name.data
        self._library = pool_library()
        calls = [op for op in schedule.func.block.ops if isinstance(op, ExternOp) and op.packed is not None]
        self._packed = PackedFunctions(calls)
        imports = {"whence_parallel_for": self._library["whence_parallel_for"], **self._packed.symbols}
        self._code = link([native.object], [symbol], imports)
        self._inputs = [_spec(value) for value in schedule.func.block.args]
        self._outputs = [_spec(value) for value in schedule.func.return_op.values]
        count = len(self._inputs) + len(self._outputs) + 2
        self._call: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(self._code[symbol])
        self._workspace = aligned_empty((low.workspace,), np.uint8)
        self._pool = ThreadPool(threads)

    def __call__(self, *arrays: Array) -> Tensor | tuple[Tensor, ...]:
        if len(arrays) != len(self._inputs):
            raise FrontendError(f"function: expected {len(self._inputs)} inputs, got {len(arrays)}")
        for position, (array, (shape, dtype)) in enumerate(zip(arrays, self._inputs, strict=True)):
            if array.shape != shape or array.dtype != dtype:
                raise FrontendError(
                    f"function: expected input {position} of {dtype}{list(shape)}, got {array.dtype}{list(array.shape)}"
                )
        given = [readable(array) for array in arrays]
        results = [aligned_empty(shape, dtype) for shape, dtype in self._outputs]
        pointers = [address(array) for array in (*given, *results)]
        self._call(*pointers, address(self._workspace), self._pool.handle or None)
        self._packed.check()
        return results[0] if len(results) == 1 else tuple(results)


def _spec(value: SSAValue) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    type_ = cast(TensorType[Attribute], value.type)
    return type_.get_shape(), numpy_dtype(type_.element_type)


def build_schedule(schedule: Schedule, *, target: str | Target = "native", threads: int | None = None) -> Function:
    """Compile a schedule to a function on numpy arrays; the schedule stays as it is."""
    machine = target if isinstance(target, Target) else Target.parse(target)
    return Function(schedule, machine, threads)
