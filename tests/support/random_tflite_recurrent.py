"""Random models of recurrent operators: of floats, with weights of 8 bits, and in integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from random_tflite_parts import Make, Rng, normal, pick, sizes
from tflite_builder import Net, Quant

TANH = 4


class Layer:
    """A recurrent operator under construction; weights are floats, or of 8 bits."""

    def __init__(self, rng: Rng, hybrid: bool):
        self.rng, self.hybrid, self.net = rng, hybrid, Net()
        self.count = 0

    def const(self, *shape: int) -> int:
        self.count += 1
        return self.net.const(f"c{self.count}", normal(self.rng, shape) * np.float32(0.5))

    def weight(self, *shape: int) -> int:
        if not self.hybrid:
            return self.const(*shape)
        self.count += 1
        values = self.rng.integers(-127, 128, shape).astype(np.int8)
        return self.net.const(f"c{self.count}", values, Quant(float(self.rng.uniform(0.003, 0.01))))

    def input(self, name: str, batch: int, time: int, features: int, major: bool) -> int:
        return self.net.input(name, [time, batch, features] if major else [batch, time, features])

    def state(self, name: str, *shape: int) -> int:
        return self.net.tensor(name, shape, variable=True)

    def end(self, op: str, inputs: Sequence[int], options: str, outputs: int = 1, **fields: Any) -> bytes:
        """`asymmetricQuantizeInputs` at random, where weights have 8 bits."""
        made = [self.net.tensor(f"y{at}", ()) for at in range(outputs)]
        if self.hybrid:
            fields["asymmetricQuantizeInputs"] = bool(self.rng.integers(2))
        self.net.op(op, inputs, made, options, 3 if self.hybrid else 1, **fields)
        return self.net.build(made)


def rnn(hybrid: bool, sequence: bool) -> Make:
    def make(rng: Rng) -> bytes:
        batch, time, features, units = sizes(rng, 4, 4)
        # Some are long enough to be no longer written out step by step.
        time = time if hybrid else pick(rng, time, 11)
        layer, major = Layer(rng, hybrid), sequence and bool(rng.integers(2))
        x = layer.input("x", batch, time, features, major) if sequence else layer.net.input("x", [batch, features])
        inputs = [x, layer.weight(units, features), layer.weight(units, units), layer.const(units)]
        inputs.append(layer.state("state", batch, units))
        fields: dict[str, Any] = {"fusedActivationFunction": pick(rng, 0, 1, TANH)}
        if not sequence:
            return layer.end("RNN", inputs, "RNNOptions", **fields)
        return layer.end("UNIDIRECTIONAL_SEQUENCE_RNN", inputs, "SequenceRNNOptions", timeMajor=major, **fields)

    return make


def bidirectional_rnn(hybrid: bool) -> Make:
    def make(rng: Rng) -> bytes:
        batch, time, features, units = sizes(rng, 4, 4)
        # With weights of 8 bits the kernel gives other results where steps come first.
        layer, major = Layer(rng, hybrid), not hybrid and bool(rng.integers(2))
        # As that of LSTMs, the kernel confuses the states of a batch where it joins outputs.
        merged = bool(rng.integers(2)) and batch == 1
        inputs = [layer.input("x", batch, time, features, major)]
        for at in range(2):
            inputs += [layer.weight(units, features), layer.weight(units, units), layer.const(units)]
            inputs.append(layer.state(f"state{at}", batch, units))
        inputs += [-1, -1, -1]
        if rng.integers(2) and not hybrid:
            inputs[-3] = layer.input("aux", batch, time, features, major)
            # Without weights it is what the second direction gets, which the kernel does for steps first only.
            if not major or rng.integers(2):
                inputs[-2:] = [layer.weight(units, features), layer.weight(units, features)]
        return layer.end(
            "BIDIRECTIONAL_SEQUENCE_RNN",
            inputs,
            "BidirectionalSequenceRNNOptions",
            2 - merged,
            timeMajor=major,
            mergeOutputs=merged,
            fusedActivationFunction=pick(rng, 0, 1, TANH),
        )

    return make


def lstm_weights(layer: Layer, features: int, units: int, outputs: int, flags: Sequence[bool]) -> list[int]:
    """Weights, peepholes, biases and projection; flags: whether gates are coupled, and there are the others."""
    coupled, peepholes, projected = flags
    found = [-1 if coupled else layer.weight(units, features), *[layer.weight(units, features) for _ in range(3)]]
    found += [-1 if coupled else layer.weight(units, outputs), *[layer.weight(units, outputs) for _ in range(3)]]
    found += [-1 if coupled or not peepholes else layer.weight(units)]
    found += [layer.weight(units) if peepholes else -1 for _ in range(2)]
    found += [-1 if coupled else layer.const(units), *[layer.const(units) for _ in range(3)]]
    return [*found, *([layer.weight(outputs, units), layer.const(outputs)] if projected else [-1, -1])]


def lstm(hybrid: bool, sequence: bool) -> Make:
    def make(rng: Rng) -> bytes:
        batch, time, features, units = sizes(rng, 4, 4)
        # Some are long enough to be no longer written out step by step.
        time = time if hybrid else pick(rng, time, 11)
        layer, major = Layer(rng, hybrid), sequence and bool(rng.integers(2))
        flags = [bool(rng.integers(2)) for _ in range(3)]
        outputs = int(rng.integers(1, 4)) if flags[2] else units
        x = layer.input("x", batch, time, features, major) if sequence else layer.net.input("x", [batch, features])
        inputs = [x, *lstm_weights(layer, features, units, outputs, flags)]
        inputs += [layer.state("h", batch, outputs), layer.state("c", batch, units)]
        if sequence and rng.integers(2):
            norms = [layer.const(units) for _ in range(4)]
            inputs += [-1 if flags[0] else norms[0], *norms[1:]]
        fields: dict[str, Any] = {"fusedActivationFunction": TANH, "cellClip": pick(rng, 0.0, 0.5)}
        if not sequence:
            return layer.end("LSTM", inputs, "LSTMOptions", **fields)
        options = "UnidirectionalSequenceLSTMOptions"
        return layer.end("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, options, timeMajor=major, **fields)

    return make


def basic_lstm(rng: Rng) -> bytes:
    batch, features, units = sizes(rng, 3, 4)
    layer = Layer(rng, False)
    inputs = [layer.net.input("x", [batch, features]), layer.state("h", batch, units)]
    inputs += [layer.const(4 * units, features + units), layer.const(4 * units), layer.state("c", batch, units)]
    return layer.end("LSTM", inputs, "LSTMOptions", 4, kernelType=1, fusedActivationFunction=TANH)


def bidirectional_lstm(hybrid: bool) -> Make:
    def make(rng: Rng) -> bytes:
        batch, time, features, units = sizes(rng, 4, 4)
        layer, major = Layer(rng, hybrid), bool(rng.integers(2))
        # The kernel confuses the states of a batch where it joins outputs that begin with it.
        merged = bool(rng.integers(2)) and (major or batch == 1)
        flags = [bool(rng.integers(2)) for _ in range(3)]
        outputs = int(rng.integers(1, 4)) if flags[2] else units
        inputs = [layer.input("x", batch, time, features, major)]
        for _ in range(2):
            inputs += lstm_weights(layer, features, units, outputs, flags)
        for at in range(2):
            inputs += [layer.state(f"h{at}", batch, outputs), layer.state(f"c{at}", batch, units)]
        inputs += [-1] * 9
        if rng.integers(2):
            inputs[39] = layer.input("aux", batch, time, features, major)
            if rng.integers(2):
                for first in (40, 44):
                    inputs[first : first + 4] = [layer.weight(units, features) for _ in range(4)]
                    if flags[0]:
                        inputs[first] = -1
        return layer.end(
            "BIDIRECTIONAL_SEQUENCE_LSTM",
            inputs,
            "BidirectionalSequenceLSTMOptions",
            2 - merged,
            timeMajor=major,
            mergeOutputs=merged,
            fusedActivationFunction=TANH,
        )

    return make


def svdf(hybrid: bool) -> Make:
    def make(rng: Rng) -> bytes:
        batch, features, units, rank, memory = sizes(rng, 5, 4)
        layer = Layer(rng, hybrid)
        inputs = [layer.net.input("x", [batch, features]), layer.weight(units * rank, features)]
        inputs += [layer.weight(units * rank, memory), layer.const(units)]
        inputs.append(layer.state("state", batch, memory * units * rank))
        return layer.end("SVDF", inputs, "SVDFOptions", rank=rank, fusedActivationFunction=pick(rng, 0, 1))

    return make


def integers(net: Net, rng: Rng, shape: Sequence[int], dtype: str, scale: float, most: int) -> int:
    values = rng.integers(-most, most + 1, shape).astype(dtype)
    return net.const(f"c{len(net.tensors)}", values, Quant(scale))


def _quantized_lstm(rng: Rng, sequence: bool) -> bytes:
    batch, time, features, units = sizes(rng, 4, 5)
    net, (coupled, projected, major) = Net(), (bool(rng.integers(2)) for _ in range(3))
    peepholes = not projected and bool(rng.integers(2))
    outputs = int(rng.integers(1, 4)) if projected else units
    hidden = Quant(0.02 if projected else 0.008, int(rng.integers(-10, 10)))

    def weight(*shape: int) -> int:
        return integers(net, rng, shape, "int8", float(rng.uniform(0.005, 0.02)), 127)

    shape = [time, batch, features] if major else [batch, time, features]
    shape = shape if sequence else [batch, features]
    inputs = [net.input("x", shape, "int8", Quant(0.02, int(rng.integers(-20, 20))))]
    inputs += [-1 if coupled else weight(units, features), *[weight(units, features) for _ in range(3)]]
    inputs += [-1 if coupled else weight(units, outputs), *[weight(units, outputs) for _ in range(3)]]
    inputs += [
        integers(net, rng, [units], "int16", 1e-4, 3000) if peepholes and not (coupled and at == 0) else -1
        for at in range(3)
    ]
    normalised = bool(rng.integers(2))
    biases = [integers(net, rng, [units], "int32", 1e-4, 3_000_000 if normalised else 2000) for _ in range(4)]
    inputs += [-1 if coupled else biases[0], *biases[1:]]
    bias = integers(net, rng, [outputs], "int32", 1e-4, 500) if projected and rng.integers(2) else -1
    inputs += [weight(outputs, units), bias] if projected else [-1, -1]
    inputs.append(net.tensor("h", [batch, outputs], "int8", hidden, variable=True))
    cell = Quant(2.0 ** -int(rng.integers(10, 14)))
    inputs.append(net.tensor("c", [batch, units], "int16", cell, variable=True))
    gates = rng.uniform(1e-4, 5e-4, 4) if normalised else [2.0**-12] * 4
    between = [net.tensor(f"gate{at}", [], "int16", Quant(float(scale))) for at, scale in enumerate(gates)]
    norms = [integers(net, rng, [units], "int16", float(rng.uniform(2e-5, 2e-4)), 20000) for _ in range(4 * normalised)]
    norms = [-1 if coupled else norms[0], *norms[1:]] if normalised else [-1] * 4
    own = Quant(0.008, int(rng.integers(-10, 10))) if projected else hidden
    between.append(net.tensor("hidden", [], "int8", own))
    y = net.tensor("y", [], "int8", hidden)
    fields: dict[str, Any] = {
        "cellClip": pick(rng, 0.0, 1.0),
        "projClip": pick(rng, 0.0, 0.5),
        "fusedActivationFunction": TANH,
    }
    op, options = ("LSTM", "LSTMOptions")
    if sequence:
        op, options = ("UNIDIRECTIONAL_SEQUENCE_LSTM", "UnidirectionalSequenceLSTMOptions")
        fields["timeMajor"] = major
    net.op(op, [*inputs, *norms], [y], options, 3, intermediates=between, **fields)
    return net.build([y])


def quantized_lstm(sequence: bool) -> Make:
    return lambda rng: _quantized_lstm(rng, sequence)


def quantized_basic_lstm(rng: Rng) -> bytes:
    batch, features, units = sizes(rng, 3, 5)
    net, state = Net(), Quant(1 / 128, 128)
    scale, cell = float(rng.uniform(0.005, 0.02)), Quant(2.0**-11)
    weight = Quant(scale, int(rng.integers(100, 150)))
    inputs = [net.input("x", [batch, features], "uint8", state)]
    inputs.append(net.tensor("h", [batch, units], "uint8", state, variable=True))
    inputs.append(net.const("w", rng.integers(0, 256, (4 * units, features + units)).astype(np.uint8), weight))
    inputs.append(integers(net, rng, [4 * units], "int32", scale / 128, 9000))
    inputs.append(net.tensor("c", [batch, units], "int16", cell, variable=True))
    kinds = (("uint8", state), ("int16", cell), ("uint8", state), ("int16", Quant(2.0**-12)))
    made = [net.tensor(f"y{at}", [], dtype, quant) for at, (dtype, quant) in enumerate(kinds)]
    net.op("LSTM", inputs, made, "LSTMOptions", 2, kernelType=1, fusedActivationFunction=TANH)
    return net.build(made)


def quantized_svdf(rng: Rng) -> bytes:
    batch, features, units, rank, memory = sizes(rng, 5, 5)
    net = Net()
    inputs = [net.input("x", [batch, features], "int8", Quant(0.02, int(rng.integers(-20, 20))))]
    inputs.append(integers(net, rng, (units * rank, features), "int8", 0.01, 127))
    inputs.append(integers(net, rng, (units * rank, memory), "int16", 0.0005, 3000))
    inputs.append(integers(net, rng, [units], "int32", 0.0005 * 0.001, 2000))
    inputs.append(net.tensor("state", [batch, memory * units * rank], "int16", Quant(0.001), variable=True))
    y = net.tensor("y", [], "int8", Quant(0.02, int(rng.integers(-20, 20))))
    net.op("SVDF", inputs, [y], "SVDFOptions", 3, rank=rank, fusedActivationFunction=1)
    return net.build([y])


def sequence_lstm(hybrid: bool) -> Make:
    return lstm(hybrid, True)


def sequence_rnn(hybrid: bool) -> Make:
    return rnn(hybrid, True)


_KINDS: dict[str, Callable[[bool], Make]] = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": bidirectional_lstm,
    "BIDIRECTIONAL_SEQUENCE_RNN": bidirectional_rnn,
    "SVDF": svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": sequence_lstm,
    "UNIDIRECTIONAL_SEQUENCE_RNN": sequence_rnn,
}
RECURRENT: dict[str, Make] = {
    "LSTM": lstm(False, False),
    "LSTM basic": basic_lstm,
    "RNN": rnn(False, False),
    "SVDF quantized": quantized_svdf,
    "LSTM quantized": quantized_lstm(False),
    "LSTM basic quantized": quantized_basic_lstm,
    "UNIDIRECTIONAL_SEQUENCE_LSTM quantized": quantized_lstm(True),
    **{f"{name}{' hybrid' if kind else ''}": make(kind) for kind in (False, True) for name, make in _KINDS.items()},
}
