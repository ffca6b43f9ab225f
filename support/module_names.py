"""Modules under further names: importing one of them gives the module itself, of which there is one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType


class FurtherNames(MetaPathFinder, Loader):
    """Finds the modules for whose names `home` knows the name of another; it gives None for those that it leaves."""

    def __init__(self, home: Callable[[str], str | None]):
        self._home = home

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        home = self._home(fullname)
        if home is None or not _exists(home):
            return None
        return spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        home = self._home(module.__name__)
        assert home is not None
        # `import` returns the entry of sys.modules after this.
        sys.modules[module.__name__] = import_module(home)


def _exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
