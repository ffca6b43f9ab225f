"""Computes of the recurrent layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import te
from ...dialects.relay import recurrent as relay
from ...dialects.relay.operator import Operator
from ...te import Expr, Tensor
from . import recurrent_scripts as scripts
from .stages import shape, wide

Function = Callable[..., Expr]


def _affine(x: Expr, a: float, b: float) -> Expr:
    return x * a + b


def _elu(x: Expr, a: float) -> Expr:
    return te.select(x < 0.0, (te.exp(te.minimum(x, 0.0)) - 1.0) * a, x)


def _hard_sigmoid(x: Expr, a: float, b: float) -> Expr:
    return te.minimum(te.maximum(x * a + b, 0.0), 1.0)


def _leaky_relu(x: Expr, a: float) -> Expr:
    return te.select(x < 0.0, x * a, x)


def _relu(x: Expr) -> Expr:
    return te.maximum(x, 0.0)


def _scaled_tanh(x: Expr, a: float, b: float) -> Expr:
    return te.tanh(x * b) * a


def _softplus(x: Expr) -> Expr:
    # e to what is no positive number, so that it stays finite.
    return te.maximum(x, 0.0) + te.log1p(te.exp(te.abs(x) * -1.0))


def _softsign(x: Expr) -> Expr:
    return x / (te.abs(x) + 1.0)


def _thresholded_relu(x: Expr, a: float) -> Expr:
    return te.select(x > a, x, 0.0)


EXPRESSIONS: dict[str, Function] = {
    "affine": _affine,
    "elu": _elu,
    "hardsigmoid": _hard_sigmoid,
    "leakyrelu": _leaky_relu,
    "relu": _relu,
    "scaledtanh": _scaled_tanh,
    "sigmoid": te.sigmoid,
    "softplus": _softplus,
    "softsign": _softsign,
    "tanh": te.tanh,
    "thresholdedrelu": _thresholded_relu,
}
"""The activations that `dialects/relay/recurrent.py` names."""


def _activations(op: Operator) -> list[Function]:
    """The activations, of clipped numbers."""
    bound = op.signature.get("clip")

    def of(name: str, numbers: tuple[float, ...]) -> Function:
        def activation(x: Expr) -> Expr:
            clipped = te.minimum(te.maximum(x, -bound), bound) if bound else x
            return EXPRESSIONS[name](clipped, *numbers)

        return activation

    return [of(*parsed) for parsed in relay.parse_activations(op.signature.str("activations"))]


def _shared(op: Operator, data: Tensor, weight: Tensor, lengths: Tensor | None) -> tuple[Any, ...]:
    """The arguments that all scripts have: lengths, sizes, dtypes, and three functions."""
    time, batch, _ = shape(data)
    panels, hidden, _, block = shape(weight)
    number = wide(data.dtype)
    reverse = bool(op.signature.get("reverse"))

    def place(t: Expr, last: Expr) -> Expr:
        if lengths is None:
            return t * -1 + (time - 1) if reverse else t + 0
        return te.select(t < last, last - 1 - t, t.astype("int64")) if reverse else t + 0

    def kept(alive: Expr, new: Expr, old: Expr) -> Expr:
        return new if lengths is None else te.select(alive, new, old)

    def widened(x: Expr) -> Expr:
        return x.astype(number)

    listed = [] if lengths is None else [lengths]
    return listed, time, batch, panels * block, block, hidden, data.dtype, number, place, kept, widened


def lstm(
    op: Operator,
    data: Tensor,
    weight: Tensor,
    initial_h: Tensor,
    initial_c: Tensor,
    peephole: Tensor | None,
    lengths: Tensor | None,
) -> tuple[Tensor, ...]:
    functions = _activations(op)
    f, coupled = functions[0], bool(op.signature.get("input_forget"))

    def forgotten(into: Expr, total: Expr) -> Expr:
        return into * -1.0 + 1.0 if coupled else f(total)

    quantized = bool(op.signature.get("quantized_state"))

    def operand(t: Expr) -> Expr:
        return t * 0 + 2 if quantized else t % 2

    holes = [] if peephole is None else [peephole]
    shared = _shared(op, data, weight, lengths)
    rest = (*functions, forgotten, 2 + quantized, operand, _stepped)
    return tuple(scripts.lstm(data, weight, initial_h, initial_c, holes, *shared, *rest))


def _stepped(x: Expr, least: Expr, greatest: Expr) -> Expr:
    """A number as a byte stands for it, whose steps span a range that holds 0."""
    step = (greatest - least) / 255.0
    step = te.select(step > 0.0, step, 1.0)
    zero = te.minimum(te.maximum(te.round(least * -1.0 / step), 0.0), 255.0)
    return (te.minimum(te.maximum(te.round(x / step) + zero, 0.0), 255.0) - zero) * step


def gru(
    op: Operator, data: Tensor, weight: Tensor, initial_h: Tensor, hidden_bias: Tensor, lengths: Tensor | None
) -> tuple[Tensor, ...]:
    script = scripts.gru_linear if op.signature.get("linear_before_reset") else scripts.gru
    shared = _shared(op, data, weight, lengths)
    return tuple(script(data, weight, initial_h, hidden_bias, *shared, *_activations(op)))


def rnn(op: Operator, data: Tensor, weight: Tensor, initial_h: Tensor, lengths: Tensor | None) -> tuple[Tensor, ...]:
    return tuple(scripts.rnn(data, weight, initial_h, *_shared(op, data, weight, lengths), *_activations(op)))


TABLE = {
    relay.LSTMOp: lstm,
    relay.GRUOp: gru,
    relay.RNNOp: rnn,
}
