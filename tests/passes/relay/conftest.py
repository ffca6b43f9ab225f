"""Programs of the language, from their text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from whence.reading.textio import read_module


@pytest.fixture
def parse(tmp_path: Path) -> Callable[[str], ModuleOp]:
    """Reads a module that is valid; its ops are located at their lines."""

    def read(text: str) -> ModuleOp:
        path = tmp_path / "program.mlir"
        path.write_text(text)
        module = read_module(path)
        module.verify()
        return module

    return read
