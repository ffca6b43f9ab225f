"""Recurrent layers, compiled."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import Array, Cases, Check, MakeNet, random

from whence.dialects.relay.operator import Operator
from whence.dialects.relay.recurrent import GRUOp, LSTMOp, RNNOp


def small(*shape: int, dtype: str = "float32") -> Array:
    """Weights that keep states apart from the ends of the activations."""
    return (random(shape) / 4).astype(dtype)


CASES = Cases()
LENGTHS = np.array([4, 1, 3], np.int32)
for reverse in (False, True):
    CASES.add(LSTMOp, "4x3x32", small(2, 8, 4, 4), "3x8", "3x8", None, LENGTHS, reverse=reverse)
    CASES.add(RNNOp, "4x3x8", small(2, 8, 1, 4), "3x8", LENGTHS, reverse=reverse)
    CASES.add(GRUOp, "4x3x15", small(1, 5, 3, 5), "3x5", "5", LENGTHS, reverse=reverse)
CASES.add(LSTMOp, "2x1x64", small(1, 16, 4, 16), "1x16", "1x16", small(3, 16), None, clip=0.7, input_forget=True)
CASES.add(LSTMOp, "3x2x16 float16", small(1, 4, 4, 4, dtype="float16"), "2x4 float16", "2x4 float16", None, None)
CASES.add(GRUOp, "3x2x24 float64", small(2, 8, 3, 4, dtype="float64"), "2x8 float64", "8 float64", None, reverse=True)
CASES.add(GRUOp, "3x2x21", small(7, 7, 3, 1), "2x7", "7", None, linear_before_reset=True, clip=1.5)
CASES.add(RNNOp, "3x1x5", small(1, 5, 1, 5), "1x5", None, activations="relu")
# Panels of eight units, of which five are no filling.
CASES.add(LSTMOp, "3x2x32", small(2, 5, 4, 4), "2x8", "2x8", small(3, 8), LENGTHS[:2])
CASES.add(GRUOp, "3x2x24", small(1, 5, 3, 8), "2x8", "8", None)
CASES.add(GRUOp, "3x2x24", small(1, 5, 3, 8), "2x8", "8", None, linear_before_reset=True)
CASES.add(RNNOp, "3x2x8", small(1, 5, 1, 8), "2x8", None)
for activation in ("affine(0.5, 0.25)", "elu(0.5)", "hardsigmoid", "leakyrelu", "scaledtanh(2.0, 0.5)", "softplus"):
    CASES.add(
        LSTMOp, "2x2x16", small(1, 4, 4, 4), "2x4", "2x4", None, None, activations=f"sigmoid softsign {activation}"
    )
CASES.add(RNNOp, "3x2x5", small(1, 5, 1, 5), "2x5", None, activations="thresholdedrelu(0.125)")


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
