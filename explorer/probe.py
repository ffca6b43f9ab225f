"""The rates of a core, measured: products of floats, products of tiles if there are any, and bytes of each cache."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from ..lowering.llvm_to_native.compile import compile_text
from ..lowering.llvm_to_native.link import link
from ..lowering.llvm_to_native.target import Target
from ..lowering.relay_to_te.cost import Rates
from ..runtime.values.tensors import lasting_empty
from ..support.machine import Machine

_SECONDS = 0.01
_FLOAT = 4
_LEAST = 1e-5
"""The CPU seconds that are told apart: on some machines the clock stands still for the length of a call."""
_ROUNDS = 3
_COUNT = 1 << 18
"""Steps of a loop of products."""
_LOADS = 8
_READ = 1 << 20
"""The bytes that a call reads at least, however often."""
_MOST = 256 << 20
"""The most bytes that are read as memory."""
SHARED = "shared memory"
"""Memory that all threads read at the same time."""

# Sums of products of two in as many registers as a tile has, or of loaded vectors: of the first `%mask` + 1 floats.
_PROBE = """
define void @{name}(ptr %data, i64 %count, i64 %mask) {{
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
  %r{n} = and i64 %o{n}, %mask
  %q{n} = add i64 %r{n}, {at}
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

    def __init__(self, threads: int = 1):
        """threads: read memory at the same time."""
        target = Target.native()
        self.machine, self.threads = target.hardware, threads
        self._lanes, self._sums = self.machine.lanes(), self.machine.accumulators
        self._sizes = _sizes(self.machine)
        # Written, as unwritten memory is one page of zeros.
        self._data = lasting_empty((self._sizes["memory"] // _FLOAT,), np.dtype(np.float32))
        self._data.fill(1)
        tiles = tile_kinds(self.machine)
        texts = [_text("products", self._lanes, self._sums, _PRODUCT), _text("loads", self._lanes, _LOADS, _LOAD)]
        objects = [compile_text(text, target).object for text in (*texts, *map(tile_text, tiles))]
        self._code = link(objects, ("products", "loads", *tiles))
        type_ = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self._products, self._loads = (type_(self._code[name]) for name in ("products", "loads"))
        self._tiles = {kind: type_(self._code[kind]) for kind in tiles}
        self.operations = 0.0
        """Operations on floats in a second; a product and its sum are two."""
        self.bytes = dict.fromkeys((*self._sizes, SHARED), 0.0)
        """Bytes in a second out of each cache and memory; and from memory, where all threads read at once, for each."""
        self.tiles = dict.fromkeys(tiles, 0.0)
        """Operations in a second by products of tiles, by their kind; none on a machine without."""
        self.again()

    @property
    def rates(self) -> Rates:
        """The rates as those of a machine."""
        fast = {name: rate for name, rate in self.bytes.items() if rate}
        return Rates(
            products=self.operations / 2 / self._lanes,
            loads=fast["L1"] / self.machine.vector_bytes,
            l2=fast["L2"],
            l3=fast["L3"],
            memory=fast["memory"],
            shared_memory=fast[SHARED] * self.threads,
            tiles=dict(self.tiles),
            threads=self.threads,
        )

    def again(self) -> None:
        """Measure once more."""
        for _ in range(_ROUNDS):
            done = 2 * _COUNT * self._sums * self._lanes
            self.operations = max(self.operations, done / self._timed(self._products, _COUNT))
            for level, size in self._sizes.items():
                self._note(level, self._reading(size))
            for kind, function in self._tiles.items():
                rate = _COUNT * tile_operations(kind) / self._timed(function, _COUNT)
                self.tiles[kind] = max(self.tiles[kind], rate)
        if self.threads == 1:
            self._note(SHARED, self.bytes["memory"])
            return
        with ThreadPoolExecutor(self.threads) as pool:
            for _ in range(_ROUNDS):
                self._note(SHARED, min(pool.map(self._reading, [self._sizes["memory"]] * self.threads)))

    def _note(self, level: str, rate: float) -> None:
        self.bytes[level] = max(self.bytes[level], rate)

    def _reading(self, size: int) -> float:
        """Return the bytes in a second of reading the first `size` bytes over and over."""
        steps = max(size, _READ) // (_LOADS * self._lanes * _FLOAT)
        return steps * _LOADS * self._lanes * _FLOAT / self._timed(self._loads, steps, size // _FLOAT - 1)

    def _timed(self, function: Callable[[int, int, int], None], count: int, mask: int = 0) -> float:
        """Return the least CPU seconds of a call, of some calls."""
        best, end = float("inf"), time.thread_time() + _SECONDS
        while (start := time.thread_time()) < end:
            calls = elapsed = 0
            while elapsed < _LEAST:
                function(self._data.ctypes.data, count, mask)
                calls, elapsed = calls + 1, time.thread_time() - start
            best = min(best, elapsed / calls)
        return best


def _sizes(machine: Machine) -> dict[str, int]:
    """Bytes well within each cache, and well beyond all: powers of two."""
    within = {"L1": machine.l1 // 2, "L2": machine.l2 // 2, "L3": min(machine.l3, _MOST) // 2}
    sizes = {level: 1 << (size.bit_length() - 1) for level, size in within.items()}
    return {**sizes, "memory": min(4 * sizes["L3"], _MOST)}


@cache
def measured_rates(threads: int) -> Rates:
    """Return the rates of this machine, measured once in a process."""
    return Probe(threads).rates
