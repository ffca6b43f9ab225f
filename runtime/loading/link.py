"""A linker, into this process, of the objects that our own code generator emits for x86-64 and AArch64.

All sections lie in one mapping, so that short offsets reach from each to each: code and stubs, then constants and a
table of addresses, then writable data. Stubs and that table lead to all other addresses. No page is ever writable and
executable at once.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

from ...support.errors import FrontendError, PipelineError, expectation
from ..program.program import Code
from .elf import ABSOLUTE, ALLOC, EXEC, MACHINES, NOBITS, UNDEFINED, UNWIND, WRITE, Elf, Relocation, Section, Symbol
from .relocations import LINKED, STUB

_WORD = struct.Struct("<Q")
_REACH = 1 << 31
"""The distance that an offset of 32 bits reaches."""
_LIBRARIES = (None, "libm.so.6")
_HOSTS = {"AMD64": "x86_64", "arm64": "aarch64"}
"""The names of machines on systems other than Linux."""


def link(
    objects: Sequence[Elf],
    exports: Iterable[str],
    imports: Mapping[str, int],
    mapped: Mapping[str, int] | None = None,
) -> Code:
    """Return the addresses of `exports` in `objects`, linked together, with `imports` (name -> address) and with libc.

    mapped: the addresses, by name, of sections that are in memory already, and stay there.
    The code lives as long as the result. Raises FrontendError for damaged objects, PipelineError for those of another
    machine and for symbols that are missing or defined twice.
    """
    check_objects(objects, _HOSTS.get(platform.machine(), platform.machine()))
    image = Image(objects, imports, mapped or {})
    memory = mmap.mmap(-1, image.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer = (ctypes.c_char * image.size).from_buffer(memory)
    image.fill(memory, ctypes.addressof(buffer))
    # If instructions have a cache of their own, the system updates it when a page becomes executable.
    protect(image.base, image.constants, mmap.PROT_READ | mmap.PROT_EXEC)
    protect(image.base + image.constants, image.writable - image.constants, mmap.PROT_READ)
    return Code({name: image.exported(name) for name in dict.fromkeys(exports)}, (memory, buffer))


def check_objects(objects: Sequence[Elf], machine: str) -> None:
    """Raise PipelineError for objects of another machine than `machine`, and of one that nothing here links."""
    for elf in objects:
        actual = MACHINES.get(elf.machine, f"machine {elf.machine}")
        if actual != machine:
            raise PipelineError(expectation(elf.name, f"objects for {machine}", f"some for {actual}"))
        if elf.machine not in LINKED:
            raise PipelineError(expectation(elf.name, "a .so, which the system links", f"objects for {machine}"))


class Image:
    """The memory image of objects of one machine: the places of their sections, and the relocated contents."""

    def __init__(self, objects: Sequence[Elf], imports: Mapping[str, int], mapped: Mapping[str, int]):
        """Place the sections; raises the errors of `link`."""
        self.objects = objects
        self.machine = LINKED[objects[0].machine]
        self.imports = imports
        self.mapped = mapped
        self.globals: dict[str, tuple[int, Symbol]] = {}
        for number, elf in enumerate(objects):
            for symbol in elf.symbols:
                if symbol.local or symbol.section == UNDEFINED:
                    continue
                if symbol.name in self.globals:
                    self.fail(elf, f"'{symbol.name}' to be defined once", "two definitions")
                self.globals[symbol.name] = number, symbol
        self.at: dict[tuple[int, int], int] = {}
        """Number of the object and of the section -> offset in the mapping."""
        relocations = sum(1 for number, index in self.loaded() for _ in objects[number].relocations(index))
        self.stub = self.place(EXEC, 0)
        self.constants = _paged(self.stub + relocations * STUB)
        self.word = self.place(0, self.constants)
        self.writable = _paged(self.word + relocations * _WORD.size)
        self.size = max(_paged(self.place(WRITE, self.writable)), mmap.PAGESIZE)
        if self.size >= _REACH:
            raise FrontendError(expectation(objects[0].name, "code of less than 2 GiB", f"{self.size} bytes"))
        self.memory: Any = b""
        self.base = 0
        self.stubs: dict[int, int] = {}
        """Address -> the stub that jumps there."""
        self.words: dict[int, int] = {}
        """Address -> the word that holds it."""

    def loaded(self) -> list[tuple[int, int]]:
        """Return the sections that are needed at run time, as numbers of object and section."""
        return [
            (number, index)
            for number, elf in enumerate(self.objects)
            for index, section in enumerate(elf.sections)
            if self.needed(section)
        ]

    def needed(self, section: Section) -> bool:
        """Return whether a section is loaded; those for unwinding are not, because nothing unwinds through kernels."""
        unwinds = section.kind == UNWIND or section.name.startswith(".eh_frame")
        return bool(section.flags & ALLOC) and not unwinds and section.name not in self.mapped

    def place(self, kind: int, at: int) -> int:
        """Place the sections of a kind (EXEC, WRITE or 0) from `at` on; return the offset of stubs or words."""
        for number, index in self.loaded():
            section = self.objects[number].sections[index]
            if (section.flags & EXEC or section.flags & WRITE) != kind:
                continue
            if section.align > mmap.PAGESIZE or section.align & (section.align - 1):
                self.fail(self.objects[number], "sections aligned to a page at most", str(section.align))
            at = -(-at // section.align) * section.align
            self.at[number, index] = at
            at += section.size
        return -(-at // STUB) * STUB

    def fill(self, memory: Any, base: int) -> None:
        """Copy the sections and relocate them. memory: `size` bytes to write to, which will be at address `base`."""
        self.memory, self.base = memory, base
        for (number, index), at in self.at.items():
            elf = self.objects[number]
            section = elf.sections[index]
            if section.kind != NOBITS:
                self.memory[at : at + section.size] = elf.content(section)
        for number, index in self.at:
            for relocation in self.objects[number].relocations(index):
                self.relocate(number, index, relocation)

    def relocate(self, number: int, index: int, relocation: Relocation) -> None:
        """Carry out one relocation."""
        elf = self.objects[number]
        symbol = elf.symbols[relocation.symbol]
        if relocation.kind not in self.machine.forms:
            actual = f"type {relocation.kind} of '{symbol.name}'"
            self.fail(elf, f"relocations of position-independent code for {self.machine.name}", actual)
        if (form := self.machine.forms[relocation.kind]) is None:
            return
        address = self.address(number, symbol)
        place = self.at[number, index] + relocation.offset
        if relocation.offset + form.width > elf.sections[index].size:
            self.fail(elf, f"relocations inside '{elf.sections[index].name}'", "one that leaves it")
        if form.table:
            address = self.base + self.table_word(address)
        value = form.number(address + relocation.addend, self.base + place)
        if form.jump and not (self.near(address) and form.fits(value)):
            value = form.number(self.base + self.jump(address) + relocation.addend, self.base + place)
        if not form.fits(value):
            bits = (form.high - form.low - 1).bit_length()
            aligned = f", a multiple of {form.unit}" if form.unit > 1 else ""
            name = symbol.name or (elf.sections[symbol.section].name if symbol.section < len(elf.sections) else "")
            self.fail(elf, f"an address that {bits} bits reach{aligned}", f"that of '{name}'")
        old = int.from_bytes(self.memory[place : place + form.width], "little")
        new = form.put(old, value) % (1 << 8 * form.width)
        self.memory[place : place + form.width] = new.to_bytes(form.width, "little")

    def address(self, number: int, symbol: Symbol) -> int:
        """Return the address of an object's symbol."""
        elf = self.objects[number]
        if symbol.section == UNDEFINED:
            if symbol.name in self.globals:
                return self.address(*self.globals[symbol.name])
            target = self.imports.get(symbol.name) or in_libraries(symbol.name)
            if not target:
                self.fail(elf, "calls of C functions of loaded libraries", f"'{symbol.name}', which none of them has")
            return target
        if symbol.section == ABSOLUTE:
            return symbol.value
        if symbol.section < len(elf.sections):
            section = elf.sections[symbol.section]
            if symbol.value <= section.size and (at := self.mapped.get(section.name)) is not None:
                return at + symbol.value
            if symbol.value <= section.size and (number, symbol.section) in self.at:
                return self.base + self.at[number, symbol.section] + symbol.value
        self.fail(elf, "symbols of sections that are loaded", f"'{symbol.name}', which is of none")

    def near(self, address: int) -> bool:
        """Return whether an address lies in the mapping."""
        return self.base <= address < self.base + self.size

    def jump(self, address: int) -> int:
        """Return the offset of a stub that jumps to an address."""
        if address not in self.stubs:
            self.stubs[address] = at = self.stub + len(self.stubs) * STUB
            self.memory[at : at + STUB] = self.machine.stub(address)
        return self.stubs[address]

    def table_word(self, address: int) -> int:
        """Return the offset of a word that holds an address."""
        if address not in self.words:
            self.words[address] = at = self.word + len(self.words) * _WORD.size
            _WORD.pack_into(self.memory, at, address)
        return self.words[address]

    def exported(self, name: str) -> int:
        """Return the address of a symbol that some object defines."""
        if name not in self.globals:
            raise PipelineError(expectation("link", f"an object that defines '{name}'", "none"))
        return self.address(*self.globals[name])

    def fail(self, elf: Elf, expected: str, actual: str) -> NoReturn:
        raise FrontendError(expectation(elf.name, expected, actual))


def _paged(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def protect(start: int, size: int, protection: int) -> None:
    """Set the protection of pages; raises OSError if the system refuses."""
    if size and _libc().mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), protection):
        code = ctypes.get_errno()
        raise OSError(code, f"memory: the system does not let its use be changed ({os.strerror(code)})")


@cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


@cache
def in_libraries(symbol: str) -> int:
    """Return the address of a C function in this process or the mathematical library; 0 if there is none."""
    for name in _LIBRARIES:
        try:
            function = ctypes.CDLL(name)[symbol]
        except (OSError, AttributeError):
            continue
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    return 0
