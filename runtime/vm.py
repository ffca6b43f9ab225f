"""What TVM has at `runtime.vm`: names that need the compiler, which the front door adds."""

from typing import Any

from ..support.rooms import name_in


def __getattr__(name: str) -> Any:
    return name_in(__name__, name)
