"""A part of the ONNX standard's node tests; `make conformance` runs them all."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import onnx
import pytest
from standard_cases import cases, check, modules, reason

import whence
from whence import onnx_backend

SAMPLE = modules()[::9]
"""Modules of cases; most are about one operator."""
MOST = 30
"""Cases of one module, from its first to its last: those that have more vary one attribute or dtype after another."""


@pytest.mark.parametrize("module", SAMPLE, ids=lambda name: name.rpartition(".")[2])
@pytest.mark.filterwarnings("ignore")
def test_node_tests(module: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(cases([module]))
    for case in found[:: max(1, -(-len(found) // MOST))]:
        if reason(case.name):
            continue
        try:
            check(case, whence.compile)
        except Exception as error:
            error.add_note(case.name)
            raise


def test_the_backend_interface():
    node = onnx.helper.make_node("Mul", ["a", "b"], ["c"])
    a, b = np.arange(3, dtype=np.float32), np.full(3, 2, np.float32)
    backend: Any = import_module("whence.onnx_backend")
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA:0")
    np.testing.assert_array_equal(backend.run_node(node, [a, b])[0], a * b)
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in "abc"]
    graph = onnx.helper.make_graph([node], "g", values[:2], values[2:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    ready: Any = onnx_backend.prepare(model)
    assert ready.run({"a": a, "b": b}).c.tolist() == [0, 2, 4]
    assert onnx_backend.run_model(model, [a, b])[0].tolist() == [0, 2, 4]
