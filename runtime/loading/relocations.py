"""The relocations of each machine that our own code generator emits.

Numbers and formulas are those of the psABI of x86-64 and of the ELF for the Arm 64-bit Architecture: S is the address
of the symbol, A the addend, P the place, G the address of a word that holds S.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .elf import AARCH64, X86_64

Number = Callable[[int, int], int]
Put = Callable[[int, int], int]


def _absolute(address: int, place: int) -> int:
    return address


def _relative(address: int, place: int) -> int:
    return address - place


def _pages(address: int, place: int) -> int:
    return (address & ~0xFFF) - (place & ~0xFFF)


def _in_page(address: int, place: int) -> int:
    return address & 0xFFF


def _whole(word: int, number: int) -> int:
    return number


@dataclass(frozen=True)
class Form:
    """A kind of relocation: its formula, and the bits that take the number."""

    number: Number
    """The number as a function of S + A and P."""
    width: int
    """The bytes of the place."""
    low: int
    high: int
    """The numbers that fit: from `low` to below `high`."""
    put: Put = _whole
    """A function from the bytes of the place and the number to the bytes with the number in them."""
    unit: int = 1
    """The number must be a multiple of this."""
    table: bool = False
    """True if S is G instead."""
    jump: bool = False
    """True for a jump, for which S may be a stub that jumps there."""

    def fits(self, number: int) -> bool:
        return self.low <= number < self.high and not number % self.unit


class Machine(NamedTuple):
    """The facts about a machine that a linker needs."""

    name: str
    forms: Mapping[int, Form | None]
    """The forms by the type of a relocation; None for one that has no effect."""
    stub: Callable[[int], bytes]
    """A function from an address to 16 bytes of code that jump there."""


def _signed(bits: int) -> tuple[int, int]:
    return -1 << (bits - 1), 1 << (bits - 1)


def _x86_stub(address: int) -> bytes:
    """`jmp *(rip + 0)`, and the address."""
    return struct.pack("<2siQ2x", b"\xff\x25", 0, address)


_X86_FORMS: dict[int, Form | None] = {
    0: None,
    1: Form(_absolute, 8, -1 << 63, 1 << 64),  # 64
    2: Form(_relative, 4, *_signed(32)),  # PC32
    4: Form(_relative, 4, *_signed(32), jump=True),  # PLT32
    9: Form(_relative, 4, *_signed(32), table=True),  # GOTPCREL
    10: Form(_absolute, 4, 0, 1 << 32),  # 32
    11: Form(_absolute, 4, *_signed(32)),  # 32S
    24: Form(_relative, 8, *_signed(64)),  # PC64
    41: Form(_relative, 4, *_signed(32), table=True),  # GOTPCRELX
    42: Form(_relative, 4, *_signed(32), table=True),  # REX_GOTPCRELX
}


def _field(at: int, bits: int, scale: int = 0) -> Put:
    """Return a function that puts a number, divided by 2 to the `scale`, into bits of an instruction from `at` on."""
    mask = ((1 << bits) - 1) << at

    def put(word: int, number: int) -> int:
        return word & ~mask | number >> scale << at & mask

    return put


def _adr(scale: int) -> Put:
    """Return a function that fills the 21 bits of `adr` and `adrp`, of which the two lowest are separate."""
    low, high = _field(29, 2, scale), _field(5, 19, scale + 2)
    return lambda word, number: high(low(word, number), number)


def _offset(size: int, *, table: bool = False) -> Form:
    """Return the form of an offset in a page: in an `add` (size 0), or in a load or store of 2 to the `size` bytes."""
    return Form(number=_in_page, width=4, low=0, high=1 << 12, put=_field(10, 12, size), unit=1 << size, table=table)


def _branch(bits: int, at: int, *, jump: bool = False) -> Form:
    """Return the form of a branch by as many instructions as a field of so many bits counts."""
    return Form(_relative, 4, *_signed(bits + 2), _field(at, bits, 2), 4, jump=jump)


def _arm_stub(address: int) -> bytes:
    """`ldr x16, [pc + 8]; br x16`, and the address; x16 is reserved for such code."""
    return struct.pack("<IIQ", 0x58000050, 0xD61F0200, address)


_ARM_FORMS: dict[int, Form | None] = {
    0: None,
    256: None,
    257: Form(_absolute, 8, -1 << 63, 1 << 64),  # ABS64
    258: Form(_absolute, 4, -1 << 31, 1 << 32),  # ABS32
    260: Form(_relative, 8, *_signed(64)),  # PREL64
    261: Form(_relative, 4, -1 << 31, 1 << 32),  # PREL32
    273: _branch(19, 5),  # LD_PREL_LO19
    274: Form(_relative, 4, *_signed(21), _adr(0)),  # ADR_PREL_LO21
    275: Form(_pages, 4, *_signed(33), _adr(12)),  # ADR_PREL_PG_HI21
    277: _offset(0),  # ADD_ABS_LO12_NC
    278: _offset(0),  # LDST8_ABS_LO12_NC
    279: _branch(14, 5),  # TSTBR14
    280: _branch(19, 5),  # CONDBR19
    282: _branch(26, 0, jump=True),  # JUMP26
    283: _branch(26, 0, jump=True),  # CALL26
    284: _offset(1),  # LDST16_ABS_LO12_NC
    285: _offset(2),  # LDST32_ABS_LO12_NC
    286: _offset(3),  # LDST64_ABS_LO12_NC
    299: _offset(4),  # LDST128_ABS_LO12_NC
    311: Form(_pages, 4, *_signed(33), _adr(12), table=True),  # ADR_GOT_PAGE
    312: _offset(3, table=True),  # LD64_GOT_LO12_NC
    314: Form(_relative, 4, *_signed(32), jump=True),  # PLT32
}

STUB = 16
"""The bytes of a stub."""
LINKED = {
    X86_64: Machine("x86_64", _X86_FORMS, _x86_stub),
    AARCH64: Machine("aarch64", _ARM_FORMS, _arm_stub),
}
"""The machines whose objects can be linked, by their numbers in ELF files."""
