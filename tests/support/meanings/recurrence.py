# pyright: basic
"""Recurrent layers: gates and their order, directions, where a reset is, activations, states at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning

_RNG = np.random.default_rng(9)
_STEPS, _BATCH, _INPUTS, _UNITS = 4, 2, 3, 5
LSTM, GRU, RNN = "ifgo", "zrn", "n"
"""The gates in the order of these tables: input, forget, cell and output; update, reset and new."""


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _case(label: str, gates: str, direction: str = "forward", steps: int = _STEPS, **options: Any) -> Case:
    """Return a case whose weights are (directions, gates, units..): of the input, of the state, and two biases."""
    count = 2 if direction == "bidirectional" else 1
    shapes = [(_UNITS, _INPUTS), (_UNITS, _UNITS), (_UNITS,), (_UNITS,)]
    weights = [_RNG.uniform(-1, 1, (count, len(gates), *shape)).astype(np.float32) for shape in shapes]
    x = _RNG.uniform(-2, 2, (steps, _BATCH, _INPUTS)).astype(np.float32)
    return Case(label, [x], {"direction": direction, **options}, weights)


def _begun(gates: str, direction: str, states: int, **options: Any) -> Case:
    """Return a case with the states at the start (directions, batch, units) as further inputs."""
    case = _case(f"{direction} from states", gates, direction, **options)
    count = len(case.constants[0])
    first = [_RNG.uniform(-1, 1, (count, _BATCH, _UNITS)).astype(np.float32) for _ in range(states)]
    return Case(case.name, [*case.inputs, *first], case.options, case.constants)


def _directions(gates: str, **options: Any) -> list[Case]:
    names = ("forward", "reverse", "bidirectional")
    return [_case(name, gates, name, **options) for name in names] + [_case("one step", gates, steps=1, **options)]


Step = Callable[[Array, Array, Sequence[Array], dict[str, Any]], tuple[Array, Array]]


def _lstm(x: Array, state: Array, weights: Sequence[Array], options: dict[str, Any]) -> tuple[Array, Array]:
    hidden, cell = state
    into, keep, out = options.get("peepholes", np.zeros((3, 1)))
    i, f, g, o = (x @ w.T + hidden @ r.T + b + c for w, r, b, c in zip(*weights, strict=True))
    cell = _sigmoid(f + keep * cell) * cell + _sigmoid(i + into * cell) * np.tanh(g)
    hidden = _sigmoid(o + out * cell) * np.tanh(cell)
    return hidden, np.stack([hidden, cell])


def _gru(x: Array, state: Array, weights: Sequence[Array], options: dict[str, Any]) -> tuple[Array, Array]:
    hidden = state[0]
    (wz, wr, wn), (rz, rr, rn), (bz, br, bn), (cz, cr, cn) = weights
    update = _sigmoid(x @ wz.T + hidden @ rz.T + bz + cz)
    reset = _sigmoid(x @ wr.T + hidden @ rr.T + br + cr)
    after = options["reset_after"]
    inner = reset * (hidden @ rn.T + cn) if after else (reset * hidden) @ rn.T + cn
    hidden = update * hidden + (1 - update) * np.tanh(x @ wn.T + bn + inner)
    return hidden, hidden[None]


def _rnn(x: Array, state: Array, weights: Sequence[Array], options: dict[str, Any]) -> tuple[Array, Array]:
    (w,), (r,), (b,), (c,) = weights
    total = x @ w.T + state[0] @ r.T + b + c
    hidden = np.maximum(total, 0) if options["activation"] == "relu" else np.tanh(total)
    return hidden, hidden[None]


def recurrent(step: Step, states: int) -> Callable[..., tuple[Array, ...]]:
    """Return the layer of a cell: all results (steps, batch, directions * units), then the states at the end."""

    def layer(x: Array, *arrays: Array, direction: str, **options: Any) -> tuple[Array, ...]:
        first, weights = arrays[:-4], arrays[-4:]
        results: list[Array] = []
        ends: list[Array] = []
        for at, backwards in enumerate({"forward": [False], "reverse": [True]}.get(direction, [False, True])):
            own = [part[at].astype(np.float64) for part in weights]
            state = np.zeros((states, x.shape[1], own[1].shape[-1]))
            state = np.stack([part[at].astype(np.float64) for part in first]) if first else state
            rows: list[Array] = []
            for row in x[::-1] if backwards else x:
                result, state = step(row.astype(np.float64), state, own, options)
                rows.append(result)
            results.append(np.stack(rows[::-1] if backwards else rows))
            ends.append(state)
        last = [np.stack([end[at] for end in ends]) for at in range(states)]
        return tuple(array.astype(x.dtype) for array in (np.concatenate(results, -1), *last))

    return layer


def sequence(step: Step, states: int) -> Callable[..., Array]:
    """Return the layer of a cell that gives its results alone."""
    return lambda *arrays, **options: recurrent(step, states)(*arrays, **options)[0]


def ordered(array: Array, gates: str, order: str) -> Array:
    """Return weights (directions, gates * units, ..) with the gates in an order."""
    moved = array[:, [gates.index(gate) for gate in order]]
    return moved.reshape(moved.shape[0], -1, *moved.shape[3:])


def _onnx(op: str, gates: str, order: str, states: int, ends: bool = False) -> Any:
    def spelling(net: Any, x: Any, *arrays: Any, direction: str, **options: Any) -> Any:
        *first, w, r, b, c = arrays
        fields: dict[str, Any] = {"direction": direction, "hidden_size": _UNITS}
        if op == "GRU":
            fields["linear_before_reset"] = int(options["reset_after"])
        if op == "RNN":
            fields["activations"] = [options["activation"].title()] * len(w)
        w, r, b, c = (ordered(part, gates, order) for part in (w, r, b, c))
        both = np.concatenate([b, c], 1)
        begun = [None, *first] if first else []
        y, *last = net(op, x, net.const(w), net.const(r), net.const(both), *begun, results=1 + states, **fields)
        y = net("Transpose", y, perm=[0, 2, 1, 3])
        y = net("Reshape", y, net.const([x.shape[0], _BATCH, len(w) * _UNITS], "int64"))
        return (y, *last) if ends else y

    return spelling


def _torch(op: str, gates: str, order: str, states: int, ends: bool = False) -> Any:
    def spelling(net: Any, x: Any, *arrays: Any, direction: str, **options: Any) -> Any:
        *first, w, r, b, c = arrays
        if direction == "reverse" or options.get("reset_after") is False:
            return None
        target = f"rnn_{options['activation']}" if op == "rnn" else op
        w, r, b, c = (ordered(part, gates, order) for part in (w, r, b, c))
        params = [net.const(part[at]) for at in range(len(w)) for part in (w, r, b, c)]
        zeros = net.const(np.zeros((len(w), _BATCH, _UNITS), np.float32))
        begun = first or [zeros] * states
        results = net(f"aten.{target}.input", results=1 + states, input=x, hx=begun if states == 2 else begun[0],
                      params=params, has_biases=True, num_layers=1, dropout=0.0, train=False,
                      bidirectional=direction == "bidirectional", batch_first=False)  # fmt: skip
        return results if ends else results[0]

    return spelling


def _keras_weights(gates: str, order: str, parts: Sequence[Array], reset_after: bool) -> list[Array]:
    w, r, b, c = (ordered(part[None], gates, order)[0] for part in parts)
    return [w.T, r.T, np.stack([b, c]) if reset_after else b + c]


def _keras(kind: str, gates: str, order: str, states: int, ends: bool = False) -> Any:
    def spelling(net: Any, x: Any, *arrays: Any, direction: str, **options: Any) -> Any:
        *first, w, r, b, c = arrays
        if ends and direction != "forward":
            return None
        after = bool(options.get("reset_after"))
        config: dict[str, Any] = {
            "units": _UNITS, "activation": options.get("activation", "tanh"), "use_bias": True,
            "return_sequences": True, "return_state": ends, "go_backwards": direction == "reverse",
        }  # fmt: skip
        config |= {"recurrent_activation": "sigmoid"} if kind != "SimpleRNN" else {}
        config |= {"reset_after": after} if kind == "GRU" else {}
        x = net("Transpose", x, axes=[1, 0, 2])
        begun = {"initial_state": [net("Reshape", part, newshape=[_BATCH, _UNITS]) for part in first]} if first else {}
        own = [_keras_weights(gates, order, [part[at] for part in (w, r, b, c)], after) for at in range(len(w))]
        if direction == "bidirectional":
            if first:
                return None
            layers = [
                {"module": "keras.layers", "class_name": kind, "registered_name": None,
                 "config": {"name": name, "trainable": True, "dtype": "float32", **config, "go_backwards": back}}
                for name, back in (("forward", False), ("backward", True))
            ]  # fmt: skip
            results = net.layer("Bidirectional", x, merge_mode="concat", layer=layers[0], backward_layer=layers[1],
                                weights={"forward_layer/cell": own[0], "backward_layer/cell": own[1]})  # fmt: skip
        else:
            results = net.layer(kind, x, results=1 + states if ends else 1, weights={"cell": own[0]},
                                keywords=begun, **config)  # fmt: skip
        y, *last = results if ends else (results,)
        if direction == "reverse":
            y = net("Flip", y, axis=[1])
        y = net("Transpose", y, axes=[1, 0, 2])
        return (y, *(net("ExpandDims", state, axis=0) for state in last)) if ends else y

    return spelling


def _variable(net: Any) -> Any:
    number = net.net.tensor(f"s{len(net.net.tensors)}", (_BATCH, _UNITS), variable=True)
    return net._value(number, (_BATCH, _UNITS), np.float32)


_ACTIVATIONS = {"relu": 1, "tanh": 4}


def _tflite_lstm(
    net: Any, x: Any, w: Array, r: Array, b: Array, c: Array, direction: str, peepholes: Any = (None,) * 3
) -> Any:
    if direction != "forward":
        return None
    biases = [net.const(bias) for bias in (b + c)[0]]
    peepholes = [None if peephole is None else net.const(peephole) for peephole in peepholes]
    inputs = [x, *map(net.const, w[0]), *map(net.const, r[0]), *peepholes, *biases, None, None]
    return net("UNIDIRECTIONAL_SEQUENCE_LSTM", *inputs, _variable(net), _variable(net), None, None, None, None,
               options="UnidirectionalSequenceLSTMOptions", timeMajor=True, fusedActivationFunction=4)  # fmt: skip


def _tflite_rnn(net: Any, x: Any, w: Array, r: Array, b: Array, c: Array, direction: str, activation: str) -> Any:
    parts = [[net.const(w[at, 0]), net.const(r[at, 0]), net.const((b + c)[at, 0]), _variable(net)]
             for at in range(len(w))]  # fmt: skip
    fields = {"timeMajor": True, "fusedActivationFunction": _ACTIVATIONS[activation]}
    if direction == "forward":
        return net("UNIDIRECTIONAL_SEQUENCE_RNN", x, *parts[0], options="SequenceRNNOptions", **fields)
    if direction == "reverse":
        return None
    return net("BIDIRECTIONAL_SEQUENCE_RNN", x, *parts[0], *parts[1], None, None, None,
               options="BidirectionalSequenceRNNOptions", mergeOutputs=True, **fields)  # fmt: skip


def _step_tensorflow(net: Any, x: Any, direction: str) -> Any:
    """Return the one step of an input; None where there are more."""
    if x.shape[0] != 1 or direction != "forward":
        return None
    return net("Reshape", x, net.const([_BATCH, _INPUTS], "int32"), Tshape="int32")


def _stacked(w: Array, r: Array, gates: str, order: str) -> Array:
    return np.concatenate([ordered(part, gates, order)[0].T for part in (w, r)])


def _tensorflow_lstm(
    net: Any, x: Any, w: Array, r: Array, b: Array, c: Array, direction: str, peepholes: Any = None
) -> Any:
    if (row := _step_tensorflow(net, x, direction)) is None:
        return None
    zeros = net.const(np.zeros((_BATCH, _UNITS), np.float32))
    own = map(net.const, np.zeros((3, _UNITS), np.float32) if peepholes is None else peepholes)
    weight, bias = net.const(_stacked(w, r, LSTM, "igfo")), net.const(ordered(b + c, LSTM, "igfo")[0])
    results = net("LSTMBlockCell", row, zeros, zeros, weight, *own, bias, results=7, forget_bias=0.0, cell_clip=-1.0,
                  use_peephole=peepholes is not None)  # fmt: skip
    return net("Reshape", results[6], net.const([1, _BATCH, _UNITS], "int32"), Tshape="int32")


def _tensorflow_gru(net: Any, x: Any, w: Array, r: Array, b: Array, c: Array, direction: str, reset_after: bool) -> Any:
    if reset_after or (row := _step_tensorflow(net, x, direction)) is None:
        return None
    zeros = net.const(np.zeros((_BATCH, _UNITS), np.float32))
    both, new = net.const(_stacked(w, r, GRU, "rz")), net.const(_stacked(w, r, GRU, "n"))
    biases = [net.const(ordered(b + c, GRU, order)[0]) for order in ("rz", "n")]
    results = net("GRUBlockCell", row, zeros, both, new, *biases, results=4)
    return net("Reshape", results[3], net.const([1, _BATCH, _UNITS], "int32"), Tshape="int32")


def _cell_torch(op: str, gates: str, order: str, states: int) -> Any:
    """Return the spelling by the cell of a layer, of one step."""

    def spelling(net: Any, x: Any, w: Array, r: Array, b: Array, c: Array, direction: str, **options: Any) -> Any:
        if x.shape[0] != 1 or direction != "forward" or options.get("reset_after") is False:
            return None
        row = net("aten.squeeze.dim", self=x, dim=0)
        zeros = net.const(np.zeros((_BATCH, _UNITS), np.float32))
        parts = (net.const(ordered(part, gates, order)[0]) for part in (w, r, b, c))
        weights = dict(zip(("w_ih", "w_hh", "b_ih", "b_hh"), parts, strict=True))
        hx = zeros if states == 1 else [zeros] * states
        results = net(f"aten.{op}_cell.default", results=states, input=row, hx=hx, **weights)
        return net("aten.unsqueeze.default", self=results if states == 1 else results[0], dim=0)

    return spelling


# Gates that see the cell.


def _peeped(label: str, steps: int) -> Case:
    peepholes = _RNG.uniform(-1, 1, (3, _UNITS)).astype(np.float32)
    return _case(label, LSTM, steps=steps, peepholes=peepholes)


def _peepholes_onnx(net: Any, x: Any, w: Array, r: Array, b: Array, c: Array, direction: str, peepholes: Array) -> Any:
    w, r, b, c = (ordered(part, LSTM, "iofg") for part in (w, r, b, c))
    own = net.const(peepholes[[0, 2, 1]].reshape(1, -1))
    inputs = [x, net.const(w), net.const(r), net.const(np.concatenate([b, c], 1)), None, None, None, own]
    return net("Squeeze", net("LSTM", *inputs, direction=direction, hidden_size=_UNITS), net.const([1], "int64"))


# Rows of several lengths.

_LENGTHS = np.array([2, _STEPS], np.int32)


def _until(after: str) -> Callable[..., Array]:
    """Return an LSTM whose rows end at their lengths. after: its results from there on, `zeros` or the `last` one."""

    def expected(x: Array, lengths: Array, *weights: Array, direction: str) -> Array:
        results = np.zeros((x.shape[0], x.shape[1], _UNITS * len(weights[0])), np.float32)
        for row, length in enumerate(lengths):
            part = recurrent(_lstm, 2)(x[:length, row : row + 1], *weights, direction=direction)[0][:, 0]
            results[:length, row] = part
            results[length:, row] = part[-1] if after == "last" else 0
        return results

    return expected


def _lengths_onnx(net: Any, x: Any, lengths: Any, w: Array, r: Array, b: Array, c: Array, direction: str) -> Any:
    w, r, b, c = (ordered(part, LSTM, "iofg") for part in (w, r, b, c))
    both = np.concatenate([b, c], 1)
    y = net("LSTM", x, net.const(w), net.const(r), net.const(both), lengths, direction=direction, hidden_size=_UNITS)
    y = net("Transpose", y, perm=[0, 2, 1, 3])
    return net("Reshape", y, net.const([x.shape[0], _BATCH, len(w) * _UNITS], "int64"))


def _lengths_keras(net: Any, x: Any, lengths: Any, w: Array, r: Array, b: Array, c: Array, direction: str) -> Any:
    """Mask what is behind the lengths: steps are numbered from 1 by a running sum of ones."""
    if direction != "forward":
        return None
    x = net("Transpose", x, axes=[1, 0, 2])
    steps = net("Cumsum", net("OnesLike", net("GetItem", x, [slice(None), slice(None), 0]), dtype="int32"), axis=1)
    mask = net("LessEqual", steps, net("ExpandDims", lengths, axis=1))
    own = _keras_weights(LSTM, "ifgo", [part[0] for part in (w, r, b, c)], False)
    y = net.layer("LSTM", x, weights={"cell": own}, keywords={"mask": mask}, units=_UNITS, activation="tanh",
                  recurrent_activation="sigmoid", use_bias=True, return_sequences=True)  # fmt: skip
    return net("Transpose", y, axes=[1, 0, 2])


def _lengths(direction: str) -> Case:
    case = _case(direction, LSTM, direction)
    return Case(direction, [*case.inputs, _LENGTHS], case.options, case.constants)


_STARTS = [_begun(LSTM, direction, 2) for direction in ("forward", "reverse", "bidirectional")]
_GRU_STARTS = [_begun(GRU, direction, 1, reset_after=True) for direction in ("forward", "bidirectional")]
_RESETS = [*_directions(GRU, reset_after=True), *_directions(GRU, reset_after=False)]
_RESETS = [Case(f"{case.name}, reset {'after' if case.options['reset_after'] else 'before'}", case.inputs, case.options,
                case.constants) for case in _RESETS]  # fmt: skip

TABLE = [
    Meaning("lstm", sequence(_lstm, 2), _directions(LSTM), {
        "onnx": _onnx("LSTM", LSTM, "iofg", 2), "tflite": _tflite_lstm, "torch": _torch("lstm", LSTM, "ifgo", 2),
        "torch cell": _cell_torch("lstm", LSTM, "ifgo", 2), "keras": _keras("LSTM", LSTM, "ifgo", 2),
        "tensorflow": _tensorflow_lstm},
        note="gates iofg in ONNX, ifgo in torch, Keras and TFLite, igfo in TensorFlow"),
    Meaning("lstm_with_peepholes", sequence(_lstm, 2), [_peeped("one step", 1), _peeped("few", 4), _peeped("many", 12)],
            {"onnx": _peepholes_onnx, "tflite": _tflite_lstm, "tensorflow": _tensorflow_lstm}, lost=1.0,
            note="of input, forget and output gate; the last sees the new cell"),
    Meaning("lstm_with_states", recurrent(_lstm, 2), _directions(LSTM), {
        "onnx": _onnx("LSTM", LSTM, "iofg", 2, True), "torch": _torch("lstm", LSTM, "ifgo", 2, True),
        "keras": _keras("LSTM", LSTM, "ifgo", 2, True)}),
    Meaning("lstm_from_states", recurrent(_lstm, 2), _STARTS, {
        "onnx": _onnx("LSTM", LSTM, "iofg", 2, True), "torch": _torch("lstm", LSTM, "ifgo", 2, True),
        "keras": _keras("LSTM", LSTM, "ifgo", 2, True)}, lost=1.0),
    Meaning("gru_from_states", recurrent(_gru, 1), _GRU_STARTS, {
        "onnx": _onnx("GRU", GRU, "zrn", 1, True), "torch": _torch("gru", GRU, "rzn", 1, True),
        "keras": _keras("GRU", GRU, "zrn", 1, True)}, lost=1.0),
    Meaning("lstm_of_lengths", _until("zeros"), [_lengths(name) for name in ("forward", "reverse", "bidirectional")],
            {"onnx": _lengths_onnx}, note="0 behind the end of a row"),
    Meaning("lstm_of_masked_steps", _until("last"), [_lengths("forward")], {"keras": _lengths_keras},
            note="the last result again behind the end of a row"),
    Meaning("gru", sequence(_gru, 1), _RESETS, {
        "onnx": _onnx("GRU", GRU, "zrn", 1), "torch": _torch("gru", GRU, "rzn", 1),
        "torch cell": _cell_torch("gru", GRU, "rzn", 1), "keras": _keras("GRU", GRU, "zrn", 1),
        "tensorflow": _tensorflow_gru},
        note="gates zrn in ONNX and Keras, rzn in torch, rz and n in TensorFlow"),
    Meaning("gru_with_states", recurrent(_gru, 1), _RESETS, {
        "onnx": _onnx("GRU", GRU, "zrn", 1, True), "torch": _torch("gru", GRU, "rzn", 1, True),
        "keras": _keras("GRU", GRU, "zrn", 1, True)}),
    *(
        Meaning(f"rnn_{activation}", sequence(_rnn, 1), _directions(RNN, activation=activation), {
            "onnx": _onnx("RNN", RNN, "n", 1), "tflite": _tflite_rnn, "torch": _torch("rnn", RNN, "n", 1),
            "keras": _keras("SimpleRNN", RNN, "n", 1)})
        for activation in ("tanh", "relu")
    ),
]  # fmt: skip
