"""Loops over time, as hybrid scripts: per step and panel of units, all gates of these in registers.

`data` (steps, batch, gates * units), `weight` (panels, hidden, gates, block); states are kept twice, before a step and
after it. `units` are panels * block; products read only the first `hidden` ones. Tensors are of `dtype`, states and
sums of `number`. `lengths` is a list of one tensor or none, as `peephole` is. `place(t, last)` is the element of a
sequence of length `last` that step t takes, `kept(alive, new, old)` what becomes of a state, and `wide(x)` the number
that is computed with. The other functions are activations.
"""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import te


@te.hybrid.script
def lstm(
    data: te.Tensor,
    weight: te.Tensor,
    initial_h: te.Tensor,
    initial_c: te.Tensor,
    peephole: list[te.Tensor],
    lengths: list[te.Tensor],
    steps: int,
    batch: int,
    units: int,
    block: int,
    hidden: int,
    dtype: str,
    number: str,
    place: Callable[[Any, Any], Any],
    kept: Callable[[Any, Any, Any], Any],
    wide: Callable[[Any], Any],
    f: Callable[[Any], Any],
    g: Callable[[Any], Any],
    h: Callable[[Any], Any],
    forgotten: Callable[[Any, Any], Any],
    planes: int,
    operand: Callable[[Any], Any],
    stepped: Callable[[Any, Any, Any], Any],
) -> Any:
    """`forgotten(input gate, forget gate's sum)` is the forget gate. Products read the state `operand(t)` of `planes`:
    the one before, or the third, in which each row of it is `stepped(element, least, greatest)`.
    """
    out = output_tensor((steps, batch, units), dtype)
    last_h = output_tensor((batch, units), dtype)
    last_c = output_tensor((batch, units), dtype)
    state = allocate((planes, batch, units), number, "global")
    cell = allocate((batch, units), number, "global")
    gate = allocate((4, block), number, "local")
    for n in range(batch):
        for i in range(units):
            state[0, n, i] = wide(initial_h[n, i])
            cell[n, i] = wide(initial_c[n, i])
    for t in range(steps):
        for more in const_range(2, planes):
            bounds = allocate((2,), number, "local")
            for n in range(batch):
                bounds[0] = 0.0
                bounds[1] = 0.0
                for k in range(hidden):
                    bounds[0] = min(bounds[0], state[t % 2, n, k])
                    bounds[1] = max(bounds[1], state[t % 2, n, k])
                for k in range(hidden):
                    state[more, n, k] = stepped(state[t % 2, n, k], bounds[0], bounds[1])
        for panel in range(units // block):
            for n in range(batch):
                last = int64(steps)
                for one in const_range(len(lengths)):
                    last = int64(lengths[one][n])
                at = place(t, last)
                for j in unroll(4):
                    for i in vectorize(block):
                        gate[j, i] = wide(data[at, n, j * units + panel * block + i])
                for k in range(hidden):
                    for j in unroll(4):
                        for i in vectorize(block):
                            gate[j, i] += state[operand(t), n, k] * wide(weight[panel, k, j, i])
                for one in const_range(len(peephole)):
                    for i in vectorize(block):
                        gate[0, i] += wide(peephole[one][0, panel * block + i]) * cell[n, panel * block + i]
                        gate[2, i] += wide(peephole[one][2, panel * block + i]) * cell[n, panel * block + i]
                for i in vectorize(block):
                    gate[0, i] = f(gate[0, i])
                    gate[2, i] = forgotten(gate[0, i], gate[2, i])
                    gate[3, i] = gate[2, i] * cell[n, panel * block + i] + gate[0, i] * g(gate[3, i])
                for one in const_range(len(peephole)):
                    for i in vectorize(block):
                        gate[1, i] += wide(peephole[one][1, panel * block + i]) * gate[3, i]
                for i in vectorize(block):
                    gate[1, i] = f(gate[1, i]) * h(gate[3, i])
                    cell[n, panel * block + i] = kept(t < last, gate[3, i], cell[n, panel * block + i])
                    state[(t + 1) % 2, n, panel * block + i] = kept(
                        t < last, gate[1, i], state[t % 2, n, panel * block + i]
                    )
                    out[at, n, panel * block + i] = kept(t < last, gate[1, i], 0.0)
    for n in range(batch):
        for i in range(units):
            last_h[n, i] = state[steps % 2, n, i]
            last_c[n, i] = cell[n, i]
    return out, last_h, last_c


@te.hybrid.script
def gru(
    data: te.Tensor,
    weight: te.Tensor,
    initial_h: te.Tensor,
    hidden_bias: te.Tensor,
    lengths: list[te.Tensor],
    steps: int,
    batch: int,
    units: int,
    block: int,
    hidden: int,
    dtype: str,
    number: str,
    place: Callable[[Any, Any], Any],
    kept: Callable[[Any, Any, Any], Any],
    wide: Callable[[Any], Any],
    f: Callable[[Any], Any],
    g: Callable[[Any], Any],
) -> Any:
    """The reset gate scales the state: all of it has to be there before the hidden gate's product."""
    out = output_tensor((steps, batch, units), dtype)
    last_h = output_tensor((batch, units), dtype)
    state = allocate((2, batch, units), number, "global")
    update = allocate((batch, units), number, "global")
    reset = allocate((batch, units), number, "global")
    gate = allocate((2, block), number, "local")
    for n in range(batch):
        for i in range(units):
            state[0, n, i] = wide(initial_h[n, i])
    for t in range(steps):
        for panel in range(units // block):
            for n in range(batch):
                last = int64(steps)
                for one in const_range(len(lengths)):
                    last = int64(lengths[one][n])
                at = place(t, last)
                for j in unroll(2):
                    for i in vectorize(block):
                        gate[j, i] = wide(data[at, n, j * units + panel * block + i])
                for k in range(hidden):
                    for j in unroll(2):
                        for i in vectorize(block):
                            gate[j, i] += state[t % 2, n, k] * wide(weight[panel, k, j, i])
                for i in vectorize(block):
                    update[n, panel * block + i] = f(gate[0, i])
                    reset[n, panel * block + i] = f(gate[1, i]) * state[t % 2, n, panel * block + i]
        for panel in range(units // block):
            for n in range(batch):
                last = int64(steps)
                for one in const_range(len(lengths)):
                    last = int64(lengths[one][n])
                at = place(t, last)
                for i in vectorize(block):
                    gate[0, i] = wide(data[at, n, 2 * units + panel * block + i])
                    gate[1, i] = wide(hidden_bias[panel * block + i])
                # Two sums, as one addition need not wait for the other.
                for k in range(hidden // 2):
                    for j in unroll(2):
                        for i in vectorize(block):
                            gate[j, i] += reset[n, k * 2 + j] * wide(weight[panel, k * 2 + j, 2, i])
                for k in range(hidden // 2 * 2, hidden):
                    for i in vectorize(block):
                        gate[0, i] += reset[n, k] * wide(weight[panel, k, 2, i])
                for i in vectorize(block):
                    gate[0, i] = g(gate[0, i] + gate[1, i])
                    gate[1, i] = update[n, panel * block + i]
                    gate[0, i] = gate[0, i] - gate[1, i] * gate[0, i] + gate[1, i] * state[t % 2, n, panel * block + i]
                    state[(t + 1) % 2, n, panel * block + i] = kept(
                        t < last, gate[0, i], state[t % 2, n, panel * block + i]
                    )
                    out[at, n, panel * block + i] = kept(t < last, gate[0, i], 0.0)
    for n in range(batch):
        for i in range(units):
            last_h[n, i] = state[steps % 2, n, i]
    return out, last_h


@te.hybrid.script
def gru_linear(
    data: te.Tensor,
    weight: te.Tensor,
    initial_h: te.Tensor,
    hidden_bias: te.Tensor,
    lengths: list[te.Tensor],
    steps: int,
    batch: int,
    units: int,
    block: int,
    hidden: int,
    dtype: str,
    number: str,
    place: Callable[[Any, Any], Any],
    kept: Callable[[Any, Any, Any], Any],
    wide: Callable[[Any], Any],
    f: Callable[[Any], Any],
    g: Callable[[Any], Any],
) -> Any:
    """The reset gate scales the hidden gate's product with the state."""
    out = output_tensor((steps, batch, units), dtype)
    last_h = output_tensor((batch, units), dtype)
    state = allocate((2, batch, units), number, "global")
    gate = allocate((3, block), number, "local")
    for n in range(batch):
        for i in range(units):
            state[0, n, i] = wide(initial_h[n, i])
    for t in range(steps):
        for panel in range(units // block):
            for n in range(batch):
                last = int64(steps)
                for one in const_range(len(lengths)):
                    last = int64(lengths[one][n])
                at = place(t, last)
                for i in vectorize(block):
                    gate[0, i] = wide(data[at, n, panel * block + i])
                    gate[1, i] = wide(data[at, n, units + panel * block + i])
                    gate[2, i] = wide(hidden_bias[panel * block + i])
                for k in range(hidden):
                    for j in unroll(3):
                        for i in vectorize(block):
                            gate[j, i] += state[t % 2, n, k] * wide(weight[panel, k, j, i])
                for i in vectorize(block):
                    gate[0, i] = f(gate[0, i])
                    gate[1, i] = f(gate[1, i])
                    gate[2, i] = g(wide(data[at, n, 2 * units + panel * block + i]) + gate[1, i] * gate[2, i])
                    gate[2, i] = gate[2, i] - gate[0, i] * gate[2, i] + gate[0, i] * state[t % 2, n, panel * block + i]
                    state[(t + 1) % 2, n, panel * block + i] = kept(
                        t < last, gate[2, i], state[t % 2, n, panel * block + i]
                    )
                    out[at, n, panel * block + i] = kept(t < last, gate[2, i], 0.0)
    for n in range(batch):
        for i in range(units):
            last_h[n, i] = state[steps % 2, n, i]
    return out, last_h


@te.hybrid.script
def rnn(
    data: te.Tensor,
    weight: te.Tensor,
    initial_h: te.Tensor,
    lengths: list[te.Tensor],
    steps: int,
    batch: int,
    units: int,
    block: int,
    hidden: int,
    dtype: str,
    number: str,
    place: Callable[[Any, Any], Any],
    kept: Callable[[Any, Any, Any], Any],
    wide: Callable[[Any], Any],
    f: Callable[[Any], Any],
) -> Any:
    """Compute one gate."""
    out = output_tensor((steps, batch, units), dtype)
    last_h = output_tensor((batch, units), dtype)
    state = allocate((2, batch, units), number, "global")
    gate = allocate((2, block), number, "local")
    for n in range(batch):
        for i in range(units):
            state[0, n, i] = wide(initial_h[n, i])
    for t in range(steps):
        for panel in range(units // block):
            for n in range(batch):
                last = int64(steps)
                for one in const_range(len(lengths)):
                    last = int64(lengths[one][n])
                at = place(t, last)
                for i in vectorize(block):
                    gate[0, i] = wide(data[at, n, panel * block + i])
                    gate[1, i] = 0.0
                # Two sums, as one addition need not wait for the other.
                for k in range(hidden // 2):
                    for j in unroll(2):
                        for i in vectorize(block):
                            gate[j, i] += state[t % 2, n, k * 2 + j] * wide(weight[panel, k * 2 + j, 0, i])
                for k in range(hidden // 2 * 2, hidden):
                    for i in vectorize(block):
                        gate[0, i] += state[t % 2, n, k] * wide(weight[panel, k, 0, i])
                for i in vectorize(block):
                    gate[0, i] = f(gate[0, i] + gate[1, i])
                    state[(t + 1) % 2, n, panel * block + i] = kept(
                        t < last, gate[0, i], state[t % 2, n, panel * block + i]
                    )
                    out[at, n, panel * block + i] = kept(t < last, gate[0, i], 0.0)
    for n in range(batch):
        for i in range(units):
            last_h[n, i] = state[steps % 2, n, i]
    return out, last_h
