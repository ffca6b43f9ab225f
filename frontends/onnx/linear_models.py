"""Linear models and support vector machines of `ai.onnx.ml`. All compute in float32."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ...dialects.relay.couplings import CoupledProbabilitiesOp
from ...dialects.relay.elementwise import LogicalNotOp, PowerOp
from ...dialects.relay.matmul import DenseOp
from ...dialects.relay.reduce import MaxOp
from ...dialects.sizes import proves
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.terms import Term, constant, exp, sigmoid, tanh, where
from .context import Context
from .scores import best, chosen, labelled, labels_of, pair, probit, rows_of, transform_of, transformed

Floats = NDArray[np.float32]
_LEAST = 1e-7
"""The distance that probabilities of pairs keep from 0 and 1."""


def _floats(ctx: Context, name: str) -> Floats:
    return np.asarray(ctx.floats(name, None) or (), np.float32)


def _matrix(ctx: Context, name: str, rows: int) -> Floats:
    """An attribute as a matrix of so many rows."""
    numbers = _floats(ctx, name)
    if not rows or not len(numbers) or len(numbers) % rows:
        ctx.fail(f"{name} in {rows} rows", f"{len(numbers)} numbers")
    return numbers.reshape(rows, -1)


def _product(ctx: Context, data: Term, weight: Floats, bias: Floats, hint: str) -> Term:
    """Rows times a weight (outputs, features), with a bias of as many numbers as outputs, one or none."""
    width, wanted = data.shape[1], weight.shape[1]
    if proves(width, "!=", wanted):
        ctx.fail(f"rows of {wanted} features, as {hint} says", str(width))
    ctx.require_equal(width, wanted)
    if len(bias) not in (0, 1, len(weight)):
        ctx.fail(f"as many numbers to add as there are outputs, {len(weight)}", str(len(bias)))
    product = data.apply(DenseOp, constant(ctx, weight, hint))
    return product + constant(ctx, bias, "bias") if len(bias) else product


def linear_regressor(ctx: Context) -> SSAValue:
    targets = ctx.int("targets", 1)
    weight = _matrix(ctx, "coefficients", targets)
    scores = _product(ctx, rows_of(ctx, "float32"), weight, _floats(ctx, "intercepts"), "coefficients")
    return _transformed(scores, transform_of(ctx)).value


def _transformed(scores: Term, transform: str) -> Term:
    """Of one number a row, which is no class's, PROBIT makes something else only."""
    if scores.shape[1] > 1:
        return transformed(scores, transform)
    return probit(scores) if transform == "PROBIT" else scores


def linear_classifier(ctx: Context) -> tuple[SSAValue, SSAValue]:
    labels, intercepts, transform = labels_of(ctx, "classlabels_ints"), _floats(ctx, "intercepts"), transform_of(ctx)
    # There are as many rows of weights as intercepts; of two classes one is enough.
    count = len(intercepts) or len(labels)
    if count not in (1, len(labels)):
        ctx.fail(f"intercepts for {len(labels)} classes", str(count))
    weight = _matrix(ctx, "coefficients", count)
    scores = _product(ctx, rows_of(ctx, "float32"), weight, intercepts, "coefficients")
    if count > 1:
        return labelled(ctx, labels, best(scores)), transformed(scores, transform).value
    two = len(labels) == 2
    yes, no = (int(labels[1]), int(labels[0])) if two else (1, 0)
    label = chosen(ctx, scores > 0.0, yes, no)
    return label, (pair(scores, transform, mixed=False) if two else _transformed(scores, transform)).value


def _kernel(ctx: Context, data: Term, vectors: Floats, kind: str) -> Term:
    """Return the similarity of rows and support vectors (vectors, features): (rows, vectors)."""
    gamma, coef0, degree = (*(ctx.floats("kernel_params", None) or ()), 0.0, 0.0, 0.0)[:3]
    match kind:
        case "LINEAR":
            return _product(ctx, data, vectors, np.zeros(0, np.float32), "support_vectors")
        case "POLY":
            dots = _product(ctx, data, vectors, np.zeros(0, np.float32), "support_vectors")
            return (dots * gamma + coef0).apply(PowerOp, degree)
        case "SIGMOID":
            dots = _product(ctx, data, vectors, np.zeros(0, np.float32), "support_vectors")
            return tanh(dots * gamma + coef0)
        case "RBF":
            rows, width = data.shape
            ctx.require_equal(width, vectors.shape[1])
            if proves(width, "!=", vectors.shape[1]):
                ctx.fail(f"rows of {vectors.shape[1]} features, as support_vectors says", str(width))
            away = data.reshape(rows, 1, width) - constant(ctx, vectors[None], "support_vectors")
            squares = (away * away).sum(2).reshape(rows, len(vectors))
            return exp(squares * -gamma)
        case _:
            ctx.fail("a kernel_type among LINEAR, POLY, RBF, SIGMOID", repr(kind))


def svm_regressor(ctx: Context) -> SSAValue:
    """One number a row; of one class 1 inside and -1 outside."""
    count, data, rho = ctx.int("n_supports", 0), rows_of(ctx, "float32"), _floats(ctx, "rho")
    if not len(rho):
        ctx.fail("rho", "none")
    coefficients = _matrix(ctx, "coefficients", 1)
    if count > 0:
        data = _kernel(ctx, data, _matrix(ctx, "support_vectors", count), ctx.word("kernel_type", "LINEAR"))
    scores = _product(ctx, data, coefficients, rho[:1], "coefficients")
    if ctx.int("one_class", 0):
        scores = where(scores > 0.0, scores.number(1.0), -1.0)
    return scores.value


def svm_classifier(ctx: Context) -> tuple[SSAValue, SSAValue]:
    labels, transform, data = labels_of(ctx, "classlabels_ints"), transform_of(ctx), rows_of(ctx, "float32")
    per_class = np.asarray(ctx.ints("vectors_per_class", None) or (), np.int64)
    if (per_class < 0).any():
        ctx.fail("vectors_per_class of at least 0", str(per_class.min()))
    if not per_class.sum():
        return _linear_machine(ctx, data, labels, transform)
    if len(per_class) != len(labels) or len(labels) < 2:
        ctx.fail(f"vectors_per_class of {len(labels)} classes, two at least", str(len(per_class)))
    scores = _machine_scores(ctx, data, per_class)
    pairs = list(combinations(range(len(labels)), 2))
    first, second = np.zeros((2, len(labels), len(pairs)), np.float32)
    for number, (i, j) in enumerate(pairs):
        first[i, number] = second[j, number] = 1
    wins = where(scores > 0.0, scores.number(1.0), 0.0)
    votes = wins.apply(DenseOp, constant(ctx, first - second, "votes")) + constant(ctx, second.sum(1), "votes")
    label = labelled(ctx, labels, best(votes))
    a, b = _floats(ctx, "prob_a"), _floats(ctx, "prob_b")
    if len(a) or len(b):
        if len(a) != len(pairs) or len(b) != len(pairs):
            ctx.fail(f"prob_a and prob_b of {len(pairs)} pairs", f"{len(a)} and {len(b)} numbers")
        of_pairs = sigmoid(-(scores * constant(ctx, a, "prob_a") + constant(ctx, b, "prob_b")))
        scores = of_pairs.clip(_LEAST, 1 - _LEAST).apply(CoupledProbabilitiesOp)
    elif len(labels) == 2:
        return label, pair(scores, transform, mixed=transform == "NONE").value
    return label, transformed(scores, transform).value


def _machine_scores(ctx: Context, data: Term, per_class: NDArray[np.int64]) -> Term:
    """Return which class of each pair a row is in: above 0 the first, (rows, pairs)."""
    count, classes = int(per_class.sum()), len(per_class)
    vectors, coefficients = _matrix(ctx, "support_vectors", count), _matrix(ctx, "coefficients", classes - 1)
    rho, pairs = _floats(ctx, "rho"), list(combinations(range(classes), 2))
    if coefficients.shape[1] != count:
        ctx.fail(f"coefficients of {count} support vectors", str(coefficients.shape[1]))
    if len(rho) != len(pairs):
        ctx.fail(f"rho of {len(pairs)} pairs", str(len(rho)))
    # The vectors of one class have a coefficient for each of the others.
    ends = np.cumsum(per_class)
    parts = [slice(end - own, end) for own, end in zip(per_class, ends, strict=True)]
    weight = np.zeros((len(pairs), count), np.float32)
    for number, (i, j) in enumerate(pairs):
        weight[number, parts[i]] = coefficients[j - 1, parts[i]]
        weight[number, parts[j]] = coefficients[i, parts[j]]
    return _product(ctx, _kernel(ctx, data, vectors, ctx.word("kernel_type", "LINEAR")), weight, rho, "coefficients")


def _linear_machine(ctx: Context, data: Term, labels: Array, transform: str) -> tuple[SSAValue, SSAValue]:
    """Without support vectors: a score of each class. Of two, the second is chosen where any is high enough."""
    rho, coefficients = _floats(ctx, "rho"), _matrix(ctx, "coefficients", len(labels))
    if not len(rho):
        ctx.fail("rho", "none")
    scores = _product(ctx, data, coefficients, rho[:1], "coefficients")
    index = best(scores)
    if len(labels) == 2:
        greatest = scores.apply(MaxOp, axis=(1,), keepdims=False)
        low = greatest < 0.5 if (coefficients >= 0).all() else (greatest > 0.0).apply(LogicalNotOp)
        index = where(low, index, index.number(1))
    return labelled(ctx, labels, index), _transformed(scores, transform).value


_KERNEL = {name: "of machines with support vectors" for name in ("kernel_params", "kernel_type")}

MACHINE_LEARNING = {
    "LinearClassifier": Converter(linear_classifier),
    "LinearRegressor": Converter(linear_regressor),
    "SVMClassifier": Converter(svm_classifier, unread=_KERNEL),
    "SVMRegressor": Converter(svm_regressor, unread=_KERNEL),
}
