"""The operators of FastMath, compiled; and their meanings, which are those of the ordinary ones."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from operator_cases import FLOATS, SPECIAL, Cases, Check, MakeNet, random
from xdsl.utils.test_value import create_ssa_value

from whence.dialects.element_types import tensor_type
from whence.dialects.relay.evaluation import evaluate
from whence.dialects.relay.fast_math import FastErfOp, FastExpOp, FastSoftmaxOp, FastTanhOp
from whence.dialects.relay.operator import Operator

CASES = Cases()
for kind in (FastErfOp, FastExpOp, FastTanhOp):
    CASES.add(kind, SPECIAL)
    for dtype in FLOATS:
        CASES.add(kind, f"3x17 {dtype}")
for dtype in FLOATS:
    CASES.add(FastSoftmaxOp, f"3x17 {dtype}")
CASES.add(FastSoftmaxOp, "3x5x7", axis=1)


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


@pytest.mark.parametrize(("kind", "function"), [(FastErfOp, math.erf), (FastExpOp, math.exp), (FastTanhOp, math.tanh)])
def test_functions_are_exact(kind: type[Operator], function: Callable[[float], float]):
    x = random((40,))
    (found,) = evaluate(kind(create_ssa_value(tensor_type(x))), [x])
    np.testing.assert_allclose(found.astype(np.float64), [function(float(number)) for number in x], rtol=1e-6)
