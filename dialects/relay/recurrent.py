"""Recurrent layers: one step after the other, the input's part of the gates computed before for all steps.

TVM has no operators for them: its frontends write out every step. Ours take the products of the input with its weights,
biases added, and do the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
)

from ..sizes.types import extents_of, tensor_of
from .attributes import boolean, real, string
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .signature import is_tensor_of
from .traits import FLOATS, INTEGERS, OPAQUE


def _affine(x: AnyArray, a: float, b: float) -> AnyArray:
    return a * x + b


def _elu(x: AnyArray, a: float) -> AnyArray:
    return np.where(x < 0, a * (np.exp(np.minimum(x, 0)) - 1), x)


def _hard_sigmoid(x: AnyArray, a: float, b: float) -> AnyArray:
    return np.clip(a * x + b, 0, 1)


def _leaky_relu(x: AnyArray, a: float) -> AnyArray:
    return np.where(x < 0, a * x, x)


def _relu(x: AnyArray) -> AnyArray:
    return np.maximum(x, 0)


def _scaled_tanh(x: AnyArray, a: float, b: float) -> AnyArray:
    return a * np.tanh(b * x)


def _sigmoid(x: AnyArray) -> AnyArray:
    return 1 / (1 + np.exp(-x))


def _softplus(x: AnyArray) -> AnyArray:
    return np.logaddexp(x, np.zeros((), x.dtype))


def _softsign(x: AnyArray) -> AnyArray:
    return x / (1 + np.abs(x))


def _thresholded_relu(x: AnyArray, a: float) -> AnyArray:
    return np.where(x > a, x, 0)


NUMPY: dict[str, tuple[tuple[float, ...], Callable[..., AnyArray]]] = {
    "affine": ((1.0, 0.0), _affine),
    "elu": ((1.0,), _elu),
    "hardsigmoid": ((0.2, 0.5), _hard_sigmoid),
    "leakyrelu": ((0.01,), _leaky_relu),
    "relu": ((), _relu),
    "scaledtanh": ((1.0, 1.0), _scaled_tanh),
    "sigmoid": ((), _sigmoid),
    "softplus": ((), _softplus),
    "softsign": ((), _softsign),
    "tanh": ((), np.tanh),
    "thresholdedrelu": ((1.0,), _thresholded_relu),
}
"""Activations: what alpha and beta are when they are not given, and the function."""


def parse_activations(text: str) -> list[tuple[str, tuple[float, ...]]]:
    """`"sigmoid affine(0.5, 1.0)"` -> names with their numbers. Raises ValueError for what is no activation."""
    activations: list[tuple[str, tuple[float, ...]]] = []
    for name, numbers in re.findall(r"(\w+)(?:\(([^)]*)\))?", text):
        if name not in NUMPY:
            raise ValueError(f"activations among {', '.join(NUMPY)}, got {name!r}")
        parameters = tuple(map(float, numbers.split(","))) if numbers else ()
        defaults = NUMPY[name][0]
        activations.append((name, (*parameters, *defaults[len(parameters) :])[: len(defaults)]))
    return activations


class Recurrent(Operator):
    """Shared by the recurrent layers of `hidden` units and G gates.

    `data` (time, batch, G * units) are the products of the input and the biases; `weight` (units / block, hidden, G,
    block) those of the state before, in panels of some units with all their gates. Units beyond `hidden` fill the last
    panel: they are computed, whatever they are, but no product reads them. `initial_h` (batch, units) is the first
    state. `lengths` (batch), if there, says how long each sequence is: beyond, results are 0 and states stay. Results
    are the states (time, batch, units) and the last of them. `reverse` begins with the last element of each sequence.
    `activations` are names, with alpha and beta in brackets; `clip`, if not 0, bounds what they are given.
    """

    GATES: ClassVar[int]
    FUNCTIONS: ClassVar[int]
    """The number of activations."""
    STATES: ClassVar[int] = 1

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(FLOATS)
        time, batch, columns = sig.rank(0, 3)
        panels, hidden, gates, block = sig.rank(1, 4)
        units = panels * block
        if gates != cls.GATES or columns != gates * units or hidden > units:
            wanted = f"{cls.GATES} gates, data of as many columns, panels of all units"
            sig.fail(wanted, f"{sig.types[0]}, {sig.types[1]}")
        element = sig.types[0].element_type
        states = [*sig.operand("initial_h"), *(sig.operand("initial_c") if cls.STATES > 1 else ())]
        for state in states:
            if state.element_type != element or extents_of(state) != (batch, units):
                sig.fail(f"states of shape [{batch}, {units}]", str(state))
        for lengths in sig.operand("lengths"):
            if not INTEGERS.holds(lengths.element_type) or extents_of(lengths) != (batch,):
                sig.fail(f"integers as lengths, of shape [{batch}]", str(lengths))
        try:
            activations = parse_activations(sig.str("activations"))
        except ValueError as error:
            sig.fail(*str(error).split(", got "))
        if len(activations) != cls.FUNCTIONS:
            sig.fail(f"{cls.FUNCTIONS} activations", sig.str("activations"))
        return [tensor_of(element, (time, batch, units)), *[tensor_of(element, (batch, units))] * cls.STATES]

    @classmethod
    def functions(cls, sig: Signature) -> list[Callable[[AnyArray], AnyArray]]:
        """The activations, of clipped numbers."""
        bound = sig.get("clip") or math.inf

        def bounded(name: str, numbers: tuple[float, ...]) -> Callable[[AnyArray], AnyArray]:
            return lambda x: NUMPY[name][1](np.clip(x, -bound, bound), *numbers).astype(x.dtype)

        return [bounded(*activation) for activation in parse_activations(sig.str("activations"))]

    @classmethod
    def run(
        cls,
        sig: Signature,
        data: AnyArray,
        states: Sequence[AnyArray],
        lengths: AnyArray | None,
        step: Callable[..., tuple[AnyArray, ...]],
    ) -> tuple[AnyArray, ...]:
        """Run all steps: `step(gates of the input, *states)` returns the next states, first the result."""
        time, batch, _ = data.shape
        last = np.full(batch, time) if lengths is None else lengths.astype(np.int64)
        now, out = [state.copy() for state in states], np.zeros((time, *states[0].shape), data.dtype)
        rows: AnyArray = np.array(range(batch))
        for t in range(time):
            alive = t < last
            at = np.where(alive & bool(sig.get("reverse")), last - 1 - t, t)
            new = step(data[at, rows], *now)
            now = [np.where(alive[:, None], a, b) for a, b in zip(new, now, strict=True)]
            out[at, rows] = np.where(alive[:, None], now[0], 0)
        return (out, *now)


def units_of(sig: Signature) -> int:
    """The units that the packed weight has panels for."""
    panels, _, _, block = sig.rank(1, 4)
    return panels * block


def rows_of(weight: AnyArray) -> AnyArray:
    """A packed weight as (gates, hidden, units)."""
    panels, hidden, gates, block = weight.shape
    return widened(weight).transpose(2, 1, 0, 3).reshape(gates, hidden, panels * block)


def product(state: AnyArray, rows: AnyArray) -> AnyArray:
    """Return the product of a state (batch, units), without padding units, and rows (.., hidden, columns)."""
    return state[:, : rows.shape[-2]] @ rows


def steps_of_range(rows: AnyArray) -> AnyArray:
    """Each row (.., n) as bytes stand for it, whose 256 steps span its range and 0."""
    low: AnyArray = np.minimum(rows.min(-1, keepdims=True), 0)
    high: AnyArray = np.maximum(rows.max(-1, keepdims=True), 0)
    quotient: AnyArray = (high - low) / np.array(255, rows.dtype)
    step: AnyArray = np.where(quotient == 0, np.ones_like(quotient), quotient)
    zero: AnyArray = np.clip(np.round(-low / step), 0, 255)
    number: AnyArray = np.clip(np.round(rows / step) + zero, 0, 255)
    return (number - zero) * step


@irdl_op_definition
class LSTMOp(Recurrent):
    """Gates in the order of ONNX: input, output, forget, cell; `peephole` (3, units) has the first three.

    With `quantized_state` the product takes each row of the state before as the 256 steps of its range stand for it.
    """

    name = "relay.nn.lstm"
    GATES: ClassVar[int] = 4
    FUNCTIONS: ClassVar[int] = 3
    STATES: ClassVar[int] = 2
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    initial_h = operand_def(TensorType)
    initial_c = operand_def(TensorType)
    peephole = opt_operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    result = result_def(TensorType)
    last_h = result_def(TensorType)
    last_c = result_def(TensorType)
    reverse = boolean(False)
    activations = string("sigmoid tanh tanh")
    clip = real(0.0)
    input_forget = boolean(False)
    quantized_state = boolean(False)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        results = super().infer(sig)
        units = units_of(sig)
        for peephole in sig.operand("peephole"):
            if not is_tensor_of(peephole, sig.types[0].element_type, (3, units)):
                sig.fail(f"a peephole of shape [3, {units}]", str(peephole))
        return results

    @classmethod
    def evaluate(
        cls,
        sig: Signature,
        data: AnyArray,
        weight: AnyArray,
        initial_h: AnyArray,
        initial_c: AnyArray,
        peephole: AnyArray | None,
        lengths: AnyArray | None,
    ) -> tuple[AnyArray, ...]:
        rows = rows_of(weight)
        f, g, h = cls.functions(sig)
        pi, po, pf = widened(peephole) if peephole is not None else np.zeros((3, 1), rows.dtype)

        def step(gates: AnyArray, state: AnyArray, cell: AnyArray) -> tuple[AnyArray, ...]:
            hidden = steps_of_range(state[:, : rows.shape[-2]]) if sig.get("quantized_state") else state
            i, o, forget, c = np.split(gates, 4, axis=1) + product(hidden, rows)
            into = f(i + pi * cell)
            kept = 1 - into if sig.get("input_forget") else f(forget + pf * cell)
            cell = kept * cell + into * g(c)
            return f(o + po * cell) * h(cell), cell

        return cls.run(sig, widened(data), (widened(initial_h), widened(initial_c)), lengths, step)


@irdl_op_definition
class GRUOp(Recurrent):
    """Gates in the order of ONNX: update, reset, hidden.

    `hidden_bias` (units) is added to the hidden gate's product with the state. The reset gate scales that sum if it is
    applied `linear_before_reset`, else the state.
    """

    name = "relay.nn.gru"
    GATES: ClassVar[int] = 3
    FUNCTIONS: ClassVar[int] = 2
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    initial_h = operand_def(TensorType)
    hidden_bias = operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    result = result_def(TensorType)
    last_h = result_def(TensorType)
    reverse = boolean(False)
    activations = string("sigmoid tanh")
    clip = real(0.0)
    linear_before_reset = boolean(False)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        results = super().infer(sig)
        (bias,) = sig.operand("hidden_bias")
        if not is_tensor_of(bias, sig.types[0].element_type, (units_of(sig),)):
            sig.fail(f"a bias of {units_of(sig)} elements", str(bias))
        return results

    @classmethod
    def evaluate(
        cls,
        sig: Signature,
        data: AnyArray,
        weight: AnyArray,
        initial_h: AnyArray,
        hidden_bias: AnyArray,
        lengths: AnyArray | None,
    ) -> tuple[AnyArray, ...]:
        of_update, of_reset, of_hidden = rows_of(weight)
        f, g = cls.functions(sig)
        bias = widened(hidden_bias)

        def step(gates: AnyArray, state: AnyArray) -> tuple[AnyArray, ...]:
            z, r, h = np.split(gates, 3, axis=1)
            update, reset = f(z + product(state, of_update)), f(r + product(state, of_reset))
            if sig.get("linear_before_reset"):
                new = g(h + reset * (product(state, of_hidden) + bias))
            else:
                new = g(h + product(reset * state, of_hidden) + bias)
            return ((1 - update) * new + update * state,)

        return cls.run(sig, widened(data), (widened(initial_h),), lengths, step)


@irdl_op_definition
class RNNOp(Recurrent):
    """The next state is the activation of the sum of both products."""

    name = "relay.nn.rnn"
    GATES: ClassVar[int] = 1
    FUNCTIONS: ClassVar[int] = 1
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    initial_h = operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    result = result_def(TensorType)
    last_h = result_def(TensorType)
    reverse = boolean(False)
    activations = string("tanh")
    clip = real(0.0)
    traits = traits_def(OPAQUE)

    @classmethod
    def evaluate(
        cls, sig: Signature, data: AnyArray, weight: AnyArray, initial_h: AnyArray, lengths: AnyArray | None
    ) -> tuple[AnyArray, ...]:
        (rows,) = rows_of(weight)
        (f,) = cls.functions(sig)

        def step(gates: AnyArray, state: AnyArray) -> tuple[AnyArray, ...]:
            return (f(gates + product(state, rows)),)

        return cls.run(sig, widened(data), (widened(initial_h),), lengths, step)
