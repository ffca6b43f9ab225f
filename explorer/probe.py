"""The roofs of a core, measured: floating-point operations, and bytes read, in a second."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import numpy as np

from ..lowering.llvm_to_native.compile import compile_text
from ..lowering.llvm_to_native.link import link
from ..lowering.llvm_to_native.target import Target

_SECONDS = 0.02
_LEAST = 1e-5
"""The CPU seconds that are told apart: on some machines the clock stands still for the length of a call."""
_ROUNDS = 7
_LOADS = 8
_BYTES = 1 << 20, 256 << 20
"""The fewest and the most bytes that are read in one pass."""

# Sums of loaded vectors, or of products of two: in as many registers as a tile has.
_PROBE = """
define void @{name}(ptr %data, i64 %count) {{
entry:
  %x = load {vector}, ptr %data, align 4
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{sums}
{steps}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
{stores}
  ret void
}}
"""


def _text(name: str, lanes: int, count: int, step: str) -> str:
    vector = f"<{lanes} x float>"
    sums = [f"  %s{n} = phi {vector} [%x, %entry], [%t{n}, %loop]" for n in range(count)]
    steps = [step.format(n=n, vector=vector, at=n * lanes, all=count * lanes) for n in range(count)]
    stores = [f"  store volatile {vector} %t{n}, ptr %data, align 4" for n in range(count)]
    return _PROBE.format(
        name=name, vector=vector, sums="\n".join(sums), steps="\n".join(steps), stores="\n".join(stores)
    )


_PRODUCT = """  %p{n} = fmul contract {vector} %x, %s{n}
  %t{n} = fadd contract {vector} %p{n}, %x"""
_LOAD = """  %o{n} = mul i64 %i, {all}
  %q{n} = add i64 %o{n}, {at}
  %a{n} = getelementptr float, ptr %data, i64 %q{n}
  %v{n} = load {vector}, ptr %a{n}, align 4
  %t{n} = fadd {vector} %s{n}, %v{n}"""


class Probe:
    """Rates of one core of this machine; `again` measures once more, and the best counts."""

    def __init__(self, footprint: int):
        """footprint: the bytes that a network has, which are read in turn, be it from a cache or from memory."""
        machine = Target.native().hardware
        self._lanes, self._sums = machine.lanes(), machine.accumulators
        # Written, as what nobody wrote is one page of zeros.
        self._data = np.ones(min(max(footprint, _BYTES[0]), _BYTES[1]) // 4, np.float32)
        texts = (_text("products", self._lanes, self._sums, _PRODUCT), _text("loads", self._lanes, _LOADS, _LOAD))
        objects = [compile_text(text, Target.native()).object for text in texts]
        self._code = link(objects, ("products", "loads"))
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
        self._products, self._loads = (kind(self._code[name]) for name in ("products", "loads"))
        self.operations = self.bytes = 0.0
        self.again()

    def again(self) -> None:
        passes = self._data.size // (_LOADS * self._lanes)
        for _ in range(_ROUNDS):
            count = 1 << 18
            self.operations = max(
                self.operations, 2 * count * self._sums * self._lanes / self._timed(self._products, count)
            )
            self.bytes = max(self.bytes, passes * _LOADS * self._lanes * 4 / self._timed(self._loads, passes))

    def _timed(self, function: Callable[[int, int], None], count: int) -> float:
        """Return the least CPU seconds of a call, of some calls."""
        best, end = float("inf"), time.thread_time() + _SECONDS
        while (start := time.thread_time()) < end:
            calls = elapsed = 0
            while elapsed < _LEAST:
                function(self._data.ctypes.data, count)
                calls, elapsed = calls + 1, time.thread_time() - start
            best = min(best, elapsed / calls)
        return best
