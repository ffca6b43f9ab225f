"""Everything with TVM's names: `from whence import tvm`, then `tvm.relay`, `tvm.te` and so on.

The rooms of this folder are installed beside it, as `whence.relay`, `whence.topi` and so on, through links in
`src/whence/`; `whence.tvm.relay` is the same module.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The modules of this folder are importable only under their names beside it, so that each exists once.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    return getattr(import_module("whence"), name)
