"""The words of TVMScript for modules, by TVM's name `tvm.script.ir`."""

from __future__ import annotations

from typing import Any

from whence.script.reading import ir_module as ir_module

SCRIPT_LETTER = "I"


def module_attrs(attrs: dict[str, Any]) -> None:
    """Stand for the notes of a module, which nothing reads."""
    del attrs
