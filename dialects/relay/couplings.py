"""Probabilities of classes from those of pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes import Size
from ..sizes.types import tensor_of
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import FLOATS, OPAQUE

ROUNDS = 100
"""After which the probabilities are what they are."""


@irdl_op_definition
class CoupledProbabilitiesOp(Operator):
    """Probabilities of classes (rows, classes) from those of the first of each pair (rows, pairs).

    Pairs are (0, 1), (0, 2), .., (1, 2), .. The method is the second of Wu, Lin and Weng, "Probability estimates for
    multi-class classification by pairwise coupling", as libsvm has it: until what is left is below 0.005 / classes.
    """

    name = "relay.ml.coupled_probabilities"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(OPAQUE)

    @classmethod
    def classes(cls, sig: Signature) -> int:
        """Return the number of classes that have so many pairs."""
        pairs = sig.rank(0, 2)[1]
        classes = (1 + isqrt(1 + 8 * pairs)) // 2 if isinstance(cast(Size, pairs), int) and pairs > 0 else 0
        if classes * (classes - 1) // 2 != pairs or not classes:
            sig.fail("rows of all pairs of some classes", str(sig.types[0]))
        return classes

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(FLOATS)
        return [tensor_of(sig.types[0].element_type, (sig.shape(0)[0], cls.classes(sig)))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        count = cls.classes(sig)
        out = np.empty((len(x), count), x.dtype)
        for row, pairs in enumerate(x):
            r = np.zeros((count, count), np.float64)
            r[np.triu_indices(count, 1)] = pairs
            r += np.tril(1 - r.T, -1)
            q = -r.T * r
            np.fill_diagonal(q, (np.tril(r, -1) ** 2).sum(0) + (np.triu(r, 1) ** 2).sum(0))
            out[row] = _coupled(q, count)
        return out


def _coupled(q: AnyArray, count: int) -> AnyArray:
    p = np.full(count, 1 / count)
    for _ in range(ROUNDS):
        qp = q @ p
        total = p @ qp
        if np.abs(qp - total).max() < 0.005 / count:
            break
        for i in range(count):
            step = (total - qp[i]) / q[i, i]
            p[i] += step
            total = (total + step * (step * q[i, i] + 2 * qp[i])) / (1 + step) ** 2
            qp = (qp + step * q[i]) / (1 + step)
            p /= 1 + step
    return p
