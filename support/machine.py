"""The machine that code is made for: the one record that tiles, layouts, vectors and strategies are decided by.

A machine that Whence does not know is one more record, `register_machine(Machine("wide", vector_bits=256, ..))`, and
from then on a name that targets may have: `llvm -mcpu=wide`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .codec import JSON
from .errors import PipelineError, expectation

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_CPU_VECTORS = (
    ("skylake-avx512", 512),
    ("cascadelake", 512),
    ("cooperlake", 512),
    ("icelake", 512),
    ("rocketlake", 512),
    ("tigerlake", 512),
    ("sapphirerapids", 512),
    ("emeraldrapids", 512),
    ("graniterapids", 512),
    ("diamondrapids", 512),
    ("znver4", 512),
    ("znver5", 512),
    ("x86-64-v4", 512),
    ("x86-64-v3", 256),
    ("haswell", 256),
    ("broadwell", 256),
    ("skylake", 256),
    ("alderlake", 256),
    ("znver", 256),
)
"""The vector bits of x86 CPUs that are named without features; the first name that a CPU's name starts with counts."""
_CPU_CACHES = (
    ("znver5", (48 << 10, 1 << 20, 32 << 20)),
    ("znver4", (32 << 10, 1 << 20, 32 << 20)),
    ("znver", (32 << 10, 512 << 10, 16 << 20)),
    ("sapphirerapids", (48 << 10, 2 << 20, 32 << 20)),
    ("emeraldrapids", (48 << 10, 2 << 20, 32 << 20)),
    ("graniterapids", (48 << 10, 2 << 20, 32 << 20)),
    ("diamondrapids", (48 << 10, 2 << 20, 32 << 20)),
    ("icelake", (48 << 10, 1280 << 10, 24 << 20)),
    ("skylake-avx512", (32 << 10, 1 << 20, 16 << 20)),
    ("cascadelake", (32 << 10, 1 << 20, 16 << 20)),
    ("apple", (64 << 10, 4 << 20, 8 << 20)),
    ("neoverse", (64 << 10, 1 << 20, 32 << 20)),
)
_COMMON_CACHES = (32 << 10, 256 << 10, 8 << 20)
_VNNI = (
    *("cascadelake", "cooperlake", "icelake", "rocketlake", "tigerlake", "sapphirerapids", "emeraldrapids"),
    *("graniterapids", "diamondrapids", "znver4", "znver5"),
)
"""CPUs with `vpdpbusd` on vectors of 512 bits, by what their names start with."""
_FP16 = ("sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids")
"""CPUs with arithmetic on vectors of float16, which is twice as fast as on float32: by what their names start with."""
_AMX = _FP16
"""CPUs with products of tiles of bfloat16 and of bytes, by what their names start with."""
_BF16 = ("znver4", "znver5")
"""CPUs whose `vdpbf16ps` does twice the products of float32. Others have it, and take as long as for float32 or longer:
on Sapphire Rapids 86 GFLOP/s were measured beside 174 of float32, and 372 of float16."""
_SDOT = ("neoverse", "apple-m", "cortex-x", "cortex-a76", "cortex-a77", "cortex-a78", "ampere1", "grace")
"""CPUs of AArch64 with `sdot`, by what their names start with."""
TILE_ROW = 64
"""The bytes of a row of a register for tiles: as many channels of a pixel as it can hold lie side by side."""
CHANNEL_BLOCK = 16
"""Channels of a block of NCHW[x]c, on every machine: one layout for a model, and a cache line of float32. Narrower
vectors take several to a block, which costs nothing where a register tile is as wide or wider."""


def _x86_registers(vector_bits: int) -> tuple[int, bool]:
    """Return the number of vector registers of an x86, and if it has registers of masks: AVX-512 brought both."""
    return (32, True) if vector_bits == 512 else (16, False)


@dataclass(frozen=True)
class Machine:
    """A CPU as a kernel sees it. Sizes are in bytes."""

    name: str
    """LLVM's name of the CPU, or the architecture's where none is named; of a registered record any other name."""
    vector_bits: int
    """The width of vectors in bits; that of a float on a machine without vectors."""
    vector_registers: int
    features: frozenset[str] = field(default=frozenset(), repr=False)
    """Instruction set extensions by LLVM's names, without a plus: `avx512vnni`."""
    l1: int = _COMMON_CACHES[0]
    """The bytes of a core's data cache."""
    l2: int = _COMMON_CACHES[1]
    l3: int = _COMMON_CACHES[2]
    """The bytes of the cache that all cores share."""
    cores: int = 1
    cache_line: int = 64
    part: int = 16
    """The bytes of the parts of a vector within which a shuffle is cheap."""
    mask_registers: bool = False
    """True if masked vectors cost no more than whole ones: their masks have registers of their own."""
    vnni: bool = False
    """True if there is `vpdpbusd`: sums of four products of bytes, added to a sum of int32."""
    sdot: bool = False
    """True if there is `sdot`: sums of four products of int8, added to a sum of int32."""
    pmaddwd: int = 0
    """The most lanes of `pmaddwd`, sums of two products of int16; 0 where it is not known to be there."""
    fma_f16: bool = False
    """True if products of vectors of float16 are added by one instruction, faster than those of float32."""
    dot_bf16: bool = False
    """True if there is `vdpbf16ps`, sums of two products of bfloat16, and these are faster than those of float32."""
    amx_bf16: bool = False
    """True if there are products of tiles of bfloat16, and this process may use them: ten times those of float32."""
    amx_int8: bool = False
    """True if there are products of tiles of bytes, and this process may use them: eight times those of `vpdpbusd`."""
    triple: str = ""
    """LLVM's triple of a registered record; that of this process where it says none."""
    cpu: str = ""
    """LLVM's name of the CPU that code for a registered record is made for; "" for the architecture's baseline."""

    @staticmethod
    @cache
    def of(triple: str, cpu: str = "", features: str = "", *, host: bool = False) -> Machine:
        """The machine of a triple, a CPU and features as LLVM names them; caches and cores are the host's if it is it.

        What is not known of a CPU is what is common. `features` is LLVM's list, `+avx2,-avx512f`.
        """
        arch = triple.partition("-")[0]
        bits, registers, masks = _vectors(arch, cpu, features)
        named = (sizes for name, sizes in _CPU_CACHES if cpu.startswith(name))
        l1, l2, l3 = (_host_caches() if host else None) or next(named, _COMMON_CACHES)
        on = frozenset(word[1:] for word in features.split(",") if word[:1] == "+")
        cores = (os.cpu_count() or 1) if host else 1
        name = cpu or arch
        dots, pairs = _products(name, bits, on)
        off = frozenset(word[1:] for word in features.split(",") if word[:1] == "-")
        tiles = {word for word in ("amx-bf16", "amx-int8") if word in on or name.startswith(_AMX)}
        tiles -= tiles if "amx-tile" in off else off
        return Machine(
            name=name,
            vector_bits=bits,
            vector_registers=registers,
            features=on,
            l1=l1,
            l2=l2,
            l3=l3,
            cores=cores,
            mask_registers=masks,
            vnni=dots,
            sdot=_is_aarch64(arch) and "dotprod" not in off and ("dotprod" in on or name.startswith(_SDOT)),
            pmaddwd=pairs,
            fma_f16=bits == 512 and "avx512fp16" not in off and ("avx512fp16" in on or name.startswith(_FP16)),
            dot_bf16=bits == 512 and "avx512bf16" not in off and name.startswith(_BF16),
            amx_bf16="amx-bf16" in tiles,
            amx_int8="amx-int8" in tiles,
        )

    @staticmethod
    def x86(vector_bits: int) -> Machine:
        """An x86 machine of which only the width of its vectors is known."""
        registers, masks = _x86_registers(vector_bits)
        return Machine("x86_64", vector_bits, registers, mask_registers=masks)

    @property
    def facts(self) -> dict[str, Any]:
        """All fields as JSON has them, from which `of_facts` makes the record again."""
        return JSON.encode(self)

    @staticmethod
    def of_facts(facts: dict[str, Any]) -> Machine:
        """Return the record whose `facts` these are. Raises FrontendError for others."""
        return JSON.decode(Machine, facts, "machine")

    @property
    def vector_bytes(self) -> int:
        """The bytes of a vector, which is also its greatest number of lanes."""
        return self.vector_bits // 8

    def lanes(self, element: int = 4) -> int:
        """Elements of `element` bytes in a vector; at least 1."""
        return max(1, self.vector_bytes // element)

    @property
    def accumulators(self) -> int:
        """Registers of a tile that hold results; the others hold operands. More bring nothing, or are spilled."""
        return self.vector_registers * 3 // 4

    @property
    def half(self) -> str:
        """The half precision in which products are faster than in float32; that itself where there is none."""
        order = ("bfloat16", "float16") if self.amx_bf16 else ("float16", "bfloat16")
        return next(filter(self.gains_by, order), "float32")

    def gains_by(self, half: str) -> bool:
        """Return whether products in a half precision are faster than in float32."""
        return self.fma_f16 if half == "float16" else self.dot_bf16 or self.amx_bf16

    @property
    def tiles(self) -> bool:
        """Return whether there are products of tiles, of bfloat16 or of bytes."""
        return self.amx_bf16 or self.amx_int8

    @property
    def instructions(self) -> list[str]:
        """The extensions by LLVM's names that code for it uses because its CPU is known to have them."""
        uses = {
            "avx512vnni": self.vnni and self.vector_bits == 512,
            "dotprod": self.sdot,
            "avx512bf16": self.dot_bf16,
            "avx512fp16": self.fma_f16,
            "amx-tile": self.tiles,
            "amx-bf16": self.amx_bf16,
            "amx-int8": self.amx_int8,
        }
        return [name for name, is_used in uses.items() if is_used]

    @property
    def channel_block(self) -> int:
        """The most channels in a block of a blocked layout."""
        return CHANNEL_BLOCK

    @property
    def text(self) -> str:
        """Return everything that code may depend on besides the features; the number of cores is not part of it."""
        caches = f"{self.l1} {self.l2} {self.l3} {self.cache_line}"
        facts = f"masks {self.mask_registers:d} dots {self.vnni:d}{self.sdot:d} pmaddwd {self.pmaddwd} part {self.part}"
        facts += f" halves {self.fma_f16:d}{self.dot_bf16:d} tiles {self.amx_bf16:d}{self.amx_int8:d}"
        return f"{self.name} {self.vector_bits}x{self.vector_registers} {facts} caches {caches}"


_MACHINES: dict[str, Machine] = {}


def register_machine(machine: Machine) -> Machine:
    """Let targets name `machine`, `llvm -mcpu=<its name>`, and return it; a record of the same name is replaced.

    Raises PipelineError for a record that no code can be made for.
    """
    bits, registers = machine.vector_bits, machine.vector_registers
    for expected, holds, actual in (
        ("a name of letters, digits, '.', '_' and '-'", re.fullmatch(r"[\w.-]+", machine.name), machine.name),
        ("a name that is no CPU of LLVM's", machine.name not in ("native", *dict(_CPU_VECTORS)), machine.name),
        ("vector_bits that are a power of 2 from 32 on", bits >= 32 and bits & (bits - 1) == 0, bits),
        ("vector_registers of at least 8", registers >= 8, registers),
        ("positive caches l1 <= l2 <= l3", 0 < machine.l1 <= machine.l2 <= machine.l3, machine.text),
        ("features without + or -", not any(word[:1] in ("", "+", "-") for word in machine.features), machine.features),
    ):
        if not holds:
            raise PipelineError(expectation(f"machine {machine.name}", expected, str(actual)))
    _MACHINES[machine.name] = machine
    return machine


def registered_machine(name: str) -> Machine | None:
    """Return the record that was registered by this name."""
    return _MACHINES.get(name)


WIDEST = Machine.x86(512)
"""Stands for a machine that is not known: one of the widest vectors there are."""


def _is_aarch64(arch: str) -> bool:
    return arch.startswith(("aarch64", "arm64"))


def _vectors(arch: str, cpu: str, features: str) -> tuple[int, int, bool]:
    """Bits of a vector register, how many there are, and whether masks have registers of their own."""
    if _is_aarch64(arch):
        return 128, 32, False
    if arch.startswith("riscv"):
        # The least width of the vector extension; without it, that of float registers.
        return (128 if re.search(r"\+(v|zvl128b)\b", features) else 32), 32, False
    bits = _x86_bits(cpu, features)
    return bits, *_x86_registers(bits)


def _products(name: str, bits: int, features: frozenset[str]) -> tuple[bool, int]:
    """The `vnni` and `pmaddwd` of a CPU."""
    named = next((width for prefix, width in _CPU_VECTORS if name.startswith(prefix)), 0)
    dots = bool(features & {"avx512vnni", "avxvnni"}) or (bits == 512 and name.startswith(_VNNI))
    if bits == 512 and (named == 512 or "avx512bw" in features):
        return dots, 16
    return dots, 8 if bits >= 256 and (named or "avx2" in features) else 0


def _x86_bits(cpu: str, features: str) -> int:
    named = {word for word in features.split(",") if word}
    if "+avx512f" in named:
        return 512
    width = next((bits for name, bits in _CPU_VECTORS if cpu.startswith(name)), 256 if "+avx" in named else 128)
    if "-avx512f" in named:
        width = min(width, 256)
    return 128 if "-avx" in named else max(width, 256 if "+avx" in named or "+avx2" in named else 128)


def _host_caches() -> tuple[int, int, int] | None:
    """Return the sizes of the first core's caches as Linux says them; None where it does not."""
    sizes: dict[int, int] = {}
    for index in sorted(_CACHES.glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            return None
        if kind != "Instruction" and (match := re.fullmatch(r"(\d+)([KMG]?)", size)):
            sizes[int(level)] = int(match[1]) * _UNITS[match[2]]
    return (sizes[1], sizes[2], sizes.get(3, sizes[2])) if {1, 2} <= sizes.keys() else None
