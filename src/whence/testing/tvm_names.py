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
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType
from typing import Any

_OURS, _THEIRS = "whence", "tvm"
_ELSEWHERE = {
    "tvm.driver.tvmc.main": "whence.driver.tvmc",
    "tvm.ir.module": "whence.ir",
    "tvm.ir.transform": "whence.transform",
}
"""Modules of TVM's whose names another module of whence has."""


class _Elsewhere(ModuleType):
    """A module of TVM's that lies below what is no package here."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(_ELSEWHERE[self.__name__]), name)


class _Names(MetaPathFinder, Loader):
    """Finds `tvm.x` as `whence.x`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.split(".")[0] != _THEIRS or not _exists(_home(fullname)):
            return None
        return spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # What stands in sys.modules after this is what `import` gives.
        sys.modules[module.__name__] = import_module(_home(module.__name__))


def _home(name: str) -> str:
    return _OURS + name.removeprefix(_THEIRS)


def _exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def as_tvm() -> None:
    """Have `import tvm` and all below it give whence's modules of the same names, in this process."""
    if not any(isinstance(finder, _Names) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Names())
        sys.modules.update({name: _Elsewhere(name) for name in _ELSEWHERE})
