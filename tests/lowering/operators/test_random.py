"""Random numbers, compiled; the generator's known answers; and that the numbers are distributed as they should be."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import FLOATS, Cases, Check, MakeNet

from whence.dialects.relay import random
from whence.dialects.relay.evaluation import evaluate
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.random import NormalOp, UniformOp

CASES = Cases()
for dtype in FLOATS:
    CASES.add(NormalOp, shape=[3, 5], dtype=dtype, seed=7, mean=1.0, scale=0.5)
# Both take their bits from one generator, and bring them to a dtype alike.
for dtype in FLOATS[1:3]:
    CASES.add(UniformOp, shape=[3, 5], dtype=dtype, seed=7, low=-1.0, high=3.0)
CASES.add(NormalOp, shape=[], seed=-3)
CASES.add(UniformOp, shape=[100], seed=1 << 40)


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


def test_the_generator_gives_its_known_answers():
    """The first of Random123's test vectors for Threefry-2x32-20: key and counter 0."""
    x, y = random.words(0, 1)
    assert (int(x[0]), int(y[0])) == (0x6B200159, 0x99BA4EFE)


@pytest.mark.parametrize("dtype", FLOATS)
def test_distributions(dtype: str):
    (even,) = evaluate(UniformOp(shape=[200, 500], dtype=dtype, seed=11, low=2.0, high=6.0), [])
    found = even.astype(np.float64)
    assert 2 <= found.min() < found.max() <= 6
    assert abs(found.mean() - 4) < 0.02
    assert abs(found.var() - 16 / 12) < 0.02
    (bell,) = evaluate(NormalOp(shape=[200, 500], dtype=dtype, seed=12, mean=-1.0, scale=2.0), [])
    standard = (bell.astype(np.float64) + 1) / 2
    assert abs(standard.mean()) < 0.015
    assert abs(standard.std() - 1) < 0.01
    # Of a normal distribution 68.3 % lie within one deviation, 0.27 % beyond three.
    assert abs((np.abs(standard) < 1).mean() - 0.6827) < 0.006
    assert abs((np.abs(standard) > 3).mean() - 0.0027) < 0.001
    # Neighbours have nothing to do with each other, nor has another seed.
    (other,) = evaluate(NormalOp(shape=[200, 500], dtype=dtype, seed=13, mean=-1.0, scale=2.0), [])
    for one, two in ((standard[:, 1:], standard[:, :-1]), (standard, (other.astype(np.float64) + 1) / 2)):
        assert abs((one * two).mean()) < 0.015
