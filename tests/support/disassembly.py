"""What binutils and LLVM's tools read from an object: instructions, their lines, and the constants they name."""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

HAS_TOOLS = all(map(shutil.which, ("llvm-objdump", "objdump", "objcopy")))
_CODE = re.compile(r"^\s*([0-9a-f]+):\s+([^<#]*)")
_RELOCATION = re.compile(r"^\s*([0-9a-f]+):\s+R_X86_64_PC32\s+(\S+?)([+-]0x[0-9a-f]+)?$")
_SYMBOL = re.compile(r"^([0-9a-f]{16}) .*\s(\.rodata\S*)\s+[0-9a-f]{16} (\S+)$", re.MULTILINE)
_ROW = re.compile(r"^\S+\s+(\d+)\s+(0x[0-9a-f]+|0)\b")
_IMMEDIATE = re.compile(r"\$(-?(?:0x)?[0-9a-f]+)")


class Read(NamedTuple):
    """An instruction of an object."""

    mnemonic: str
    line: int
    """Of the object's line table."""
    constant: bytes
    """The 64 bytes, or what there is of them, that its operand in .rodata begins with; else its immediate's 8."""


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _constants(path: Path) -> dict[str, bytes]:
    """Symbol -> what lies there in its section of constants."""
    symbols = _SYMBOL.findall(_output("objdump", "-t", path))
    sections: dict[str, bytes] = {}
    for name in {section for _, section, _ in symbols}:
        target = path.with_suffix(".bytes")
        _output("objcopy", "-O", "binary", f"--only-section={name}", path, target)
        sections[name] = target.read_bytes()
    return {name: sections[section][int(at, 16) :] for at, section, name in symbols}


def disassembled(path: Path) -> list[Read]:
    """The instructions of an object, without padding."""
    constants = _constants(path)
    table = _output("objdump", "--dwarf=decodedline", path).splitlines()
    rows = sorted({int(row[2], 16): int(row[1]) for row in map(_ROW.match, table) if row}.items())
    addresses = [address for address, _ in rows]
    code: list[tuple[int, str]] = []
    named: dict[int, tuple[int, str, int]] = {}
    for text in _output("llvm-objdump", "-d", "-r", "--no-show-raw-insn", path).splitlines():
        if (moved := _RELOCATION.match(text)) is not None:
            named[len(code) - 1] = int(moved[1], 16), moved[2], int(moved[3] or "0", 16)
        elif (at := _CODE.match(text)) and at[2].strip() and "R_X86_64" not in text:
            code.append((int(at[1], 16), at[2].strip()))
    reads: list[Read] = []
    for number, (address, text) in enumerate(code):
        if "nop" in text:
            continue
        constant = b""
        if number in named and named[number][1] in constants:
            # The addend counts from the end of the four bytes: that of the instruction, unless an immediate follows.
            begin, symbol, addend = named[number]
            behind = code[number + 1][0] - begin if number + 1 < len(code) else 4
            constant = constants[symbol][addend + behind :][:64]
        elif (immediate := _IMMEDIATE.search(text)) is not None:
            constant = (int(immediate[1], 0) % 2**64).to_bytes(8, "little")
        reads.append(Read(text.split()[0], rows[bisect_right(addresses, address) - 1][1], constant))
    return reads
