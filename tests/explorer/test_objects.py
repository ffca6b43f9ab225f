"""The assembly shown is the code that runs: compared with what binutils and LLVM's tools read from the object."""

from __future__ import annotations

from pathlib import Path

import pytest
from disassembly import HAS_TOOLS, disassembled

import whence
from whence.explorer.code import MainCode, kernel_of, machine_code
from whence.lowering.llvm_to_native.assembly import Instruction, instructions


@pytest.mark.skipif(not HAS_TOOLS, reason="no tools to read objects")
def test_what_is_shown_is_what_the_object_holds(compiled: whence.Executable, tmp_path: Path) -> None:
    artifact = compiled.artifact
    shown: list[tuple[bytes, tuple[Instruction, ...]]] = [(artifact.main, MainCode.of(artifact).instructions)]
    for index in range(len(artifact.kernels)):
        kernel = kernel_of(artifact, index)
        # The lines are LLVM's, also where an op cannot have made an instruction.
        code = tuple(instructions(kernel.assembly))
        assert [(one.function, one.text) for one in machine_code(kernel)] == [(one.function, one.text) for one in code]
        shown.append((kernel.object, code))
    path = tmp_path / "kernel.o"
    for data, code in shown:
        path.write_bytes(data)
        found = disassembled(path)
        assert [one.mnemonic for one in found] == [one.text.split()[0] for one in code]
        assert [one.line for one in found] == [one.line if one.exact else 0 for one in code]
