# pyright: basic
"""Options of TFLite's operators, each set to another value, judged by LiteRT."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import flatbuffers
import numpy as np
from dropped_arguments import Array, Change
from litert_worker import Judge
from random_tflite import CASES, DEFAULT_KERNELS
from random_tflite_more import DETECTIONS
from tflite_builder import random_inputs, tflite

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.tflite import from_tflite

_ENUMS = {"fusedActivationFunction": "ActivationFunctionType", "padding": "Padding", "mode": "MirrorPadMode"}

KNOWN = {
    r"STRIDED_SLICE.* offset: False -> True": "LiteRT reads beyond the end of an axis",
    r"fusedActivationFunction: \d -> 4": "LiteRT has a tanh in recurrent layers alone, and leaves it out elsewhere",
    r"LSTM.* fusedActivationFunction: \d -> 0": "LiteRT takes what its memory held for a cell without an activation",
    r"BIDIRECTIONAL_SEQUENCE_RNN hybrid.* timeMajor": "LiteRT gives other results where steps come first",
}
"""Where we differ from LiteRT, and why."""


@cache
def _judge() -> Judge:
    return Judge()


def close() -> None:
    """End the process of the judge."""
    _judge().close()


def operators() -> Sequence[str]:
    """The cases whose operators may have options; custom ones have theirs in a form of their own."""
    return [name for name in CASES if name not in DETECTIONS and "COMPOSITE" not in name]


def _enum(field: str) -> list[int]:
    values = vars(getattr(tflite, _ENUMS[field]))
    return [value for value in values.values() if isinstance(value, int)]


def _other(dice: random.Random, field: str, value: Any) -> Any:
    """Another value of an option; None where there is none to be drawn."""
    if field in _ENUMS and isinstance(value, int):
        return dice.choice([number for number in _enum(field) if number != value])
    if field.endswith("Mask"):
        return value ^ 1 << dice.randrange(3)
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int):
        return dice.choice([number for number in (-1, 0, 1, 2, 3) if number != value])
    if isinstance(value, float):
        return dice.choice([number for number in (0.0, 0.5, -0.25, 2.0) if number != value])
    if isinstance(value, list | np.ndarray) and len(value):
        numbers = [int(number) for number in value]
        numbers[dice.randrange(len(numbers))] += dice.choice((-1, 1))
        return numbers
    return None


def draw(dice: random.Random, operator: str) -> Change | None:
    """A model of an operator with one option changed; None where it has no option."""
    rng = np.random.default_rng(dice.getrandbits(32))
    model: Any = tflite.ModelT.InitFromObj(tflite.Model.GetRootAsModel(CASES[operator](rng), 0))
    options = [
        part
        for operation in model.subgraphs[0].operators
        for part in (operation.builtinOptions, operation.builtinOptions2)
        if part is not None and vars(part)
    ]
    if not options:
        return None
    chosen = dice.choice(options)
    field = dice.choice(sorted(vars(chosen)))
    before, after = getattr(chosen, field), _other(dice, field, getattr(chosen, field))
    if after is None:
        return None
    setattr(chosen, field, after)
    builder: Any = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    data = bytes(builder.Output())
    inputs = list(random_inputs(data, rng).values())

    def theirs() -> Sequence[Array]:
        results = _judge()(data, inputs, operator not in DEFAULT_KERNELS)
        if not isinstance(results, list):
            raise ValueError(results or "a crash")
        return results

    return Change(
        operator,
        f"{type(chosen).__name__} {field}: {before} -> {after}",
        lambda: evaluate_module(from_tflite(data), inputs),
        theirs,
    )
