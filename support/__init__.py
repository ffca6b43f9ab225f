"""What every room leans on: errors, options, dtypes. Nothing here knows of IR beyond a pass's name."""

from importlib import import_module
from typing import Any

_ELSEWHERE = {"FrontendTestModule": "whence.runtime.library"}
"""What TVM has at this place, and is found where it belongs."""


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return getattr(import_module(_ELSEWHERE[name]), name)
    raise AttributeError(f"module 'whence.support' has no attribute '{name}'")


def libinfo() -> dict[str, str]:
    """TVM's switches of a build, "ON" or "OFF", of those that programs ask for."""
    return {"USE_LLVM": "ON", **dict.fromkeys(("USE_CUDA", "USE_MICRO", "USE_OPENCL", "USE_RPC", "USE_VULKAN"), "OFF")}
