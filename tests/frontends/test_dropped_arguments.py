"""Options of another value change the result, or are refused: a part of `make fuzz-arguments`."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import arguments_tflite
import numpy as np
import pytest
from dropped_arguments import WRONG, Change, judged, outcomes
from random_tflite_parts import one
from tflite_builder import litert

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.tflite import from_tflite
from whence.support.errors import FrontendError


def test_an_option_of_another_value_is_computed_or_refused():
    verdicts = outcomes("tflite", 60, seed=5)
    assert not [outcome for outcome in verdicts if outcome.verdict in WRONG]
    assert Counter(outcome.verdict for outcome in verdicts)["right"] > 20


def test_a_dropped_argument_is_noticed():
    rows = np.ones((2, 3), np.float32)
    assert judged(Change("SUM", "axis", lambda: [rows], lambda: [2 * rows])).verdict == "wrong"
    assert (
        judged(Change("SUM", "axis", lambda: [rows], lambda: [rows.sum(0)])).detail == "float32[2, 3], not float32[3]"
    )


def test_the_quantisation_of_inputs_is_nothing_to_weights_of_floats():
    dice = Random(0)
    drawn = (arguments_tflite.draw(dice, "RNN") for _ in range(60))
    change = next(change for change in drawn if change is not None and "asymmetric" in change.change)
    assert judged(change).verdict == "right"
    arguments_tflite.close()


def test_the_element_type_of_positions_is_that_of_the_options():
    data = one("ARG_MAX", [("float32", [2, 3]), np.array(1, np.int32)], ["int64"], "ArgMaxOptions", outputType=2)
    with pytest.raises(FrontendError, match="ARG_MAX: expected an output of int32, as the options say, got int64"):
        from_tflite(data)


def _slice(begin: int, length: int, **masks: Any) -> bytes:
    numbers = [np.array([number], np.int32) for number in (begin, length, 1)]
    return one("STRIDED_SLICE", [("float32", [10]), *numbers], options="StridedSliceOptions", offset=True, **masks)


@pytest.mark.parametrize(("begin", "length", "shrink"), [(2, 3, 0), (-3, 3, 0), (-3, 2, 0), (2, 3, 1)])
def test_ends_of_slices_are_offsets_of_their_begins(begin: int, length: int, shrink: int):
    data, x = _slice(begin, length, shrinkAxisMask=shrink), np.arange(10, dtype=np.float32)
    (result,) = evaluate_module(from_tflite(data), [x])
    np.testing.assert_array_equal(result, litert(data, {"x0": x})[0])


def test_offsets_of_begins_that_are_left_out():
    with pytest.raises(FrontendError, match="STRIDED_SLICE: expected begins and ends of all axes beside offsets"):
        from_tflite(_slice(2, 3, beginMask=1))
