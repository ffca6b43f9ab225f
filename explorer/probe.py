"""The roofs of a core, measured: operations on floats, operations on tiles if there are any, and bytes, in a second."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import numpy as np

from ..lowering.llvm_to_native.compile import compile_text
from ..lowering.llvm_to_native.link import link
from ..lowering.llvm_to_native.target import Target
from ..support.machine import Machine

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
_TILES = {"bf16": ("tdpbf16ps", 2), "u8s8": ("tdpbusd", 1)}
"""Kind of a product of tiles -> its instruction, and the bytes of an operand's element."""
_ROW, _ROWS = 64, 16
"""The bytes of a row of a tile, and its rows."""
_TILE_STEPS = (0, 4, 6), (1, 4, 7), (2, 5, 6), (3, 5, 7)
"""Two by two products: the tiles of sums, and of both operands, which are read in turn."""
_TILE_PROBE = """
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilerelease()
declare void @llvm.x86.tilezero(i8 immarg)
declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)
declare void @llvm.x86.{instruction}(i8 immarg, i8 immarg, i8 immarg)
@shapes = private constant [64 x i8] [{shapes}], align 64

define void @{name}(ptr %data, i64 %count) {{
entry:
  call void @llvm.x86.ldtilecfg(ptr @shapes)
{start}
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{steps}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  call void @llvm.x86.tilerelease()
  ret void
}}
"""


def tile_text(kind: str) -> str:
    """The function `@KIND(data, count)`, which multiplies tiles of the words at `data`, four times in each step."""
    instruction, _ = _TILES[kind]
    # The first palette; two bytes for the width of each tile; a byte for its rows.
    shapes = [1, *[0] * 15, *[_ROW, 0] * 8, *[0] * 16, *[_ROWS] * 8, *[0] * 8]
    start = [f"  call void @llvm.x86.tilezero(i8 {tile})" for tile in range(4)]
    start += [f"  call void @llvm.x86.tileloadd64(i8 {tile}, ptr %data, i64 {_ROW})" for tile in range(4, 8)]
    steps = [f"  call void @llvm.x86.{instruction}(i8 {c}, i8 {a}, i8 {b})" for c, a, b in _TILE_STEPS]
    return _TILE_PROBE.format(
        name=kind,
        instruction=instruction,
        shapes=", ".join(f"i8 {number}" for number in shapes),
        start="\n".join(start),
        steps="\n".join(steps),
    )


def tile_operations(kind: str) -> int:
    """The operations of a step of `tile_text`."""
    words = _ROW // 4
    return 2 * len(_TILE_STEPS) * _ROWS * words * _ROW // _TILES[kind][1]


def tile_kinds(machine: Machine) -> list[str]:
    """The kinds of products of tiles that a machine has."""
    has = {"bf16": machine.amx_bf16, "u8s8": machine.amx_int8}
    return [kind for kind in _TILES if has[kind]]


class Probe:
    """Rates of one core of this machine; `again` measures once more, and the best counts."""

    def __init__(self, footprint: int):
        """footprint: the bytes that a network has, which are read in turn, be it from a cache or from memory."""
        machine = Target.native().hardware
        self._lanes, self._sums = machine.lanes(), machine.accumulators
        # Written, as what nobody wrote is one page of zeros.
        self._data = np.ones(min(max(footprint, _BYTES[0]), _BYTES[1]) // 4, np.float32)
        tiles = tile_kinds(machine)
        texts = [_text("products", self._lanes, self._sums, _PRODUCT), _text("loads", self._lanes, _LOADS, _LOAD)]
        objects = [compile_text(text, Target.native()).object for text in (*texts, *map(tile_text, tiles))]
        self._code = link(objects, ("products", "loads", *tiles))
        type_ = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
        self._products, self._loads = (type_(self._code[name]) for name in ("products", "loads"))
        self._tiles = {kind: type_(self._code[kind]) for kind in tiles}
        self.operations = self.bytes = 0.0
        self.tiles = dict.fromkeys(tiles, 0.0)
        """Operations in a second by products of tiles, by their kind; none on a machine without."""
        self.again()

    def again(self) -> None:
        passes = self._data.size // (_LOADS * self._lanes)
        for _ in range(_ROUNDS):
            count = 1 << 18
            self.operations = max(
                self.operations, 2 * count * self._sums * self._lanes / self._timed(self._products, count)
            )
            self.bytes = max(self.bytes, passes * _LOADS * self._lanes * 4 / self._timed(self._loads, passes))
            for kind, function in self._tiles.items():
                rate = count * tile_operations(kind) / self._timed(function, count)
                self.tiles[kind] = max(self.tiles[kind], rate)

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
