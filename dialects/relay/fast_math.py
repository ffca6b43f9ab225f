"""The operators that TVM's FastMath makes of ordinary ones, by their names.

There they are approximations. Here the ordinary functions are vectors' arithmetic themselves, and these are computed
with those: they are as exact, and take as long.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition, traits_def

from .attributes import integer
from .elementwise import ErfOp, Unary, unary
from .layout_traits import ON_AXIS
from .normalization import SameType, SoftmaxOp
from .numerics import AnyArray
from .operator import Signature
from .traits import FLOATS, OUT_ELEMWISE_FUSABLE, Kind

FastExpOp = unary("fast_exp", np.exp, FLOATS)
FastTanhOp = unary("fast_tanh", np.tanh, FLOATS)


@irdl_op_definition
class FastErfOp(Unary):
    name = "relay.fast_erf"
    OPERAND: ClassVar[Kind] = FLOATS

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return ErfOp.evaluate(sig, x)


@irdl_op_definition
class FastSoftmaxOp(SameType):
    name = "relay.nn.fast_softmax"
    axis = integer(-1)
    traits = traits_def(OUT_ELEMWISE_FUSABLE, ON_AXIS)

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        return SoftmaxOp.evaluate(sig, data)
