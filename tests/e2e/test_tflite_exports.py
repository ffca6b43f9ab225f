"""Small Keras networks as the converter writes them (tests/exports/tflite/make.py), against LiteRT.

They are imported and evaluated; loops are compiled, as only that runs them.
"""

from __future__ import annotations

import numpy as np
import pytest
from random_tflite import difference
from tflite_builder import litert
from tflite_exports import FILES, FOLDER, LIMIT, inputs_of, results, wrong_of

import whence

SLOW = ("bidirectional.float", "gru_loop.float", "lstm.float", "stateful.float")
"""Networks of several loops, which `tests/support/tflite_exports.py` runs, and one that has a test of its own."""


@pytest.mark.parametrize("name", [path.stem for path in FILES if path.stem not in SLOW])
def test_a_network_gives_what_litert_gives(name: str):
    found, expected = results((FOLDER / f"{name}.tflite").read_bytes(), compiled=False)
    assert not wrong_of(found, expected)


def test_files_are_small():
    assert len(FILES) > 20
    assert all(path.stat().st_size <= LIMIT for path in FILES)


def test_a_network_keeps_its_state_from_call_to_call():
    data = (FOLDER / "stateful.float.tflite").read_bytes()
    exe = whence.compile(data, threads=1)
    inputs = inputs_of(data)
    expected = [litert(data, inputs, calls=count)[0] for count in (1, 2, 3)]
    for wanted in expected:
        assert not difference(np.asarray(next(iter(exe.run(inputs).values()))), wanted)
    assert not np.allclose(expected[0], expected[2])
