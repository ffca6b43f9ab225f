"""`whence operators` shows what rows declare."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from whence.frontends.onnx.convert import supported
from whence.reading.operators import FORMATS, operators

Tool = Callable[..., Any]


def test_an_operator_shows_what_its_row_declares(whence: Tool):
    assert whence("operators", "onnx", "LeakyRelu").out == "LeakyRelu(X, alpha: float = 0.01)\n"
    (row,) = json.loads(whence("operators", "onnx", "LeakyRelu", "--json").out)
    assert row["inputs"] == [{"name": "X", "kind": "", "optional": False, "variadic": False}]
    assert row["attributes"][0] == {
        "name": "alpha", "kind": "float", "default": 0.01, "required": False, "computed": False
    }  # fmt: skip


def test_all_operators_of_a_format_are_listed_by_name(whence: Tool):
    assert [row.name for row in operators("onnx")] == sorted(supported())
    counts = json.loads(whence("operators", "--json").out)
    assert counts == {name: len(operators(name)) for name in FORMATS}
    assert min(counts.values()) > 80


def test_parts_of_names_choose(whence: Tool):
    lines = whence("operators", "tflite", "average_pool", "elu").out.splitlines()
    assert {line.partition("(")[0] for line in lines} >= {"ELU", "RELU", "GELU of quantised data"}


def test_a_name_that_is_none_is_an_error_with_the_nearest(whence: Tool):
    refused = whence("operators", "onnx", "LeakyRelo")
    assert refused.code == 1
    assert refused.err.endswith("expected an operator of onnx, got 'LeakyRelo' (did you mean LeakyRelu?)\n")
    refused = whence("operators", "caffe")
    assert "expected a format among onnx, pytorch, tflite, tensorflow, keras or stablehlo, got 'caffe'" in refused.err
