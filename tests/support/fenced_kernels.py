"""Runs tir functions on arrays that lie between values which no computation should meet."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.dialects.tir import PrimFuncOp
from whence.lowering.kernel.printing import print_with_lines
from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.emit import emit_module
from whence.lowering.llvm_to_native.link import link
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.tir_to_llvm.convert import convert

Array = NDArray[Any]
_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_MARGIN = 1024
_PIECES = 3


def _backwards(pool: int, body: int, context: int, n: int) -> None:
    """A parallel loop in pieces, the last first: what depends on the order of passes shows."""
    run = _BODY(body)
    step = max(1, -(-n // _PIECES))
    for begin in reversed(range(0, n, step)):
        run(context, begin, min(n, begin + step))


_callback = _PARALLEL(_backwards)


class Fenced:
    """A copy of an array between values that no computation should meet."""

    def __init__(self, array: Array):
        fence = np.full(_MARGIN, np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).max // 2, array.dtype)
        self._whole = np.concatenate([fence, array.ravel(), fence])
        self.inside = self._whole[_MARGIN : self._whole.size - _MARGIN].reshape(array.shape)
        self._fence = fence

    def check(self) -> None:
        """Fail when something was written beside the array."""
        for side in (self._whole[:_MARGIN], self._whole[self._whole.size - _MARGIN :]):
            equal = np.array_equal(side, self._fence, equal_nan=side.dtype.kind == "f")
            assert equal, "written outside of a buffer"


def run_kernel(func: PrimFuncOp, inputs: Sequence[Array], outputs: Sequence[Array], level: int) -> list[Array]:
    """The results of a lowered function that has run through the tir passes, compiled at an opt level of LLVM.

    outputs: arrays of the results' shapes and dtypes, of which nothing else is used.
    """
    kernel = convert(func, print_with_lines(func)[1])
    target = Target.native()
    text = emit_module(kernel.module, lines=kernel.lines, source="test.tir", target=target)
    native = compile_text(text, target, level=level)
    address = ctypes.cast(_callback, ctypes.c_void_p).value
    assert address is not None
    symbol = func.sym_name.data
    library = link([native.object], [symbol], {"whence_parallel_for": address})
    garbage = [np.full(a.shape, np.nan if a.dtype.kind == "f" else 77, a.dtype) for a in outputs]
    fenced = [Fenced(array) for array in (*inputs, *garbage)]
    workspace = np.full(kernel.workspace + 64, 0xFF, np.uint8)
    start = workspace.ctypes.data + -workspace.ctypes.data % 64
    pointers = [one.inside.ctypes.data for one in fenced] + [start if kernel.workspace else 0, 0]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(library[symbol])(*pointers)
    for one in fenced:
        one.check()
    return [one.inside for one in fenced[len(inputs) :]]
