"""The scores of models of `ai.onnx.ml`: transforms, and the label that wins.

Where the standard leaves it open what two classes with one score mean, it is as onnxruntime has it.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.normalization import SoftmaxOp
from ...dialects.relay.reduce import ArgMaxOp, MaxOp
from ...dialects.relay.transform import ConcatenateOp, TakeOp
from ...support.dtypes import Array
from ..importing.terms import Term, absolute, constant, exp, log, sigmoid, sqrt, where
from .context import Context

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_ZERO = 1e-7
"""The number that SOFTMAX_ZERO takes to be 0."""


def transform_of(ctx: Context) -> str:
    """The attribute `post_transform`."""
    name = ctx.word("post_transform", "NONE")
    if name not in TRANSFORMS:
        ctx.fail(f"a post_transform among {', '.join(TRANSFORMS)}", repr(name))
    return name


def transformed(scores: Term, name: str) -> Term:
    """Scores (rows, several) after a transform."""
    match name:
        case "SOFTMAX":
            return scores.apply(SoftmaxOp, axis=-1)
        case "LOGISTIC":
            return sigmoid(scores)
        case "SOFTMAX_ZERO":
            greatest = scores.apply(MaxOp, axis=(-1,), keepdims=True)
            shares = where(absolute(scores) > _ZERO, exp(scores - greatest), scores * exp(-greatest))
            return shares / shares.sum(-1)
        case "PROBIT":
            return probit(scores)
        case _:
            return scores


def probit(x: Term) -> Term:
    """The quantile of the normal distribution, by the formula that onnxruntime has for the inverse of erf."""
    x = x * 2.0 - 1.0
    logarithm = log((x.number(1.0) - x) * (x + 1.0))
    half = logarithm * 0.5 + 2 / (3.14159 * 0.147)
    size = sqrt(sqrt(half * half - logarithm * (1 / 0.147)) - half)
    return where(x < 0.0, -size, size) * 1.41421356


def pair(score: Term, name: str, *, mixed: bool) -> Term:
    """Scores of two classes (rows, 2) where there is one (rows, 1).

    mixed: whether it may be below 0, so that the other class has its negative, else what is left of 1.
    """
    if name == "PROBIT":
        return side_by_side(probit(score), score * 0.0)
    if name == "LOGISTIC":
        return side_by_side(sigmoid(-score), sigmoid(score))
    return side_by_side(-score if mixed else score.number(1.0) - score, score)


def side_by_side(*columns: Term) -> Term:
    ctx = columns[0].ctx
    return Term(ctx, ctx.emit(ConcatenateOp, *(column.value for column in columns), axis=1))


def best(scores: Term) -> Term:
    """The first column with the greatest score, of each row."""
    return scores.apply(ArgMaxOp, axis=(1,), keepdims=False).to("int64")


def labels_of(ctx: Context, name: str) -> Array:
    """The labels of classes, which are numbers: a host step puts texts in their place."""
    labels = ctx.ints(name, None)
    if not labels:
        ctx.fail("labels of classes", "none")
    return np.asarray(labels, np.int64)


def labelled(ctx: Context, labels: Array, index: Term) -> SSAValue:
    """The label of each index."""
    return ctx.emit(TakeOp, ctx.constant(labels, "labels"), index.value, axis=0)


def chosen(ctx: Context, condition: Term, yes: int, no: int) -> SSAValue:
    """One of two labels for each of (rows, 1)."""
    both = [constant(ctx, np.asarray(label, np.int64), "label") for label in (yes, no)]
    return where(condition.reshape(condition.shape[0]), *both).value


def rows_of(ctx: Context, dtype: str | None = None) -> Term:
    """Input 0 as rows (rows, width), in a dtype if one is given; a vector is one row."""
    data = Term(ctx, ctx.value(0))
    shape = data.shape
    if len(shape) not in (1, 2):
        ctx.fail("rows of features", f"a tensor of {len(shape)} dimensions")
    data = data.reshape(1, *shape) if len(shape) == 1 else data
    return data if dtype is None else data.to(dtype)
