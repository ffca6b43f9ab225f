"""The relay dialect: a graph of tensor operators, named, defaulted and fused as in TVM.

A program imports the modules of the operators that it names; `Relay`, which has all, is loaded when it is asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dialect import DYNAMIC as DYNAMIC
    from .dialect import LANGUAGE as LANGUAGE
    from .dialect import OPERATORS as OPERATORS
    from .dialect import OUTSIDE as OUTSIDE
    from .dialect import Relay as Relay


def __getattr__(name: str) -> Any:
    if name not in ("DYNAMIC", "LANGUAGE", "OPERATORS", "OUTSIDE", "Relay"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from . import dialect

    return getattr(dialect, name)
