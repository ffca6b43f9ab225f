"""What plain `xdsl-opt` learns from an installed Whence: dialects, passes and targets, each loaded when first used."""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.universe import Universe

from whence.passes.pipelines import available_passes


def _relay() -> Dialect:
    from whence.dialects.relay import Relay

    return Relay


def _te() -> Dialect:
    from whence.dialects.te import Te

    return Te


def _schedule() -> Dialect:
    from whence.dialects.schedule import Schedule

    return Schedule


def _tir() -> Dialect:
    from whence.dialects.tir import Tir

    return Tir


UNIVERSE = Universe(
    all_dialects={"relay": _relay, "te": _te, "schedule": _schedule, "tir": _tir}, all_passes=available_passes()
)
