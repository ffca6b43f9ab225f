"""Kernels from tir text to functions that run on numpy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import arith, math, vector
from xdsl.dialects import llvm as llvm_dialect
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from whence.dialects.llvm_ext import LLVMExt
from whence.dialects.tir import PrimFuncOp, Tir
from whence.lowering.kernel import print_with_lines
from whence.lowering.llvm_to_native.compile import Native, compile_text
from whence.lowering.llvm_to_native.emit import emit_module
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.tir_to_llvm.convert import LLVMKernel, convert

Array = NDArray[Any]
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_llvm = cast(Any, llvm)
_names = iter(range(1 << 30))


class Linked:
    """Object bytes in this process; `pieces` are the (begin, end) that parallel loops were split into."""

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


def _run(text: str, *arrays: Array, threads: int = 3) -> Linked:
    kernel, native = _compile(text)
    linked = Linked(native.object, text.split("@", 1)[1].split("(", 1)[0], threads)
    linked(arrays, kernel.workspace)
    return linked


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
