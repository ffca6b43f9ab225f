"""Operators called at sizes that they do not take: one error that names the layer, or what onnxruntime gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx.parser
import pytest
from random_open_operators import check

import whence
from whence.support.errors import FrontendError

Shape = tuple[int | None, ...]


def model(text: str) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {text}')


@pytest.mark.parametrize(
    ("text", "shape", "taken", "others"),
    [
        ("{ [one] y = Squeeze (x, first) }", (None, 4), [1], [0, 3]),
        ("{ [one] y = ArgMax <axis = 0> (x) }", (None, 4), [2], [0]),
        ("{ [one] y = ArgMin <axis = 0> (x) }", (None, 4), [2], [0]),
        ("{ [one] y, z = Split <axis = 0> (x) }", (None, 4), [0, 4], [5]),
        ("{ [one] y = Gather <axis = 0> (x, first) }", (None, 4), [1], [0]),
        ("{ [one] y = GlobalMaxPool (x) }", (1, 1, None, 4), [3], [0]),
        ("{ [one] y = MaxPool <kernel_shape = [2], pads = [1, 1]> (x) }", (1, 2, None), [2], [0]),
        ("{ [one] y = Resize <mode = 'linear'> (x, , , to) }".replace("'", '"'), (1, 1, None), [2], [0]),
        ("{ [one] y = STFT (waves, step, x) }", (None,), [1, 4], [0, 7]),
    ],
    ids=["Squeeze", "ArgMax", "ArgMin", "Split", "Gather", "GlobalMaxPool", "MaxPool", "Resize", "STFT"],
)
def test_a_call_with_other_sizes_is_told_which_layer(text: str, shape: Shape, taken: list[int], others: list[int]):
    waves = ", ".join(map(str, range(12)))
    signal = f"float[1, 6, 2] waves = {{{waves}}}, int64 step = {{2}}"
    dims = ", ".join("n" if extent is None else str(extent) for extent in shape)
    given = f"(float[{dims}] x) => (y) <int64[1] first = {{0}}, int64[3] to = {{1, 1, 5}}, {signal}>"
    executable = whence.compile(model(f"{given} {text}"), threads=1)
    for n in taken + others:
        x = np.ones([n if extent is None else extent for extent in shape], np.float32)
        if n in taken:
            executable(x)
        else:
            with pytest.raises(FrontendError, match=r"expected .*, got .* \(.*layer 'one', <memory> node 0\)"):
                executable(x)


@pytest.mark.parametrize("seed", range(0, 190, 24))
def test_a_random_operator_says_so_or_is_right(seed: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check("", seed)
