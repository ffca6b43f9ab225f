"""Computes of the losses of classifiers."""

from __future__ import annotations

from collections.abc import Callable

from ... import te
from ...dialects.relay import loss as relay
from ...dialects.relay.operator import Operator
from ...te import Expr, Tensor
from .reduce import reduced_over
from .stages import compute, label, shape, wide


def nll_loss(op: Operator, predictions: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    sig, dtype = op.signature, predictions.dtype
    number, classes, extents = wide(dtype), shape(weights)[0], shape(targets)

    def target(i: list[Expr]) -> tuple[Expr, Expr]:
        """Return whether a target counts, and its class, which is one of the classes also where it does not."""
        target_class = targets(*i).astype("int64")
        return target_class != sig.int("ignore_index"), te.minimum(te.maximum(target_class, 0), classes - 1)

    def weight(i: list[Expr], position: Expr | int = 0) -> Expr:
        counts, class_index = target(i)
        return te.select(counts, weights(class_index).astype(number), te.const(0, number))

    def loss(i: list[Expr], position: Expr | int = 0) -> Expr:
        counts, class_index = target(i)
        value = predictions(i[0], class_index, *i[1:]).astype(number) * weights(class_index).astype(number)
        return te.select(counts, -value, te.const(0, number))

    if sig.str("reduction") == "none":
        return compute(extents, lambda *i: loss(list(i)).astype(dtype), label(op))
    axes = range(len(extents))
    total = reduced_over(axes, extents, loss, te.sum, label(op), ())
    if sig.str("reduction") == "sum":
        return compute((), lambda: total().astype(dtype), label(op)) if number != dtype else total
    weighed = reduced_over(axes, extents, weight, te.sum, f"{label(op)}_weight", ())
    return compute((), lambda: te.div(total(), weighed()).astype(dtype), label(op))


def _cross_entropy(logarithm: Callable[[Expr], Expr]) -> Callable[[Operator, Tensor, Tensor], Tensor]:
    def lowered(op: Operator, predictions: Tensor, targets: Tensor) -> Tensor:
        number, extents = wide(predictions.dtype), shape(predictions)

        def term(point: list[Expr], position: Expr | int) -> Expr:
            return logarithm(predictions(*point).astype(number)) * targets(*point).astype(number)

        total = reduced_over((0, 1), extents, term, te.sum, label(op), ())
        return compute((), lambda: te.div(-total(), extents[0]).astype(predictions.dtype), label(op))

    return lowered


TABLE = {
    relay.CrossEntropyOp: _cross_entropy(te.log),
    relay.CrossEntropyWithLogitsOp: _cross_entropy(lambda x: x),
    relay.NLLLossOp: nll_loss,
}
