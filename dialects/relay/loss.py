"""Losses of classifiers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import integer, string
from .numerics import AnyArray, along, widened
from .operator import Operator, Signature, Tensor
from .traits import FLOATS, INTEGERS, OPAQUE


@irdl_op_definition
class NLLLossOp(Operator):
    """The negative of the prediction for each target, times the weight of that class; TVM's nll_loss.

    predictions: (batch, classes, ...), mostly logarithms of probabilities; targets: (batch, ...), integers; weights:
    (classes). Targets of `ignore_index` count as 0; others lie in [0, classes). `reduction` is "none", "sum" or
    "mean", which divides by the sum of the weights of all targets that count.
    """

    name = "relay.nn.nll_loss"
    predictions = operand_def(TensorType)
    targets = operand_def(TensorType)
    weights = operand_def(TensorType)
    result = result_def(TensorType)
    reduction = string("mean")
    ignore_index = integer(-100)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = sig.shape(0)
        if len(shape) < 2 or sig.shape(1) != (shape[0], *shape[2:]):
            sig.fail("predictions (batch, classes, ...) and targets (batch, ...)", f"{sig.types[0]}, {sig.types[1]}")
        sig.of(INTEGERS, 1)
        if sig.shape(2) != (shape[1],) or sig.types[2].element_type != sig.types[0].element_type:
            sig.fail(f"weights of {shape[1]} classes, as the predictions are", str(sig.types[2]))
        sig.require(shape[1] - 1, "at least one class", str(sig.types[0]))
        if (reduction := sig.str("reduction")) not in ("none", "sum", "mean"):
            sig.fail("reduction none, sum or mean", repr(reduction))
        return [tensor_of(sig.types[0].element_type, sig.shape(1) if reduction == "none" else ())]

    @classmethod
    def evaluate(cls, sig: Signature, predictions: AnyArray, targets: AnyArray, weights: AnyArray) -> AnyArray:
        data, weight = widened(predictions), widened(weights)
        counts = targets != sig.int("ignore_index")
        inside = np.clip(np.where(counts, targets, 0).astype(np.int64), 0, data.shape[1] - 1)
        classes = np.arange(data.shape[1], dtype=np.int64)
        places = np.expand_dims(inside, 1) == along(classes, 1, data.ndim)
        picked = np.sum(np.where(places, data, data.dtype.type(0)), axis=1)
        weight = np.where(counts, weight[inside], weight.dtype.type(0))
        loss = -picked * weight
        match sig.str("reduction"):
            case "none":
                return loss
            case "sum":
                return np.sum(loss)
            case _:
                return np.sum(loss) / np.sum(weight)


class _CrossEntropy(Operator):
    """A loss of two matrices (batch, classes), the second of probabilities: one number, the mean over the batch."""

    predictions = operand_def(TensorType)
    targets = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(FLOATS)
        if sig.rank(0, 2) != sig.rank(1, 2):
            sig.fail(f"targets of shape {list(sig.shape(0))}", str(sig.types[1]))
        return [tensor_of(sig.same_element(), ())]

    @classmethod
    def mean(cls, logarithms: AnyArray, targets: AnyArray) -> AnyArray:
        return -np.sum(logarithms * targets) / logarithms.dtype.type(len(targets))


@irdl_op_definition
class CrossEntropyOp(_CrossEntropy):
    """`-sum(targets * log(predictions)) / batch`."""

    name = "relay.nn.cross_entropy"

    @classmethod
    def evaluate(cls, sig: Signature, predictions: AnyArray, targets: AnyArray) -> AnyArray:
        return cls.mean(np.log(widened(predictions)), widened(targets))


@irdl_op_definition
class CrossEntropyWithLogitsOp(_CrossEntropy):
    """`-sum(targets * predictions) / batch`, of predictions that are logarithms already."""

    name = "relay.nn.cross_entropy_with_logits"

    @classmethod
    def evaluate(cls, sig: Signature, predictions: AnyArray, targets: AnyArray) -> AnyArray:
        return cls.mean(widened(predictions), widened(targets))
