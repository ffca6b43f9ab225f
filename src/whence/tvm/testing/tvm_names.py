"""`as_tvm`: programs that say `import tvm` run on whence.

>>> from whence.testing import as_tvm
>>> as_tvm()
>>> import tvm
>>> from tvm import relay

`tvm.relay.op` is then the module `whence.relay.op`, and so on: there are no copies, and no names beyond those of
whence. A process that has the real `tvm` loaded keeps it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from whence.support.module_names import FurtherNames

_OURS, _THEIRS = "whence", "tvm"
_ELSEWHERE = {
    "tvm.driver.tvmc.main": "whence.driver.tvmc",
    "tvm.ir.module": "whence.ir",
    "tvm.ir.transform": "whence.transform",
    **{f"tvm.ir.{name}": "whence.ir" for name in ("container", "expr", "function", "type", "type_relation")},
    **{f"tvm.tir.{name}": "whence.tir" for name in ("buffer", "expr", "stmt")},
}
"""Modules of TVM's whose names another module of whence has."""


class _Elsewhere(ModuleType):
    """A module of TVM's below a name that is not a package here."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(_ELSEWHERE[self.__name__]), name)


def _home(name: str) -> str | None:
    return _OURS + name.removeprefix(_THEIRS) if name.split(".")[0] == _THEIRS else None


_names = FurtherNames(_home)


def as_tvm() -> None:
    """Make `import tvm` and its submodules return Whence's modules of the same names, in this process."""
    if _names not in sys.meta_path:
        sys.meta_path.insert(0, _names)
        sys.modules.update({name: _Elsewhere(name) for name in _ELSEWHERE})
