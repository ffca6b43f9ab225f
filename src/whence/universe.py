"""What plain `xdsl-opt` learns from an installed Whence: dialects, passes and targets, each loaded when first used."""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.universe import Universe


def _relay() -> Dialect:
    from whence.dialects.relay import Relay

    return Relay


UNIVERSE = Universe(all_dialects={"relay": _relay})
