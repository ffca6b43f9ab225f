"""All that a deployed model needs; names that TVM has at this place, which are in the stub, are loaded when first used.

Those that need the compiler are added by the front door.
"""

from typing import Any

from ..support.rooms import name_in


def __getattr__(name: str) -> Any:
    return name_in(__name__, name)
