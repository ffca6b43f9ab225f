"""The assembly shown is the code that runs: compared with what binutils and LLVM's tools read from the object."""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from pathlib import Path

import pytest

import whence
from whence.explorer.code import MainCode, kernel_of, machine_code
from whence.lowering.llvm_to_native.assembly import Instruction

_CODE = re.compile(r"^\s*([0-9a-f]+):\s+([^<#]*)")
_ROW = re.compile(r"^\S+\s+(\d+)\s+(0x[0-9a-f]+|0)\b")


def disassembled(path: Path) -> list[tuple[str, int]]:
    """(mnemonic, line of the line table) of each instruction of an object, without padding."""
    code = subprocess.run(
        ["llvm-objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True
    ).stdout
    table = subprocess.run(["objdump", "--dwarf=decodedline", path], capture_output=True, text=True, check=True).stdout
    rows = sorted({int(row[2], 16): int(row[1]) for row in map(_ROW.match, table.splitlines()) if row}.items())
    addresses = [address for address, _ in rows]
    found: list[tuple[str, int]] = []
    for line in code.splitlines():
        if (at := _CODE.match(line)) and at[2].strip() and "nop" not in at[2]:
            found.append((at[2].split()[0], rows[bisect_right(addresses, int(at[1], 16)) - 1][1]))
    return found


@pytest.mark.skipif(not (shutil.which("llvm-objdump") and shutil.which("objdump")), reason="no tools to read objects")
def test_what_is_shown_is_what_the_object_holds(compiled: whence.Executable, tmp_path: Path) -> None:
    artifact = compiled.artifact
    shown: list[tuple[bytes, tuple[Instruction, ...]]] = [(artifact.main, MainCode.of(artifact).instructions)]
    for index in range(len(artifact.kernels)):
        kernel = kernel_of(artifact, index)
        shown.append((kernel.object, machine_code(kernel)))
    path = tmp_path / "kernel.o"
    for data, code in shown:
        path.write_bytes(data)
        found = disassembled(path)
        assert [name for name, _ in found] == [one.text.split()[0] for one in code]
        assert [line for _, line in found] == [one.line if one.exact else 0 for one in code]
