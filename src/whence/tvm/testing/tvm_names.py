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

from whence.reading.tvm_modules import ELSEWHERE, home
from whence.support.module_names import FurtherNames


class _Elsewhere(ModuleType):
    """A module of TVM's below a name that is not a package here."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(str(home(self.__name__))), name)


_names = FurtherNames(home)


def as_tvm() -> None:
    """Make `import tvm` and its submodules return Whence's modules of the same names, in this process."""
    if _names not in sys.meta_path:
        sys.meta_path.insert(0, _names)
        sys.modules.update({name: _Elsewhere(name) for name in ELSEWHERE})
