"""The space of a kernel: what may be decided about it."""

from __future__ import annotations

from ...dialects.relay.core import FuncOp
from ...support.machine import Machine
from ..relay_to_te.knobs import Space
from ..relay_to_te.lower import lower_function
from ..relay_to_te.strategy import space_of


def kernel_space(func: FuncOp, machine: Machine) -> Space:
    """The knobs of an anonymous primitive function's schedule on a machine, and what decisions cost."""
    return space_of(lower_function(func), machine)
