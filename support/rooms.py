"""Names of rooms, loaded when first asked for: a room is a module with TVM's name whose objects live elsewhere.

Each name of a room stands once: as an import in the stub beside its file (`__init__.pyi`), which type checkers read as
well; or, where the object lives in a folder further down the order, in a table with which the front door, which knows
all folders, calls `add_names`. The room itself says

    def __getattr__(name: str) -> Any:
        return name_in(__name__, name)
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

_added: dict[str, Mapping[str, str]] = {}
_refused: dict[str, Mapping[str, str]] = {}


def add_names(room: str, homes: Mapping[str, str]) -> None:
    """Add names to a room. A home is a module, or `module:name` for an object in one."""
    _added[room] = homes


def refuse_names(room: str, reasons: Mapping[str, str]) -> None:
    """Have a room say why it does not have names of TVM's: errors about these end with the reason."""
    _refused[room] = reasons


def reason_of(room: str, name: str) -> str:
    """Return what an error about a missing name says behind it: `: reason`, or nothing."""
    reason = _refused.get(room, {}).get(name)
    return "" if reason is None else f": {reason}"


def homes_in(room: str) -> Mapping[str, str]:
    """Return the home of each name of a room."""
    return {**_stub(room), **_added.get(room, {})}


def name_in(room: str, name: str) -> Any:
    """Return the object of a name, and keep it in the room; raises AttributeError for an unknown name."""
    home = homes_in(room).get(name)
    if home is None:
        raise AttributeError(f"module '{room}' has no attribute '{name}'{reason_of(room, name)}")
    module, _, attribute = home.partition(":")
    value = import_module(module)
    if attribute:
        value = getattr(value, attribute) if hasattr(value, attribute) else import_module(f"{module}.{attribute}")
    setattr(sys.modules[room], name, value)
    return value


@cache
def _stub(room: str) -> Mapping[str, str]:
    module = sys.modules[room]
    path = Path(module.__file__ or "").with_suffix(".pyi")
    return stub_homes(path.read_text(), room) if path.exists() else {}


def stub_homes(text: str, package: str) -> dict[str, str]:
    """Return the homes of the names that a package's stub imports.

    >>> stub_homes("from . import vm as vm\\nfrom .params import save as save", "whence.runtime")
    {'vm': 'whence.runtime.vm', 'save': 'whence.runtime.params:save'}
    """
    homes: dict[str, str] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            module = ".".join([package] * node.level + ([node.module] if node.module else []))
            # `from . import name` is of a module, any other import of an object in one.
            mark = ":" if node.module else "."
            homes |= {alias.asname: f"{module}{mark}{alias.name}" for alias in node.names if alias.asname}
    return homes
