"""The assembly shown is the code that runs: compared with what binutils and LLVM's tools read from the object."""

from __future__ import annotations

from pathlib import Path

import pytest
from disassembly import HAS_TOOLS, disassembled

import whence
from whence.explorer.code import MainCode, kernel_of, machine_code


@pytest.mark.skipif(not HAS_TOOLS, reason="no tools to read objects")
def test_what_is_shown_is_what_the_object_holds(compiled: whence.Executable, tmp_path: Path) -> None:
    artifact = compiled.artifact
    main = MainCode.of(artifact).instructions
    shown = [(artifact.main, main, [one.line if one.exact else 0 for one in main])]
    for index in range(len(artifact.kernels)):
        kernel = kernel_of(artifact, index)
        code = machine_code(kernel)
        # The objects of kernels have the inferred lines, too.
        shown.append((kernel.object, code, [one.line for one in code]))
    path = tmp_path / "kernel.o"
    for data, code, lines in shown:
        path.write_bytes(data)
        read = disassembled(path)
        assert [one.mnemonic for one in read] == [one.text.split()[0] for one in code]
        assert [one.line for one in read] == lines
