"""The registry of functions, where TVM has it: those that programs registered, and ours under the names of TVM's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from whence.runtime.values import registry
from whence.runtime.values.registry import PackedFunc as PackedFunc
from whence.runtime.values.registry import list_global_func_names as list_global_func_names
from whence.runtime.values.registry import register_func as register_func
from whence.runtime.values.registry import remove_global_func as remove_global_func

_OURS = {
    "relay._transform": "whence.relay.transform",
    "relay.analysis": "whence.relay.analysis",
    "relay._analysis": "whence.relay.analysis",
    "relay.ir": "whence.relay",
    "relay.op._make": "whence.relay.op",
    "relay.op.nn._make": "whence.relay.op.nn",
    "relay.qnn.op._make": "whence.relay.qnn.op",
    "relay.backend": "whence.relay.backend.te_compiler",
    "transform": "whence.transform",
    "tir.transform": "whence.tir.transform",
    "tir": "whence.tir",
    "ir": "whence.ir",
    "te": "whence.te",
    "arith": "whence.arith",
    "topi": "whence.topi",
    "topi.nn": "whence.topi.nn",
}
"""The prefix of a name of TVM's -> the module with what it does."""
_NAMED = {
    "target.build.llvm": "whence.driver.build_module:build_for",
    "node.StructuralEqual": "whence.ir:structural_equal",
    "node.StructuralHash": "whence.ir:structural_hash",
    "node.GetFirstStructuralMismatch": "whence.ir:get_first_structural_mismatch",
    "node.SaveJSON": "whence.ir:save_json",
    "node.LoadJSON": "whence.ir:load_json",
    "runtime.SaveParams": "whence.relay:save_param_dict",
    "runtime.LoadParams": "whence.relay:load_param_dict",
    "relay.build_module.BindParamsByName": "whence.relay.build_module:bind_params_by_name",
}
"""A name of TVM's -> the module and the name of what does that."""


def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """Return the function of a name: one that was registered, or ours that does what TVM's of this name does.

    Returns None for a missing one that may be missing; raises ValueError if it may not.
    """
    if (registered := registry.get_global_func(name, allow_missing=True)) is not None:
        return registered
    if (function := _ours(name)) is not None:
        return PackedFunc(name, function)
    return registry.get_global_func(name, allow_missing)


def _ours(name: str) -> Callable[..., Any] | None:
    home, _, last = name.rpartition(".")
    module, named = _OURS.get(home, ""), _NAMED.get(name, "")
    if named:
        module, _, last = named.partition(":")
    if not module or last.startswith("_"):
        return None
    value = getattr(_module(module), last, None)
    return value if callable(value) else None


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        parent, _, last = name.rpartition(".")
        return getattr(import_module(parent), last)


def init_api(namespace: str, target_module_name: str | None = None) -> None:
    """Give a module, by default `tvm.` and the namespace, the registered functions whose names begin with that.

    Raises ValueError for a module that is not loaded.
    """
    target = sys.modules.get(target_module_name or f"tvm.{namespace}")
    if target is None:
        raise ValueError(f"_init_api: expected a loaded module, got {target_module_name or namespace}")
    prefix = f"{namespace}."
    for name in list_global_func_names():
        if name.startswith(prefix) and "." not in (rest := name.removeprefix(prefix)):
            setattr(target, rest, get_global_func(name))
