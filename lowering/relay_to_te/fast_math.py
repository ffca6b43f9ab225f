"""Computes of the operators that TVM's FastMath makes: those of the ordinary ones."""

from __future__ import annotations

from ... import te
from ...dialects.relay import fast_math as relay
from .elementwise import of_elements
from .nn import softmax

TABLE = {
    **of_elements({relay.FastErfOp: te.erf, relay.FastExpOp: te.exp, relay.FastTanhOp: te.tanh}),
    relay.FastSoftmaxOp: softmax,
}
