"""All that a deployed model needs; names that TVM has at this place are loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .loaded import load_module as load_module
    from .params import load_param_dict as load_param_dict
    from .params import load_param_dict_from_file as load_param_dict_from_file
    from .params import save_param_dict as save_param_dict
    from .params import save_param_dict_to_file as save_param_dict_to_file
    from .threads import num_threads as num_threads

_HOMES = {
    "Device": "device",
    "NDArray": "ndarray",
    "PackedFunc": "registry",
    "String": "container",
    "num_threads": "threads",
    "load_module": "loaded",
    "load_param_dict": "params",
    "load_param_dict_from_file": "params",
    "save_param_dict": "params",
    "save_param_dict_to_file": "params",
}
_ELSEWHERE = {"vm": "whence.runtime.vm", "profiler_vm": "whence.runtime.profiler_vm", "ndarray": "whence.nd"}
"""What needs more than the runtime, and is found here where that is installed."""
_OBJECTS = {
    "Module": "whence.kernels.function_module:FunctionModule",
    "Object": "whence.frontends.relay.node:Node",
    "const": "whence.te:const",
    "convert": "whence.ir.containers:convert",
}
"""Names that need more, likewise."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"whence.runtime.{_HOMES[name]}"), name)
    if name in _ELSEWHERE:
        return import_module(_ELSEWHERE[name])
    if name in _OBJECTS:
        home, _, attribute = _OBJECTS[name].partition(":")
        return getattr(import_module(home), attribute)
    raise AttributeError(f"module 'whence.runtime' has no attribute '{name}'")
