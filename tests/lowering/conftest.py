"""Kernels from tir text, and whole relay networks, to functions that run on numpy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
import pytest
from fenced_kernels import Fenced
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import arith, math, vector
from xdsl.dialects import llvm as llvm_dialect
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import SSAValue
from xdsl.parser import Parser

from whence.compiler.compile import compile as compile_model
from whence.dialects.element_types import tensor_type
from whence.dialects.llvm_ext import LLVMExt
from whence.dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import Operator
from whence.dialects.tir import PrimFuncOp, Tir
from whence.lowering.kernel.printing import print_with_lines
from whence.lowering.llvm_to_native.compile import Native, compile_text
from whence.lowering.llvm_to_native.emit import emit_module
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.lowering.tir_to_llvm.convert import LLVMKernel, convert
from whence.passes.tir.pipeline import run_tir_passes
from whence.provenance.audit import check_located
from whence.provenance.builder import LocatedBuilder
from whence.provenance.span import layer_location
from whence.support.dtypes import SMALL
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_llvm = cast(Any, llvm)
_names = iter(range(1 << 30))


class Linked:
    """Object bytes in this process; `pieces` are the (begin, end) that parallel loops were split into."""

    assembly: str = ""

    def __init__(self, code: bytes, symbol: str, threads: int = 3):
        self.pieces: list[tuple[int, int]] = []

        def parallel_for(pool: int, body: int, context: int, n: int) -> None:
            run = BODY(body)
            step = -(-n // threads)
            for begin in range(0, n, step):
                self.pieces.append((begin, min(n, begin + step)))
                run(context, *self.pieces[-1])

        self._callback = _PARALLEL(parallel_for)
        address = ctypes.cast(self._callback, ctypes.c_void_p).value
        builder = _llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        builder.import_symbol("whence_parallel_for", address).export_symbol(symbol)
        self._jit = _llvm.create_lljit_compiler()
        self._library = builder.link(self._jit, f"test{next(_names)}")
        self.address = int(self._library[symbol])

    def __call__(self, arrays: Sequence[Array], workspace: int = 0) -> None:
        scratch = np.zeros(workspace + 64, np.uint8)
        start = scratch.ctypes.data + -scratch.ctypes.data % 64
        pointers = [a.ctypes.data for a in arrays] + [start if workspace else 0, 0]
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(self.address)(*pointers)


def _parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Tir, arith.Arith, math.Math, vector.Vector, llvm_dialect.LLVM, LLVMExt):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def _lower(text: str) -> LLVMKernel:
    func = _parse(text).body.block.first_op
    assert isinstance(func, PrimFuncOp)
    kernel = convert(func, print_with_lines(func)[1])
    kernel.module.verify()
    return kernel


def _compile(text: str, target: Target | None = None) -> tuple[LLVMKernel, Native]:
    kernel, target = _lower(text), target or Target.native()
    module = emit_module(kernel.module, lines=kernel.lines, source="test.tir", target=target)
    return kernel, compile_text(module, target)


def _run(text: str, *arrays: Array, threads: int = 3, target: Target | None = None) -> Linked:
    kernel, native = _compile(text, target)
    linked = Linked(native.object, text.split("@", 1)[1].split("(", 1)[0], threads)
    linked(arrays, kernel.workspace)
    linked.assembly = native.assembly
    return linked


def _run_schedule(schedule: Schedule, *arrays: Array) -> PrimFuncOp:
    """Lower a schedule, checking locations after each step, and call it; returns the prim_func before the tir passes.

    All arrays, inputs first, then outputs, lie between NaNs (or huge integers): what is read outside shows in the
    result, what is written outside fails.
    """
    func = lower_schedule(schedule)
    first = func.clone()
    first.verify()
    check_located(func, "convert-te-to-tir")
    run_tir_passes(func)
    func.verify()
    check_located(func, "tir passes")
    kernel = convert(func, print_with_lines(func)[1])
    kernel.module.verify()
    check_located(kernel.module, "convert-tir-to-llvm")
    target = Target.native()
    text = emit_module(kernel.module, lines=kernel.lines, source="test.tir", target=target)
    linked = Linked(compile_text(text, target).object, func.sym_name.data)
    fenced = [Fenced(array) for array in arrays]
    linked([one.inside for one in fenced], kernel.workspace)
    for array, one in zip(arrays, fenced, strict=True):
        array[...] = one.inside
        one.check()
    return first


@pytest.fixture
def run_schedule() -> Callable[..., PrimFuncOp]:
    """Lower, compile and call a schedule on arrays: inputs, then outputs, which it overwrites."""
    return _run_schedule


@pytest.fixture
def parse() -> Callable[[str], ModuleOp]:
    """A verified module from text of tir, llvm and the dialects they use."""
    return _parse


@pytest.fixture
def lower() -> Callable[[str], LLVMKernel]:
    """The llvm form of a module of one prim_func, verified, with lines."""
    return _lower


@pytest.fixture
def compiled() -> Callable[..., tuple[LLVMKernel, Native]]:
    """That and its machine code, for the host or a given target."""
    return _compile


@pytest.fixture
def run() -> Callable[..., Linked]:
    """Compile a prim_func and call it on arrays: inputs, then outputs, which it overwrites. Loops get 3 threads."""
    return _run


class Net:
    """`@main` over some arrays. `net.add(cls, *operands, **attributes)` is a layer; arrays become constants."""

    def __init__(self, *inputs: Array):
        self.module = ModuleOp([])
        self.func = FuncOp("main", [tensor_type(array) for array in inputs], [], location=layer_location("main", "", 0))
        self.module.body.block.add_op(self.func)
        self.builder = LocatedBuilder(self.func.block)
        self.inputs: list[SSAValue] = list(self.func.block.args)
        self.layers = 0

    def add(self, kind: type[Operator], *operands: SSAValue | Array | None, **attributes: Any) -> SSAValue:
        """The first result of a new layer, `layer1`, `layer2`, ..."""
        return self.add_all(kind, *operands, **attributes)[0]

    def add_all(self, kind: type[Operator], *operands: SSAValue | Array | None, **attributes: Any) -> list[SSAValue]:
        """All results of a new layer."""
        self.layers += 1
        build: Callable[..., Operator] = kind
        with self.builder.located(layer_location(f"layer{self.layers}", "net", self.layers)):
            values = [
                operand if operand is None else self._value(operand, position)
                for position, operand in enumerate(operands)
            ]
            return list(self.builder.add(build(*values, **attributes)).results)

    def _value(self, operand: SSAValue | Array, position: int) -> SSAValue:
        if isinstance(operand, SSAValue):
            return operand
        return self.builder.add(ConstantOp.of(operand, self.module, f"layer{self.layers}.p{position}")).result

    def finish(self, *results: SSAValue) -> ModuleOp:
        with self.builder.located(layer_location("return", "net", 0)):
            self.builder.add(ReturnOp(*results))
        for argument in self.func.block.args:
            argument.location = layer_location(f"input{argument.index}", "net", 0)
        self.func.update_type()
        self.module.verify()
        return self.module


_RELATIVE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 4e-6, "float64": 1e-13}


def _agree(got: Array, want: Array) -> None:
    """Equal shapes, dtypes, NaNs, infinities and integers; floats within the rounding of a few operations."""
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    if want.dtype.name in SMALL:
        np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))
        return
    relative = _RELATIVE[want.dtype.name]
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.abs(want[np.isfinite(want)])
    np.testing.assert_allclose(got, want, rtol=relative, atol=relative * float(finite.max(initial=0)))


def _check_model(module: ModuleOp, *inputs: Array, threads: int = 1, levels: Sequence[int] = (0, 3)) -> None:
    """The module gives at these opt levels what the operators' definitions in numpy say."""
    wanted = evaluate_module(module, inputs)
    for level in levels:
        found = compile_model(module, opt_level=level, threads=threads, audit=True)(*inputs)
        results = found if isinstance(found, tuple) else (found,)
        for at, (got, want) in enumerate(zip(results, wanted, strict=True)):
            try:
                _agree(got, want)
            except AssertionError as error:
                error.add_note(f"result {at} of {len(wanted)}, opt level {level}")
                raise


@pytest.fixture
def make_net() -> type[Net]:
    return Net


@pytest.fixture
def check_model() -> Callable[..., None]:
    """Compile a relay module, at opt levels 0 and 3 by default, and compare what it computes on arrays with numpy."""
    return _check_model
