"""The table of operators: each family has its rows in its own module."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ..importing.converter import Converter
from ..importing.tables import Rows
from ..importing.tensor import Tensor
from .context import Context
from .program import EQUALS, RENAMING


def _same(ctx: Context) -> Tensor:
    return ctx.tensor(0)


def _is_number(ctx: Context) -> SSAValue:
    return ctx.term(0).equal(ctx.int("number")).value


CONVERTERS: Rows[Converter[Context]] = Rows(__name__, own={RENAMING: Converter(_same), EQUALS: Converter(_is_number)})
"""Operator, without its dialect -> how it is imported."""

_RANDOM = "random numbers are an input of a model: draw them before, or compute them from a key of threefry"
_GRADIENT = "a part of a gradient, which no inference computes"
_DEVICES = "one model runs on one device"
REFUSED = {
    **dict.fromkeys(("rng", "rng_bit_generator"), _RANDOM),
    **dict.fromkeys(("batch_norm_grad", "batch_norm_training"), _GRADIENT),
    **dict.fromkeys(("all_gather", "all_reduce", "all_to_all", "collective_permute", "reduce_scatter"), _DEVICES),
    **dict.fromkeys(("partition_id", "replica_id", "collective_broadcast", "send", "recv"), _DEVICES),
    **dict.fromkeys(("complex", "real", "imag", "fft"), "complex numbers have no element type"),
}
"""Operators that are not imported on purpose -> why."""
