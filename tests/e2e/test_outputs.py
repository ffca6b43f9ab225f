"""Outputs are the caller's: none shares memory with another, with an input, or with what the model keeps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, cast

import numpy as np
import onnx.parser
import pytest

import whence

MODELS = {
    "one value twice": "(float[2, 3] x) => (a, b, c) { a = Relu (x) b = Identity (a) c = Identity (x) }",
    "any sizes": "(float[n, m] x) => (a, b, c) { a = Relu (x) b = Identity (a) c = Identity (x) }",
    "one constant twice": "(float[2, 3] x) => (a, b, c) { a = Relu (x) b = Identity (k) c = Identity (k) }",
    "what values decide": "(float[2, 3] x) => (a, b, c) { b = Identity (k) c = NonZero (x) a = Identity (k) }",
    "no iteration": """(float[2, 3] x) => (a, b, c) {
        a, b, c = Loop (no, , x, x, k) <body = step (int64 i, bool on, float[2, 3] p, float[2, 3] q, float[2] r) =>
            (more, p1, q1, r1) { more = Identity (on) p1 = Relu (p) q1 = Relu (q) r1 = Relu (r) }>
    }""",
    "a sequence": "(float[2, 3] x) => (a, b) { a = SequenceConstruct (x, x, k) b = SequenceConstruct (k) }",
    "texts": "(string[2] x) => (a, b) { a = Identity (x) b = Identity (x) }",
}


def arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            yield from arrays(item)
    else:
        yield value


@pytest.mark.parametrize("name", MODELS)
def test_what_is_written_to_an_output_changes_nothing_else(name: str):
    constants = "<float[2] k = {1, 2}, int64 no = {0}>"
    text = MODELS[name].replace(") {", f") {constants} {{", 1)
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> g {text}')
    executable = whence.compile(model, threads=1)
    x = np.array(["a", "b"], object) if name == "texts" else np.arange(6, dtype=np.float32).reshape(2, 3) + 1
    before, first = x.copy(), list(arrays(executable(x)))
    wanted = [array.copy() for array in first]
    for one, other in combinations([x, *first], 2):
        assert not np.shares_memory(one, other)
    for array in first:
        array[...] = 7
    np.testing.assert_array_equal(x, before)
    for again, array in zip(arrays(executable(x)), wanted, strict=True):
        np.testing.assert_array_equal(again, array)
