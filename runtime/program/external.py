"""Functions of other compilers within a program: each is a kernel whose code is a Python function on numpy arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from ...support.dtypes import Array
from ...support.errors import WhenceError, expectation
from ..values.packed import View
from ..values.tensors import Kind

ExternalFunction: TypeAlias = Callable[..., "Array | Sequence[Array]"]
"""A function from one array per input, a read-only view, to the output, or to several in order."""


FALLBACK = "fallback"
"""The last word in the name of a compiler that leaves single operators to a library: `onnxruntime fallback`."""


class External(NamedTuple):
    """A kernel that another compiler's code computes."""

    symbol: str
    compiler: str
    """The name of that compiler."""
    function: ExternalFunction
    inputs: tuple[Kind, ...]
    outputs: tuple[Kind, ...]
    layers: str
    """The layers that an error names."""


class ExternalFunctions:
    """The C functions of external kernels; they live as long as this object.

    An exception cannot pass through native code: it is stored for its thread, whose outputs are zeros from then on,
    and `check` raises it.
    """

    def __init__(self, externals: Iterable[External]):
        self.symbols: dict[str, int] = {}
        """Symbol -> address."""
        self._alive: list[Any] = []
        self._state = threading.local()
        for external in externals:
            entry = self._entry(external)
            self._alive.append(entry)
            self.symbols[external.symbol] = cast(int, ctypes.cast(entry, ctypes.c_void_p).value)

    def _entry(self, external: External) -> Any:
        inputs = [View(kind, False) for kind in external.inputs]
        outputs = [View(kind, True) for kind in external.outputs]
        count = len(inputs)

        def enter(*pointers: Any) -> None:
            buffers = [view(pointer) for view, pointer in zip(outputs, pointers[count:], strict=False)]
            try:
                if getattr(self._state, "error", None) is None:
                    results = external.function(
                        *(view(pointer) for view, pointer in zip(inputs, pointers, strict=False))
                    )
                    _store(results, buffers)
                    return
            except Exception as error:
                actual = f"{type(error).__name__}: {error}"
                expected = f"{external.compiler} to run it"
                self._state.error = WhenceError(
                    expectation(f"function '{external.symbol}'", expected, actual, external.layers)
                )
                self._state.error.__cause__ = error
            for buffer in buffers:
                buffer.fill(0)

        # Inputs, outputs, workspace and thread pool.
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (count + len(outputs) + 2))(enter)

    def check(self) -> None:
        """Raise the error of this thread since the last check, if there is one."""
        error = getattr(self._state, "error", None)
        if error is not None:
            self._state.error = None
            raise error


def _store(returned: Array | Sequence[Array], buffers: Sequence[Array]) -> None:
    """Copy results to their buffers; raises ValueError when they do not fit."""
    results = list(returned) if isinstance(returned, list | tuple) else [returned]
    if len(results) != len(buffers):
        raise ValueError(f"expected {len(buffers)} outputs, got {len(results)}")
    for number, (result, buffer) in enumerate(zip(results, buffers, strict=True)):
        array: Array = np.asarray(result)
        if array.shape != buffer.shape or array.dtype != buffer.dtype:
            expected, got = f"{buffer.dtype}{list(buffer.shape)}", f"{array.dtype}{list(array.shape)}"
            raise ValueError(f"expected output {number} of {expected}, got {got}")
        np.copyto(buffer, array)
