"""A recurrent network of long short-term memory, unrolled: a cell as a function, called once for each step."""

from __future__ import annotations

from typing import Any

from whence import relay
from whence.relay.scope_builder import ScopeBuilder
from whence.relay.testing import layers
from whence.relay.testing.init import workload_of
from whence.syntax.relay.expr import Expr, Function, Var


def _weights(num_hidden: int, dtype: str, name: str) -> list[Var]:
    """Weight and bias for the input, and for the hidden state."""
    shapes = {"weight": (4 * num_hidden, num_hidden), "bias": (4 * num_hidden,)}
    return [
        relay.var(f"{name}{what}_{kind}", shape=shape, dtype=dtype)
        for what in ("i2h", "h2h")
        for kind, shape in shapes.items()
    ]


def lstm_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = "") -> Function:
    """(inputs [batch_size, num_hidden], (hidden, cell), weights and biases of both) -> (hidden, (hidden, cell)).

    The four gates, in, forget, transform and out, are parts of one product of 4 * num_hidden columns.
    """
    state = relay.TensorType((batch_size, num_hidden), dtype)
    memory = relay.TupleType([state, state])
    inputs, states = relay.Var("inputs", state), relay.Var("states", memory)
    weights = _weights(num_hidden, dtype, name)
    builder = ScopeBuilder()
    sums: list[Any] = []
    for what, data, (weight, bias) in (
        ("i2h", inputs, weights[:2]),
        ("h2h", relay.TupleGetItem(states, 0), weights[2:]),
    ):
        product = layers.dense_add_bias(data, weight, bias, 4 * num_hidden, name=what)
        sums.append(builder.let(f"{name}{what}", product))
    gates: Any = builder.let(f"{name}gates", relay.split(sums[0] + sums[1], 4, axis=1).astuple())
    into, forget, transform, out = (relay.TupleGetItem(gates, number) for number in range(4))
    kept = relay.sigmoid(forget) * relay.TupleGetItem(states, 1)
    cell: Any = builder.let(f"{name}next_c", kept + relay.sigmoid(into) * relay.tanh(transform))
    hidden: Any = builder.let(f"{name}next_h", relay.sigmoid(out) * relay.tanh(cell))
    builder.ret(relay.Tuple([hidden, relay.Tuple([hidden, cell])]))
    return Function([inputs, states, *weights], builder.get(), relay.TupleType([state, memory]))


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """`data` [batch_size, num_hidden], read in every step, and weights of each -> the last hidden state."""
    state = relay.TensorType((batch_size, num_hidden), dtype)
    data = relay.Var("data", state)
    builder = ScopeBuilder()
    zeros = builder.let("zeros", relay.zeros((batch_size, num_hidden), dtype))
    states: Expr = builder.let("states", relay.Tuple([zeros, zeros]))
    output: Expr = zeros
    parameters: list[Any] = [data]
    for step in range(iterations):
        step_weights = _weights(num_hidden, dtype, f"lstm_{step}_")
        parameters += step_weights
        cell = lstm_cell(num_hidden, batch_size, dtype, f"lstm_{step}_")
        call = builder.let(f"call_{step}", cell(data, states, *step_weights))
        output = builder.let(f"out_{step}", relay.TupleGetItem(call, 0))
        states = builder.let(f"states_{step}", relay.TupleGetItem(call, 1))
    builder.ret(output)
    return Function(parameters, builder.get(), state)


get_workload = workload_of(get_net)
