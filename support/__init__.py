"""The foundation of every room: errors, options, dtypes. Nothing here knows of IR beyond a pass's name."""

from typing import Any

from .rooms import name_in


def __getattr__(name: str) -> Any:
    return name_in(__name__, name)


def libinfo() -> dict[str, str]:
    """TVM's switches of a build, "ON" or "OFF", of those that programs ask for."""
    return {"USE_LLVM": "ON", **dict.fromkeys(("USE_CUDA", "USE_MICRO", "USE_OPENCL", "USE_RPC", "USE_VULKAN"), "OFF")}
