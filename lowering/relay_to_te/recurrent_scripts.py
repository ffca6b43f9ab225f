"""Loops over time, as hybrid scripts: per step and panel of units, all gates of these in registers.

`data` (time, batch, gates * units), `weight` (panels, hidden, gates, block); states are kept twice, before a step
and after it. `sizes` are time, batch, units, block and hidden: products read no units beyond the hidden ones.
`lengths` is a list of one tensor or none, as `peephole` is. `place(t, last)` is the element of a sequence of `last`
that step t takes, `kept(alive, new, old)` what becomes of a state, and `wide(x)` the number that is computed with. The
other arguments are activations.
"""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def lstm(
    data: Any,
    weight: Any,
    initial_h: Any,
    initial_c: Any,
    peephole: Any,
    lengths: Any,
    sizes: Any,
    dtypes: Any,
    place: Any,
    kept: Any,
    wide: Any,
    f: Any,
    g: Any,
    h: Any,
    forgotten: Any,
    planes: Any,
    operand: Any,
    stepped: Any,
) -> Any:
    """`forgotten(input gate, forget gate's sum)` is the forget gate. Products read the state `operand(t)` of `planes`:
    the one before, or the third, in which each row of it is `stepped(element, least, greatest)`.
    """
    out = output_tensor((sizes[0], sizes[1], sizes[2]), dtypes[0])
    last_h = output_tensor((sizes[1], sizes[2]), dtypes[0])
    last_c = output_tensor((sizes[1], sizes[2]), dtypes[0])
    state = allocate((planes, sizes[1], sizes[2]), dtypes[1], "global")
    cell = allocate((sizes[1], sizes[2]), dtypes[1], "global")
    gate = allocate((4, sizes[3]), dtypes[1], "local")
    for n in range(sizes[1]):
        for i in range(sizes[2]):
            state[0, n, i] = wide(initial_h[n, i])
            cell[n, i] = wide(initial_c[n, i])
    for t in range(sizes[0]):
        for more in const_range(2, planes):
            bounds = allocate((2,), dtypes[1], "local")
            for n in range(sizes[1]):
                bounds[0] = 0.0
                bounds[1] = 0.0
                for k in range(sizes[4]):
                    bounds[0] = min(bounds[0], state[t % 2, n, k])
                    bounds[1] = max(bounds[1], state[t % 2, n, k])
                for k in range(sizes[4]):
                    state[more, n, k] = stepped(state[t % 2, n, k], bounds[0], bounds[1])
        for panel in range(sizes[2] // sizes[3]):
            for n in range(sizes[1]):
                last = int64(sizes[0])
                for one in const_range(len(lengths)):
                    last = int64(lengths[one][n])
                at = place(t, last)
                for j in unroll(4):
                    for i in vectorize(sizes[3]):
                        gate[j, i] = wide(data[at, n, j * sizes[2] + panel * sizes[3] + i])
                for k in range(sizes[4]):
                    for j in unroll(4):
                        for i in vectorize(sizes[3]):
                            gate[j, i] += state[operand(t), n, k] * wide(weight[panel, k, j, i])
                for one in const_range(len(peephole)):
                    for i in vectorize(sizes[3]):
                        gate[0, i] += wide(peephole[one][0, panel * sizes[3] + i]) * cell[n, panel * sizes[3] + i]
                        gate[2, i] += wide(peephole[one][2, panel * sizes[3] + i]) * cell[n, panel * sizes[3] + i]
                for i in vectorize(sizes[3]):
                    gate[0, i] = f(gate[0, i])
                    gate[2, i] = forgotten(gate[0, i], gate[2, i])
                    gate[3, i] = gate[2, i] * cell[n, panel * sizes[3] + i] + gate[0, i] * g(gate[3, i])
                for one in const_range(len(peephole)):
                    for i in vectorize(sizes[3]):
                        gate[1, i] += wide(peephole[one][1, panel * sizes[3] + i]) * gate[3, i]
                for i in vectorize(sizes[3]):
                    gate[1, i] = f(gate[1, i]) * h(gate[3, i])
                    cell[n, panel * sizes[3] + i] = kept(t < last, gate[3, i], cell[n, panel * sizes[3] + i])
                    state[(t + 1) % 2, n, panel * sizes[3] + i] = kept(
                        t < last, gate[1, i], state[t % 2, n, panel * sizes[3] + i]
                    )
                    out[at, n, panel * sizes[3] + i] = kept(t < last, gate[1, i], 0.0)
    for n in range(sizes[1]):
        for i in range(sizes[2]):
            last_h[n, i] = state[sizes[0] % 2, n, i]
            last_c[n, i] = cell[n, i]
    return out, last_h, last_c


@te.hybrid.script
def gru(
    data: Any,
    weight: Any,
    initial_h: Any,
    hidden_bias: Any,
    lengths: Any,
    sizes: Any,
    dtypes: Any,
    place: Any,
    kept: Any,
    wide: Any,
    f: Any,
    g: Any,
) -> Any:
    """The reset gate scales the state: all of it has to be there before the hidden gate's product."""
    out = output_tensor((sizes[0], sizes[1], sizes[2]), dtypes[0])
    last_h = output_tensor((sizes[1], sizes[2]), dtypes[0])
    state = allocate((2, sizes[1], sizes[2]), dtypes[1], "global")
    update = allocate((sizes[1], sizes[2]), dtypes[1], "global")
    reset = allocate((sizes[1], sizes[2]), dtypes[1], "global")
    gate = allocate((2, sizes[3]), dtypes[1], "local")
    for n in range(sizes[1]):
        for i in range(sizes[2]):
            state[0, n, i] = wide(initial_h[n, i])
    for t in range(sizes[0]):
        for panel in range(sizes[2] // sizes[3]):
            for n in range(sizes[1]):
                last = int64(sizes[0])
                for one in const_range(len(lengths)):
                    last = int64(lengths[one][n])
                at = place(t, last)
                for j in unroll(2):
                    for i in vectorize(sizes[3]):
                        gate[j, i] = wide(data[at, n, j * sizes[2] + panel * sizes[3] + i])
                for k in range(sizes[4]):
                    for j in unroll(2):
                        for i in vectorize(sizes[3]):
                            gate[j, i] += state[t % 2, n, k] * wide(weight[panel, k, j, i])
                for i in vectorize(sizes[3]):
                    update[n, panel * sizes[3] + i] = f(gate[0, i])
                    reset[n, panel * sizes[3] + i] = f(gate[1, i]) * state[t % 2, n, panel * sizes[3] + i]
        for panel in range(sizes[2] // sizes[3]):
            for n in range(sizes[1]):
                last = int64(sizes[0])
                for one in const_range(len(lengths)):
                    last = int64(lengths[one][n])
                at = place(t, last)
                for i in vectorize(sizes[3]):
                    gate[0, i] = wide(data[at, n, 2 * sizes[2] + panel * sizes[3] + i])
                    gate[1, i] = wide(hidden_bias[panel * sizes[3] + i])
                # Two sums, as one addition need not wait for the other.
                for k in range(sizes[4] // 2):
                    for j in unroll(2):
                        for i in vectorize(sizes[3]):
                            gate[j, i] += reset[n, k * 2 + j] * wide(weight[panel, k * 2 + j, 2, i])
                for k in range(sizes[4] // 2 * 2, sizes[4]):
                    for i in vectorize(sizes[3]):
                        gate[0, i] += reset[n, k] * wide(weight[panel, k, 2, i])
                for i in vectorize(sizes[3]):
                    gate[0, i] = g(gate[0, i] + gate[1, i])
                    gate[1, i] = update[n, panel * sizes[3] + i]
                    gate[0, i] = (
                        gate[0, i] - gate[1, i] * gate[0, i] + gate[1, i] * state[t % 2, n, panel * sizes[3] + i]
                    )
                    state[(t + 1) % 2, n, panel * sizes[3] + i] = kept(
                        t < last, gate[0, i], state[t % 2, n, panel * sizes[3] + i]
                    )
                    out[at, n, panel * sizes[3] + i] = kept(t < last, gate[0, i], 0.0)
    for n in range(sizes[1]):
        for i in range(sizes[2]):
            last_h[n, i] = state[sizes[0] % 2, n, i]
    return out, last_h


@te.hybrid.script
def gru_linear(
    data: Any,
    weight: Any,
    initial_h: Any,
    hidden_bias: Any,
    lengths: Any,
    sizes: Any,
    dtypes: Any,
    place: Any,
    kept: Any,
    wide: Any,
    f: Any,
    g: Any,
) -> Any:
    """The reset gate scales the hidden gate's product with the state."""
    out = output_tensor((sizes[0], sizes[1], sizes[2]), dtypes[0])
    last_h = output_tensor((sizes[1], sizes[2]), dtypes[0])
    state = allocate((2, sizes[1], sizes[2]), dtypes[1], "global")
    gate = allocate((3, sizes[3]), dtypes[1], "local")
    for n in range(sizes[1]):
        for i in range(sizes[2]):
            state[0, n, i] = wide(initial_h[n, i])
    for t in range(sizes[0]):
        for panel in range(sizes[2] // sizes[3]):
            for n in range(sizes[1]):
                last = int64(sizes[0])
                for one in const_range(len(lengths)):
                    last = int64(lengths[one][n])
                at = place(t, last)
                for i in vectorize(sizes[3]):
                    gate[0, i] = wide(data[at, n, panel * sizes[3] + i])
                    gate[1, i] = wide(data[at, n, sizes[2] + panel * sizes[3] + i])
                    gate[2, i] = wide(hidden_bias[panel * sizes[3] + i])
                for k in range(sizes[4]):
                    for j in unroll(3):
                        for i in vectorize(sizes[3]):
                            gate[j, i] += state[t % 2, n, k] * wide(weight[panel, k, j, i])
                for i in vectorize(sizes[3]):
                    gate[0, i] = f(gate[0, i])
                    gate[1, i] = f(gate[1, i])
                    gate[2, i] = g(wide(data[at, n, 2 * sizes[2] + panel * sizes[3] + i]) + gate[1, i] * gate[2, i])
                    gate[2, i] = (
                        gate[2, i] - gate[0, i] * gate[2, i] + gate[0, i] * state[t % 2, n, panel * sizes[3] + i]
                    )
                    state[(t + 1) % 2, n, panel * sizes[3] + i] = kept(
                        t < last, gate[2, i], state[t % 2, n, panel * sizes[3] + i]
                    )
                    out[at, n, panel * sizes[3] + i] = kept(t < last, gate[2, i], 0.0)
    for n in range(sizes[1]):
        for i in range(sizes[2]):
            last_h[n, i] = state[sizes[0] % 2, n, i]
    return out, last_h


@te.hybrid.script
def rnn(
    data: Any,
    weight: Any,
    initial_h: Any,
    lengths: Any,
    sizes: Any,
    dtypes: Any,
    place: Any,
    kept: Any,
    wide: Any,
    f: Any,
) -> Any:
    """One gate."""
    out = output_tensor((sizes[0], sizes[1], sizes[2]), dtypes[0])
    last_h = output_tensor((sizes[1], sizes[2]), dtypes[0])
    state = allocate((2, sizes[1], sizes[2]), dtypes[1], "global")
    gate = allocate((2, sizes[3]), dtypes[1], "local")
    for n in range(sizes[1]):
        for i in range(sizes[2]):
            state[0, n, i] = wide(initial_h[n, i])
    for t in range(sizes[0]):
        for panel in range(sizes[2] // sizes[3]):
            for n in range(sizes[1]):
                last = int64(sizes[0])
                for one in const_range(len(lengths)):
                    last = int64(lengths[one][n])
                at = place(t, last)
                for i in vectorize(sizes[3]):
                    gate[0, i] = wide(data[at, n, panel * sizes[3] + i])
                    gate[1, i] = 0.0
                # Two sums, as one addition need not wait for the other.
                for k in range(sizes[4] // 2):
                    for j in unroll(2):
                        for i in vectorize(sizes[3]):
                            gate[j, i] += state[t % 2, n, k * 2 + j] * wide(weight[panel, k * 2 + j, 0, i])
                for k in range(sizes[4] // 2 * 2, sizes[4]):
                    for i in vectorize(sizes[3]):
                        gate[0, i] += state[t % 2, n, k] * wide(weight[panel, k, 0, i])
                for i in vectorize(sizes[3]):
                    gate[0, i] = f(gate[0, i] + gate[1, i])
                    state[(t + 1) % 2, n, panel * sizes[3] + i] = kept(
                        t < last, gate[0, i], state[t % 2, n, panel * sizes[3] + i]
                    )
                    out[at, n, panel * sizes[3] + i] = kept(t < last, gate[0, i], 0.0)
    for n in range(sizes[1]):
        for i in range(sizes[2]):
            last_h[n, i] = state[sizes[0] % 2, n, i]
    return out, last_h
